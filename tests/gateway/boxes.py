"""Toolboxes with servers that a test controls: what they list, whether they are up, and what they were asked."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dogubako.app import Toolbox
from dogubako.contract.context import Context
from dogubako.contract.output import Blocks
from dogubako.contract.pack import Pack
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.upstream import StateName, UpstreamState
from dogubako.loading import FoundPack
from dogubako.pack_state import Instance, PackState
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from tests.doors import waiting

LISTS: Final = Path(__file__).parents[3] / "shared" / "labs" / "gateway" / "lists"


def recorded(path: Path) -> Definitions:
    """What a real server answered."""
    found = json.loads(path.read_text(encoding="utf-8"))
    opened = found["initialize"]
    return Definitions.of(
        info=opened.get("serverInfo"),
        instructions=opened.get("instructions"),
        protocol=opened.get("protocolVersion"),
        capabilities=opened.get("capabilities"),
        tools=found["tools"]["tools"],
        resources=(found.get("resources") or {}).get("resources", []),
        templates=(found.get("resourceTemplates") or {}).get("resourceTemplates", []),
        prompts=(found.get("prompts") or {}).get("prompts", []),
    )


def tool(name: str, description: str = "Do it.", **more: Any) -> dict[str, Any]:
    """A definition as a server sends it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def offering(*tools: dict[str, Any], **more: Any) -> Definitions:
    return Definitions.of(tools=tools, protocol="2025-11-25", **more)


class ScriptedUpstream:
    """A server in memory. It has the interface of `Upstream`."""

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        *,
        fleet: "Fleet",
        on_definitions: Callable[[Definitions], None],
        on_resource_updated: Callable[[str], None],
    ) -> None:
        self.name, self.settings = name, settings
        self.state = UpstreamState(name="stopped")
        self.announce = on_definitions
        self.updated = on_resource_updated
        self.restarts = 0
        self._fleet = fleet

    async def run(self) -> None:
        definitions = self._fleet.lists.get(self.name)
        self.state = UpstreamState(name=_state(definitions), reason="" if definitions else "Nobody answers.")
        if definitions is not None:
            self.announce(definitions)
        await asyncio.Event().wait()

    async def restart(self) -> None:
        self.restarts += 1

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Blocks:
        self._fleet.calls.append((self.name, name, dict(arguments)))
        return Blocks(content=[{"type": "text", "text": f"{self.name}: {name}"}])

    async def read_resource(self, uri: str, context: Context[Any] | None = None) -> list[dict[str, Any]]:
        return [{"uri": uri, "text": f"{self.name}: {uri}"}]

    async def subscribe(self, uri: str) -> None:
        self._fleet.watched.append((self.name, uri))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context[Any] | None = None
    ) -> list[dict[str, Any]]:
        return [{"role": "user", "content": {"type": "text", "text": f"{self.name}: {name}"}}]

    async def complete(
        self, ref: dict[str, Any], argument: str, value: str, filled: Mapping[str, str] | None = None
    ) -> list[str]:
        return [f"{value}…"]


def _state(definitions: Definitions | None) -> StateName:
    return "unreachable" if definitions is None else "ready"


@dataclass
class Fleet:
    """All servers of a test: what each lists (none: it is down), the calls that they got, and their connections."""

    lists: dict[str, Definitions] = field(default_factory=dict)
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    watched: list[tuple[str, str]] = field(default_factory=list)
    upstreams: list[ScriptedUpstream] = field(default_factory=list)

    def connect(self, name: str, settings: ServerSettings, **callbacks: Any) -> ScriptedUpstream:
        callbacks.pop("sign_ins", None)
        self.upstreams.append(ScriptedUpstream(name, settings, fleet=self, **callbacks))
        return self.upstreams[-1]

    def servers(
        self, folder: Path, tables: Mapping[str, Any], own: Sequence[str] = (), environ: Mapping[str, str] | None = None
    ) -> Servers:
        """The servers of these tables; each has a command unless its table says otherwise."""
        written = {name: table if "url" in table else {"command": "x", **table} for name, table in tables.items()}
        sources = ServerSources(
            tables=written,
            environ=environ or {},
            data_dir=folder,
            config_file=folder / "dogubako.toml",
            connect=self.connect,
        )
        return Servers(sources, own)

    def box(
        self,
        folder: Path,
        tables: Mapping[str, Any],
        *,
        packs: Sequence[Pack[Any, Any]] = (),
        environ: Mapping[str, str] | None = None,
        **overrides: Any,
    ) -> Toolbox:
        """A toolbox with these servers beside the tools about tools."""
        settings = Sources.only({"data_dir": folder, **overrides}).load()
        states = [_served(FoundPack(pack=pack)) for pack in (CORE, *packs)]
        own = [one.name for state in states for one in state.tools()]
        return Toolbox(settings, states, servers=self.servers(folder, tables, own, environ))


def _served(found: FoundPack) -> PackState:
    instance = Instance(name="", settings=found.pack.settings())
    return PackState(pack=found.pack, instances={"": instance}, unconfigured=None)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for what a task is about to do."""
    await waiting.until(condition, "the condition of the test")
