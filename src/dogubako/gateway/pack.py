"""`ServerPack`: one MCP server as a pack. Its last known tools are served before it is connected."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from dogubako.contract.call import Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.metadata import Effect
from dogubako.contract.offload import has_more_values, offload
from dogubako.contract.pack import HealthCheck, Host, MissingSetting, Pack
from dogubako.engine.registration import RegistrationError
from dogubako.gateway.connection import why_not_startable
from dogubako.gateway.definitions import Definitions, DefinitionStore, Item
from dogubako.gateway.names import Names
from dogubako.gateway.owned_upstream import connector
from dogubako.gateway.pins import Judgement, Pins
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_in_flows import SignInFlows
from dogubako.gateway.sign_ins import SignIns
from dogubako.gateway.upstream import Upstream, UpstreamState
from dogubako.gateway.upstream_calls import SignInQuestion, Subscriber, UpstreamCalls, UpstreamClient, subscribe
from dogubako.gateway.upstream_resources import ServedCatalogue
from dogubako.gateway.upstream_tool import (
    UpstreamTool,
    aliases_of,
    effect_of,
    only_for_apps,
    upstream_tool,
    usable_definitions,
)

log = structlog.get_logger("dogubako.gateway")

# Upstreams of callers with credentials of their own, for one server.
_MOST_CALLERS: Final = 64
_CALLER_IDLE_SECONDS: Final = 300.0
# How soon a command in another process is noticed.
_LOOK_SECONDS: Final = 1.0
# Addresses of one server that clients may watch.
_MOST_WATCHED: Final = 1_000
LONGEST_INSTRUCTIONS: Final = 1_200
# Lists with more values than this (a text counts by its length) are served in slices of the loop's time.
_MANY_VALUES: Final = 10_000
_SLICE_SECONDS: Final = 0.005


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """What all servers share: what is stored of them, and how they are connected."""

    store: DefinitionStore
    pins: Pins
    names: Names
    prompt_names: Names
    connect: Callable[..., UpstreamClient] = Upstream
    # The characters that the instructions of one server may have.
    instructions_room: int = LONGEST_INSTRUCTIONS
    # Who has signed in at them; None where nobody can.
    flows: SignInFlows | None = None
    # Servers are connected by their first call, not at the start: for a command that ends at once.
    lazy: bool = False


class ServerPack(Pack[ServerSettings, UpstreamCalls]):
    """The tools, resources and prompts of one server, as far as they are approved."""

    def __init__(
        self, name: str, settings: ServerSettings, parts: ServerParts, missing: MissingSetting | None = None
    ) -> None:
        self.name = name
        self.server = settings
        self.missing = missing
        self.max_running = settings.max_running
        self.faults: list[str] = []
        self.aliases: dict[str, str] = {}
        self._parts = parts
        self._host: Host | None = None
        self._tasks: OrderedDict[str, tuple[UpstreamClient, asyncio.Task[None]]] = OrderedDict()
        self._watched: dict[str, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._seen_approval = parts.pins.changed_at(name)
        self._seen_restart = parts.store.restart_asked_at(name)
        self._others = ServedCatalogue(name, parts.prompt_names, self._watch)
        self.definitions = parts.store.load(name) or Definitions()
        self._received = self.definitions
        self.judgement = self._judged()
        self._served = self._wanted()

    # What is served.

    def _judged(self, taken: Collection[str] | None = None) -> Judgement:
        """What of the definitions is approved. `taken` has the names of other servers' tools."""
        definitions = self.definitions
        if self.server.pinning == "off":
            return Judgement(
                approved=definitions.tools, instructions=definitions.instructions, skills=definitions.skills
            )
        taken = self._parts.names.taken_by_others(self.name) if taken is None else taken
        return self._parts.pins.judge(self.name, definitions, taken=taken)

    def _wanted(self) -> dict[str, UpstreamTool]:
        """The tools to serve, by public name."""
        shown = self._shown()
        return self._made(shown, self._parts.names.of(self.name, [one["name"] for one in shown]))

    def _shown(self) -> list[Item]:
        """The definitions of the tools to serve."""
        allowed = self._allowed(self.judgement.approved)
        self.aliases = aliases_of(allowed)
        return [one for one in allowed if one["name"] not in self.aliases]

    def _made(self, shown: Iterable[Item], names: Mapping[str, str]) -> dict[str, UpstreamTool]:
        others: dict[str, list[str]] = {}
        for alias, name in self.aliases.items():
            others.setdefault(name, []).append(alias)
        tools = [
            upstream_tool(self.name, names[one["name"]], one, self.server, " ".join(others.get(one["name"], [])))
            for one in shown
        ]
        return {tool.name: tool for tool in tools}

    def _allowed(self, tools: Iterable[Item]) -> list[Item]:
        """The tools that the settings let through."""
        server = self.server
        allowed = [one for one in tools if server.serves(one["name"]) and not only_for_apps(one)]
        if not server.read_only:
            return allowed
        return [one for one in allowed if (server.effect_of(one["name"]) or effect_of(one)) is Effect.READ]

    def refused(self, tool: str, reason: str) -> None:
        """Note that a tool could not be registered. The others are served all the same."""
        self._served.pop(tool, None)
        self.faults.append(reason)
        log.warning("A tool of a server is left out", server=self.name, tool=tool, reason=reason)

    @property
    def tools(self) -> Sequence[UpstreamTool]:  # type: ignore[override]
        return tuple(self._served.values())

    @property
    def served(self) -> Mapping[str, UpstreamTool]:
        """The tools that are served, by public name."""
        return self._served

    @property
    def about(self) -> str:  # type: ignore[override]
        info = self.definitions.info
        described = next((info[key] for key in ("description", "title") if isinstance(info.get(key), str)), "")
        return self.server.about or str(described)

    @property
    def search_words(self) -> str:
        """What the server says of itself, as it was approved, and what its prompts are for."""
        prompts = (one.get("description") for one in self.definitions.prompts)
        told = (self.about, self.judgement.instructions, *(one for one in prompts if isinstance(one, str)))
        return " ".join(text for text in told if text)

    def instructions(self, settings: ServerSettings) -> str | None:
        """What the server tells agents, as it was approved."""
        text = " ".join(self.judgement.instructions.split())
        if not text or not self._served:
            return None
        room = self._parts.instructions_room
        cut = text if len(text) <= room else f"{text[:room].rsplit(' ', 1)[0]} …"
        return f"{self.name}: {cut}"

    # Changes while the server runs.

    def refresh(self, definitions: Definitions | None = None) -> None:
        """Serve what changed: new definitions of the server, or a new approval."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            self._refreshing = None
        if definitions is not None and self._host is not None and has_more_values(definitions, _MANY_VALUES, 64):
            self._refreshing = asyncio.create_task(self._refresh_in_slices(definitions, self._host))
            return
        if definitions is not None:
            if definitions.says_the_same(self._received):
                return
            self.look_at(definitions)
            self._store(self.definitions)
        self._seen_approval = self._parts.pins.changed_at(self.name)
        self.judgement = self._judged()
        self._tell_held()
        wanted, self.faults = self._wanted(), list(self.definitions.faults)
        if self._host is not None:
            for _ in self._replacing_tools(self._host, wanted):
                pass
            self._replace_others()
        else:
            self._served = wanted

    async def _refresh_in_slices(self, definitions: Definitions, host: Host) -> None:
        """As `refresh`, for lists that take longer than the loop may stand still: in a thread, and in short slices."""
        if await offload(definitions.says_the_same, self._received):
            return
        usable = await offload(usable_definitions, definitions, host.mask)
        await offload(self._store, usable)
        self._received, self.definitions = definitions, usable
        self._seen_approval = self._parts.pins.changed_at(self.name)
        taken = self._parts.names.taken_by_others(self.name)
        self.judgement = await offload(self._judged, taken)
        self._tell_held()
        shown = await offload(self._shown)
        names = self._parts.names.of(self.name, [one["name"] for one in shown])
        wanted, self.faults = await offload(self._made, shown, names), list(usable.faults)
        until = time.perf_counter() + _SLICE_SECONDS
        for _ in self._replacing_tools(host, wanted):
            if time.perf_counter() >= until:
                await asyncio.sleep(_SLICE_SECONDS)
                until = time.perf_counter() + _SLICE_SECONDS
        self._replace_others()

    def look_at(self, definitions: Definitions) -> None:
        """Compare definitions with what was approved. Nothing is stored or served."""
        self._received = definitions
        self.definitions = usable_definitions(definitions, self._host.mask if self._host else str)
        self.faults = list(self.definitions.faults)
        self.judgement = self._judged()

    def preview(self) -> list[UpstreamTool]:
        """The tools that would be served if all were approved, by the names that they would have."""
        allowed = self._allowed(self.definitions.tools)
        names = self._parts.names.of(self.name, [one["name"] for one in allowed], keep=False)
        return [upstream_tool(self.name, names[one["name"]], one, self.server) for one in allowed]

    def _store(self, definitions: Definitions) -> None:
        try:
            self._parts.store.save(self.name, definitions)
        except OSError as error:
            log.error("Definitions of a server cannot be stored", server=self.name, reason=error.strerror)

    def _tell_held(self) -> None:
        if held := self.judgement.held:
            log.warning(
                "Tools of a server are held back until they are approved",
                server=self.name,
                held=len(held),
                approve=f"dogubako {self.server.table} approve {self.name}",
            )

    def _replacing_tools(self, host: Host, wanted: Mapping[str, UpstreamTool]) -> Iterator[None]:
        """Register the difference, step by step: who lists tools meanwhile sees every unchanged one."""
        for name, tool in list(self._served.items()):
            if name not in wanted or wanted[name].fingerprint != tool.fingerprint:
                host.remove(name)
                del self._served[name]
                yield
        for name in wanted.keys() - self._served.keys():
            self._served[name] = wanted[name]
            try:
                host.add(wanted[name])
            except RegistrationError as error:
                self.refused(name, str(error))
            yield

    def _replace_others(self) -> None:
        if self._host is not None:
            self.faults += self._others.replace(self._host, self.definitions, self.judgement.skills)

    # The connection.

    @asynccontextmanager
    async def connect(self, settings: ServerSettings, host: Host) -> AsyncIterator[UpstreamCalls]:
        self._host = host
        self._tell_held()
        self._replace_others()
        if not self._parts.lazy:
            self._running("", self.server)
        watching = asyncio.create_task(self._watch_other_processes())
        try:
            yield UpstreamCalls(lambda: self._running("", self.server), self._question(""), host.shared)
        finally:
            self._host = None
            if self._parts.flows is not None:
                self._parts.flows.end(self.name)
            self._others = ServedCatalogue(self.name, self._parts.prompt_names, self._watch)
            tasks = [watching, *self._watched.values(), *(task for _, task in self._tasks.values())]
            tasks += [self._refreshing] if self._refreshing is not None else []
            self._tasks.clear()
            self._watched.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def sign_in_of(self, caller: Caller) -> Credential | None:
        """Stands for the caller's own sign-in, which it may still have to make."""
        flows, server = self._parts.flows, self.server
        if flows is None or not caller.authenticated or not server.takes_sign_ins:
            return None
        if server.credentials == "own-or-shared" and not flows.signed_in_at(self.name, caller.id):
            return None
        return Credential(login=caller.id)

    def client_as(self, client: UpstreamCalls, credential: Credential) -> UpstreamCalls:
        """The server as one caller uses it: a connection of its own, with the caller's key or sign-in."""
        signed_in = self.server.signed_in(credential.key) if credential.key else self.server
        idle = min(self.server.idle_timeout or _CALLER_IDLE_SECONDS, _CALLER_IDLE_SECONDS)
        own = signed_in.model_copy(update={"idle_timeout": idle})
        flows = self._parts.flows if not credential.key else None
        sign_ins = flows.sign_ins.of(credential.login) if flows is not None else None
        question = self._question(credential.login) if flows is not None else None
        return UpstreamCalls(lambda: self._running(credential.fingerprint, own, sign_ins), question, client.shared)

    def _question(self, caller: str) -> SignInQuestion | None:
        flows = self._parts.flows
        if flows is None or not self.server.takes_sign_ins:
            return None
        return SignInQuestion(self.name, self.server, flows, caller)

    def _running(self, key: str, settings: ServerSettings, sign_ins: SignIns | None = None) -> UpstreamClient:
        """The upstream of this key, started if it is not. The least recently used one of a caller is ended."""
        if key not in self._tasks:
            # What one caller may see is not what all callers see, and nobody else's sign-in is used for a caller.
            own: dict[str, Any] = {"on_definitions": _ignore, "sign_ins": sign_ins} if key else {}
            callbacks = {"on_definitions": self.refresh, "on_resource_updated": self._resource_updated, **own}
            # What belongs to one caller is connected by the process that the caller reaches.
            owners = self._host.owners if self._host is not None and not key else None
            connect = connector(self._parts.connect, settings, self.definitions, owners)
            upstream = connect(self.name, settings, **callbacks)
            self._tasks[key] = upstream, asyncio.create_task(upstream.run())
            callers = [one for one in self._tasks if one]
            if len(callers) > _MOST_CALLERS:
                self._tasks.pop(callers[0])[1].cancel()
        self._tasks.move_to_end(key)
        return self._tasks[key][0]

    def _watch(self, uri: str) -> None:
        """Have the server report changes of a resource, for as long as the toolbox runs."""
        upstream = self._running("", self.server)
        if uri in self._watched or len(self._watched) >= _MOST_WATCHED or not isinstance(upstream, Subscriber):
            return
        self._watched[uri] = asyncio.create_task(subscribe(upstream, uri))

    def _resource_updated(self, uri: str) -> None:
        if self._host is not None:
            self._host.resource_updated(uri)

    async def _watch_other_processes(self) -> None:
        """Notice `dogubako servers approve` and `restart`."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._parts.pins.changed_at(self.name) != self._seen_approval:
                self.refresh()
            if (asked := self._parts.store.restart_asked_at(self.name)) != self._seen_restart:
                self._seen_restart = asked
                await self.restart()

    @property
    def state(self) -> UpstreamState:
        """What the server is doing now. It is ready when its tools are served."""
        if self.missing is not None:
            return UpstreamState(name="broken_configuration", reason=self.missing.reason)
        running = self._tasks.get("")
        state = running[0].state if running is not None else UpstreamState(name="stopped")
        reads = self._refreshing is not None and not self._refreshing.done()
        return replace(state, name="starting") if reads and state.name == "ready" else state

    async def restart(self) -> None:
        """End the connection, if there is one, and connect again."""
        await self._running("", self.server).restart()

    async def check(self, settings: ServerSettings, client: UpstreamCalls) -> Sequence[HealthCheck]:
        """A server that is down costs no other one anything, so it is a warning."""
        state, held = self.state, self.judgement.held
        if state.name == "stopped" and (reason := why_not_startable(self.server)) is not None:
            state = UpstreamState(name="broken_configuration", reason=reason)
        works = state.name in ("ready", "sleeping", "starting", "stopped")
        reason = f": {state.reason}" if state.reason else ""
        name = "not started here" if state.name == "stopped" else state.name.replace("_", " ")
        message = f"{name.capitalize()}{reason}, {len(self._served)} tools."
        advice = None if works else f"See: dogubako {self.server.table} show {self.name}"
        findings = [HealthCheck(ok=works, subject=self.name, message=message, advice=advice, severity="warning")]
        if held:
            waiting = f"{len(held)} tools are held back until they are approved."
            advice = f"See and approve them: dogubako {self.server.table} approve {self.name}"
            findings.append(
                HealthCheck(ok=False, subject=self.name, message=waiting, advice=advice, severity="warning")
            )
        return findings


def _ignore(definitions: Definitions) -> None:
    """Definitions that one caller gets are not for the others."""
