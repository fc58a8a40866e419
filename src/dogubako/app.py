"""`Toolbox`: assemble all parts of the server. The only module that imports all of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from dogubako._lazy import load
from dogubako.contract.call import NO_OPTIONS, TRUSTED, Caller, CallObserver, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.gateway_ids import GatewayIds
from dogubako.contract.pack import HealthCheck, Host, Pack, ServiceState, secrets_of
from dogubako.contract.redaction import Redactor
from dogubako.contract.resources import Prompt
from dogubako.contract.sessions import SessionStore
from dogubako.contract.storage import ProcessMessages, SharedStore
from dogubako.engine.catalog import Catalog, CatalogChange
from dogubako.engine.discovery import Discovery
from dogubako.engine.events import CallBatches, DeferredObserver, EndedCall
from dogubako.engine.executor import ExecutionLimits, ToolExecutor
from dogubako.engine.operations import Finder, Switchboard
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registration import RegistrationError, ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import NO_SEARCH, IndexedSearch, can_search, japanese_reader
from dogubako.engine.search.learning import LearnedPhrases
from dogubako.gate.authentication import KeyAuthentication
from dogubako.gate.files import load_or_create_secret
from dogubako.gate.gate import Gate
from dogubako.gate.key_administration import KeyAdministration
from dogubako.gate.processes import Processes
from dogubako.loading import FoundPack, ToolSource, find_packs, found_in
from dogubako.outbound.redis_cache import RedisCache, answer_cache
from dogubako.pack_admission import PackAdmission
from dogubako.pack_connections import PackConnections
from dogubako.pack_host import PackHost
from dogubako.pack_state import (
    PackState,
    credential_headers,
    instructions_of,
    shown_with_packs,
    state_of,
    state_of_server,
)
from dogubako.response.builder import ToolResponseBuilder
from dogubako.settings import Settings, SettingsError, Sources
from dogubako.settings_view import ShownSetting
from dogubako.sharing import Sharing
from dogubako.tasks.records import TaskRecord
from dogubako.tasks.service import Tasks

if TYPE_CHECKING:
    from dogubako.gateway.administration import ServerAdministration
    from dogubako.gateway.pack import ServerPack
    from dogubako.gateway.servers import Servers
    from dogubako.gateway.shared_servers import SharedServers

log = structlog.get_logger("dogubako")

# Words that the extra `ja` reads from its dictionary.
_JAPANESE_WORDS: Final = "japanese-words.tsv"


class Toolbox:
    """The whole server without a transport. Python code can call its tools directly.

    Use `Toolbox.open`; the constructor is for the server itself.
    """

    def __init__(
        self,
        settings: Settings,
        packs: Sequence[PackState],
        redactor: Redactor | None = None,
        *,
        servers: "Servers | None" = None,
        apis: "Servers | None" = None,
        gateways: GatewayIds | None = None,
        sole_process: bool = True,
        sources: Sources | None = None,
        lazy: bool = True,
    ) -> None:
        self.settings = settings
        self.gateways = gateways or _gateways(settings)
        self._find_servers: Callable[[], Servers] = partial(
            _servers, sources or Sources.only({}), settings, packs, self.gateways, lazy=lazy
        )
        if servers is not None:
            self.servers = servers
        # HTTP APIs with an OpenAPI description.
        self.apis = apis
        foreign = [pack for found in (servers, apis) if found for pack in found.packs.values()]
        packs = [*packs, *(state_of_server(one, one.server, one.missing) for one in foreign)]
        self._batches: CallBatches | None = None
        # Tasks that run while the toolbox runs.
        self.background: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.packs = {state.pack.name: state for state in packs}
        self._connections = PackConnections(self._host_of)
        self.credential_headers: Mapping[bytes, str] = credential_headers(packs)
        self.redactor = redactor or Redactor()
        self.redactor.add(
            *secrets_of(settings), *(secret for state in packs for secret in secrets_of(state.all_settings))
        )
        learned = LearnedPhrases(settings.data_dir, self.redactor.mask_all) if settings.learn_from_use else None
        shared = self._shared = Sharing.of(settings)
        self.messages: ProcessMessages | None = shared.messages
        self.sessions: SessionStore | None = shared.sessions
        self.store: SharedStore | None = shared.store
        self.registry = ToolRegistry(search=_search(settings, learned), switches=shared.switches)
        self.cache = answer_cache(settings, load_or_create_secret)
        responses = ToolResponseBuilder(
            language=settings.lang, max_tokens=settings.max_response_tokens, redactor=self.redactor
        )
        if settings.discovery == "search" and not can_search():
            raise SettingsError(f"DOGUBAKO_DISCOVERY=search: {NO_SEARCH}")
        self.discovery = Discovery(settings.discovery, settings.pinned_tools, can_search=can_search())
        self.processes = Processes(settings, sole_process=sole_process)
        self.gate = Gate(settings, self.redactor, shared.redis)
        self.authenticator = self.gate.authenticator
        self.once = self.gate.once
        self.audit = self.gate.audit
        self.keys = KeyAdministration(self.gate.keys, self.gate.policy, self.audit)
        self.sources = sources
        self.catalog = Catalog(responses, self.packs, self.gate.policy, self.gate.audit, news=shared.news)
        self.pipeline = Pipeline(
            self.registry,
            policy=self.gate.policy,
            observers=[one for one in (self.gate.audit, learned) if one is not None],
            executor=ToolExecutor(limits=_limits(settings), cache=self.cache, make_bulkhead=shared.make_bulkhead),
            responses=responses,
            packs=self.packs,
            show_internal_errors=settings.environment == "development",
            hides_arguments=self._hides_arguments,
        )
        self.tasks = Tasks(self.pipeline, settings, self._caller_now, shared.tasks, sole_process=sole_process)
        self.pipeline.tasks = self.tasks
        self.finder = Finder(self.registry, self.gate.policy, self.gate.audit)
        check = self.processes.check_switch
        self.switchboard = Switchboard(self.registry, self.gate.policy, self.gate.audit, check=check)
        self._shared_servers = self._share_servers(shared) if shared.redis else None
        self._admission = PackAdmission(
            settings, self.registry, self.pipeline.executor, self.catalog, self.observe, self.tasks.unavailable
        )
        for state in packs:
            self._admission.admit(state)

    @cached_property
    def servers(self) -> "Servers":
        """Other MCP servers. Most boxes have none, and need not import what talks to them."""
        return self._find_servers()

    @cached_property
    def server_administration(self) -> "ServerAdministration":
        make = load("dogubako.gateway.administration").ServerAdministration
        gate, check, changes = self.gate, self.processes.check_servers, self._shared_servers
        made: ServerAdministration = make(self.servers, self, gate.policy, gate.audit, check=check, changes=changes)
        return made

    def _share_servers(self, shared: Sharing) -> "SharedServers":
        sign_ins, flows = self.servers.sources.sign_ins, self.servers.sources.flows
        if sign_ins is not None and flows is not None and shared.messages is not None and shared.store is not None:
            store = load("dogubako.gateway.sign_in_stores").SharedSignIns(shared.redis, shared.sign_ins, shared.store)
            sign_ins.keep_in(store)
            flows.share(shared.messages, shared.store)
        made: SharedServers = load("dogubako.gateway.shared_servers").SharedServers(shared.servers, self.servers, self)
        return made

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *tools: ToolSource, packs: Sequence[str] | None = None, sandbox: bool = False, read_only: bool = False
    ) -> AsyncIterator["Toolbox"]:
        """Start a toolbox with the settings of this environment: `async with Toolbox.open("tools.py") as box`."""
        overrides = {"packs": tuple(packs) if packs is not None else None, "sandbox": sandbox, "read_only": read_only}
        async with build(Sources(overrides=overrides), extra=tools).running() as box:
            yield box

    async def call(
        self,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        options: ExecutionOptions = NO_OPTIONS,
        **arguments: Any,
    ) -> ToolResult:
        """Call a tool from Python, through the same pipeline as over every transport."""
        merged = {**(parameters or {}), **arguments}
        return await self.pipeline.handle(ToolCall(name=name, parameters=merged, options=options))

    async def read(self, uri: str) -> dict[str, Any]:
        """Read a resource from Python."""
        return await self.catalog.read(uri, caller=TRUSTED, door="python")

    async def render(self, name: str, arguments: Mapping[str, str]) -> tuple[Prompt, list[dict[str, Any]]]:
        """Render a prompt from Python."""
        return await self.catalog.render(name, arguments, caller=TRUSTED, door="python")

    def about(self, pack: str) -> str:
        """What the tools of a pack are for; empty where its author does not say."""
        state = self.packs.get(pack)
        return state.pack.about if state is not None else ""

    def _hides_arguments(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        shows = self.gate.policy.shows
        return self.discovery.hides_arguments(entry, [one for one in self.registry.list() if shows(one, caller)])

    def observe(self, observer: CallObserver) -> Callable[[], None]:
        """Tell this observer of every call, until the returned function is called. Resources and prompts count too."""
        deferred = DeferredObserver(observer)
        removals = [self.pipeline.observers.add(deferred), self.catalog.observers.add(deferred)]

        def remove() -> None:
            for one in removals:
                one()

        return remove

    def watch_calls(self, listener: Callable[[Sequence[EndedCall]], None]) -> Callable[[], None]:
        """Pass ended calls to this listener in batches, until the returned function is called. Cheap for each call."""
        if self._batches is None:
            self._batches = CallBatches()
            self.pipeline.observers.add(self._batches)
            self.catalog.observers.add(self._batches)
        return self._batches.subscribe(listener)

    def service_states(self) -> list[ServiceState]:
        """All packs and whether they are configured."""
        return [state.shown() for state in self.packs.values()]

    def settings_in_force(self) -> list[ShownSetting]:
        """All settings of the server and its packs, secrets masked."""
        return shown_with_packs(self.settings, self.packs.values(), self.sources or Sources.only({}))

    @property
    def pack_instructions(self) -> str:
        """What the configured packs tell agents of their services, one line each."""
        return instructions_of(self.packs.values())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Toolbox"]:
        """Connect the configured packs, and disconnect them at the end."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._shared.running())
            await stack.enter_async_context(self.gate.running())
            if isinstance(self.cache, RedisCache):
                stack.push_async_callback(self.cache.aclose)
            stack.push_async_callback(self._connections.close, self.packs)
            if self.settings.otel:
                telemetry = _telemetry().ExportedTelemetry(self.registry.knows)
                stack.callback(telemetry.close)
                stack.callback(self.watch_calls(telemetry.add))
            if self._shared_servers is not None:
                self._shared_servers.drop_removed()
            for state in self.packs.values():
                if state.file is not None or (state.is_server and state.unconfigured is None):
                    await self._connections.hold(state)
                elif state.unconfigured is None:
                    await self._connections.connect(state, stack)
            # Tasks end before their services are disconnected.
            await stack.enter_async_context(self.tasks.running())
            if self._shared_servers is not None:
                await stack.enter_async_context(self._shared_servers.running())
            background = [asyncio.create_task(work()) for work in self.background]
            try:
                yield self
            finally:
                for task in background:
                    task.cancel()
                await asyncio.gather(*background, return_exceptions=True)

    async def check(self) -> list[HealthCheck]:
        """Check authentication, the audit log and every pack."""
        findings = await self.gate.check()
        if self._shared.redis is not None:
            findings += [*await self._shared.redis.check(), *await self.tasks.check()]
        for checked in await asyncio.gather(*(state.check() for state in self.packs.values())):
            findings += checked
        return [self._discreet(finding) for finding in findings]

    def _discreet(self, finding: HealthCheck) -> HealthCheck:
        """Mask secrets in a health check: a service may quote our key."""
        mask = self.redactor.mask_all
        return replace(finding, message=mask(finding.message), advice=mask(finding.advice) if finding.advice else None)

    def _caller_now(self, record: TaskRecord) -> Caller:
        """Who created a task, with the rights of now. It raises if the key was revoked."""
        keys = self.authenticator if isinstance(self.authenticator, KeyAuthentication) else None
        return record.caller(keys.caller_of_key(record.caller_id) if keys and record.caller_id else None)

    def _host_of(self, state: PackState) -> Host:
        parts = (self.registry, self.catalog, self.cache, self.redactor, self.store, self._shared.owners)
        return PackHost(state, self.settings, *parts)

    async def replace_pack(self, old: PackState, pack: Pack[Any, Any]) -> None:
        """Replace a pack while the server runs. If this raises RegistrationError, the old pack is still served."""
        state = old.replaced(pack)
        await self._connections.hold(state)
        self._admission.withdraw(old)
        try:
            self._admission.admit(state)
        except (RegistrationError, ValueError):
            self._admission.withdraw(state)
            self._admission.admit(old)
            state.released.set()
            raise
        self.packs[pack.name] = state
        old.released.set()
        self.catalog.changed(CatalogChange(kind="resources"))
        self.catalog.changed(CatalogChange(kind="prompts"))

    async def serve_server(self, pack: "ServerPack") -> None:
        """Serve another MCP server from now on."""
        state = self.packs[pack.name] = state_of_server(pack, pack.server, pack.missing)
        self._admission.admit(state)
        await self._connections.hold(state)

    def withdraw_server(self, name: str) -> None:
        """Serve an MCP server no longer, and disconnect it."""
        state = self.packs.pop(name)
        self._admission.withdraw(state)
        state.released.set()


def build(
    sources: Sources,
    *,
    redactor: Redactor | None = None,
    packs: Sequence[Pack[Any, Any]] | None = None,
    extra: Sequence[ToolSource] = (),
    sole_process: bool = True,
    lazy: bool = False,
) -> Toolbox:
    """Build a toolbox from settings. `packs` replaces the configured packs; `extra` is added.

    `sole_process` is False where several processes serve the same address. `lazy` connects other MCP servers when they
    are first called, not at the start.
    """
    settings = sources.load()
    packs_found = (
        find_packs(settings.packs, settings.tools) if packs is None else [FoundPack(pack=pack) for pack in packs]
    )
    packs_found = [*packs_found, *found_in(extra)]
    sources.refuse_unknown_tables(one.pack.name for one in packs_found)
    states = [state_of(one, sources, sandboxed=settings.sandbox) for one in packs_found]
    gateways = _gateways(settings)
    servers = _servers(sources, settings, states, gateways, lazy=lazy) if sources.servers or sources.services else None
    # Most boxes have no HTTP APIs, and need not import what reads their descriptions.
    imported = load("dogubako.openapi.services") if sources.services else None
    return Toolbox(
        settings,
        states,
        redactor,
        servers=servers,
        apis=imported.configured_services(sources, settings, servers) if imported else None,
        gateways=gateways,
        sole_process=sole_process,
        sources=sources,
        lazy=lazy,
    )


def _gateways(settings: Settings) -> GatewayIds:
    key = settings.request_state_key
    return GatewayIds(None if key is None else key.get_secret_value())


def _servers(
    sources: Sources, settings: Settings, packs: Sequence[PackState], gateways: GatewayIds, *, lazy: bool
) -> "Servers":
    make = load("dogubako.gateway.servers").configured_servers
    servers: Servers = make(sources, settings, packs, gateways, lazy=lazy)
    return servers


def _limits(settings: Settings) -> ExecutionLimits:
    return ExecutionLimits(max_tokens=settings.max_response_tokens, task_timeout=settings.task_timeout * 1000)


def _search(settings: Settings, learned: LearnedPhrases | None) -> IndexedSearch:
    reader = japanese_reader(settings.data_dir / _JAPANESE_WORDS)
    return IndexedSearch(reader, words=settings.words_by_tool, learned=learned)


def _telemetry() -> Any:
    try:
        return load("dogubako.telemetry")
    except ImportError as error:
        raise SettingsError("DOGUBAKO_OTEL needs the extra otel: pip install 'dogubako[otel]'.") from error
