"""All configured MCP servers, made from the tables `[servers.NAME]`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from dogubako._lazy import load
from dogubako.contract.gateway_ids import GatewayIds
from dogubako.contract.pack import MissingSetting
from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.names import Names
from dogubako.gateway.pack import LONGEST_INSTRUCTIONS, ServerPack, ServerParts
from dogubako.gateway.pins import Pins
from dogubako.gateway.settings import MissingReferenceError, ServerSettings, read_server, resolve
from dogubako.gateway.sign_in_flows import SignInFlows
from dogubako.gateway.sign_in_stores import FileSignIns
from dogubako.gateway.sign_ins import SignIns
from dogubako.gateway.upstream import Upstream
from dogubako.gateway.upstream_calls import UpstreamClient
from dogubako.pack_state import PackState
from dogubako.settings import Settings, SettingsError, Sources

# The characters that the instructions of all servers share: agents read them before every task.
_ALL_INSTRUCTIONS: Final = 6_000


@dataclass(frozen=True, kw_only=True)
class ServerSources:
    """What the settings say of servers, and where things are."""

    tables: Mapping[str, Any]
    environ: Mapping[str, str]
    data_dir: Path
    # The settings file, which `add` and `remove` change.
    config_file: Path
    connect: Callable[..., UpstreamClient] = Upstream
    # The settings of each of them: MCP servers, or HTTP APIs.
    model: type[ServerSettings] = ServerSettings
    lazy: bool = False
    # For servers that want OAuth.
    sign_ins: SignIns | None = None
    flows: SignInFlows | None = None


class Servers:
    """Makes the pack of each server, and knows what is stored of it."""

    def __init__(
        self, sources: ServerSources, own_names: Collection[str] = (), beside: "Servers | None" = None
    ) -> None:
        """`beside` are servers of another kind, whose names and pins count here as well."""
        self.sources = sources
        self.store: DefinitionStore = beside.store if beside else DefinitionStore(sources.data_dir)
        self.pins: Pins = beside.pins if beside else Pins(self.store)
        shared = beside.parts if beside else None
        self.parts: ServerParts = ServerParts(
            store=self.store,
            pins=self.pins,
            names=shared.names if shared else Names(self.store, own_names),
            prompt_names=shared.prompt_names if shared else Names(self.store, (), "prompt_names"),
            connect=sources.connect,
            lazy=sources.lazy,
            flows=sources.flows,
            instructions_room=min(LONGEST_INSTRUCTIONS, _ALL_INSTRUCTIONS // max(1, len(sources.tables))),
        )
        settings = {name: read_server(name, table, sources.model) for name, table in sources.tables.items()}
        self.packs = {name: self.made(name, one) for name, one in settings.items() if not one.disabled}

    def made(self, name: str, settings: ServerSettings) -> ServerPack:
        """The pack of one server. One with a missing variable is shown as broken and costs the others nothing."""
        try:
            return ServerPack(name, resolve(name, settings, self.sources.environ), self.parts)
        except MissingReferenceError as error:
            missing = MissingSetting(reason=str(error), setting=error.setting)
            return ServerPack(name, settings, self.parts, missing)

    def accept(self, pack: ServerPack) -> None:
        """Take a server into the box, with all tools that it has now. OSError if that cannot be stored."""
        self.store.save(pack.name, pack.definitions)
        self.packs[pack.name] = pack
        self.approve(pack.name)

    def approve(self, name: str, tools: Sequence[str] | None = None) -> None:
        """Approve what a server last said of itself, or only these tools. OSError if it cannot be stored."""
        pack = self.named(name)
        self.check_tools(name, tools)
        self.pins.approve(name, pack.definitions, tools)
        pack.refresh()

    def check_tools(self, name: str, tools: Sequence[str] | None) -> None:
        """Raise a SettingsError if the server has not all of these tools."""
        known = {one["name"] for one in self.named(name).definitions.tools}
        if unknown := [one for one in tools or () if one not in known]:
            raise SettingsError(f"The server '{name}' has no tool '{unknown[0][:64]}'.")

    def named(self, name: str) -> ServerPack:
        """The pack of a server, or a SettingsError that names the known ones."""
        if name not in self.packs:
            known = ", ".join(sorted(self.packs)) or "none"
            raise SettingsError(f"There is no server '{name[:50]}'. Known servers: {known}.")
        return self.packs[name]


def configured_servers(
    sources: Sources, settings: Settings, packs: Sequence[PackState], gateways: GatewayIds, *, lazy: bool
) -> Servers:
    """The servers of the settings, beside these packs, whose names and tools no server can have."""
    store = DefinitionStore(settings.data_dir)
    sign_ins = SignIns(FileSignIns(store, lambda: load("dogubako.gate.credential_vault").vault_of(settings)))
    found = ServerSources(
        connect=partial(Upstream, sign_ins=sign_ins, gateways=gateways),
        sign_ins=sign_ins,
        flows=SignInFlows(sign_ins, settings.browser_address if settings.console else ""),
        tables=sources.servers,
        environ=sources.environ,
        data_dir=settings.data_dir,
        config_file=sources.path,
        lazy=lazy,
    )
    for state in packs:
        for kind, tables in (("servers", found.tables), ("services", sources.services)):
            if state.pack.name in tables:
                raise SettingsError(f"[{kind}.{state.pack.name}] has the name of a pack. Rename it.")
    return Servers(found, [tool.name for state in packs for tool in state.tools()])
