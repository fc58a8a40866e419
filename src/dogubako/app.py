"""Joins all parts; the only module that knows everyone."""

import hmac
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import structlog

from dogubako.contract.call import NO_OPTIONS, TRUSTED, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import Finding, Host, Pack, Unconfigured
from dogubako.contract.prompt import Prompt
from dogubako.contract.secrets import Redactor
from dogubako.contract.setting import PackSettings, secrets_of
from dogubako.contract.state import Cache, MemoryCache, NoCache
from dogubako.contract.tool import BaseTool
from dogubako.engine.catalog import Catalog, CatalogChange
from dogubako.engine.discovery import Discovery
from dogubako.engine.entry import RegisterOptions
from dogubako.engine.executor import PackLimits, ToolExecutor
from dogubako.engine.finding import Finder
from dogubako.engine.limits import ExecutionLimits
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import ToolSearch
from dogubako.engine.switching import Switchboard
from dogubako.gate.gate import Gate
from dogubako.gate.private_file import kept_secret
from dogubako.late import load
from dogubako.loading import find_packs
from dogubako.outbound.redis_cache import RedisCache
from dogubako.packs import PACKS
from dogubako.response.builder import ToolResponseBuilder
from dogubako.sandbox.services import SANDBOXES, Sandbox
from dogubako.settings import Settings, SettingsError, Sources

log = structlog.get_logger("dogubako")

_CACHE_KEY_FILE: Final = "cache.key"


@dataclass(kw_only=True)
class PackState:
    """A pack in this server: its settings, and its client while the server runs."""

    pack: Pack[Any, Any]
    settings: PackSettings
    unconfigured: Unconfigured | None
    sandbox: Sandbox | None = None
    client: Any = None


class Toolbox:
    """The whole server without a door. Every door gets one; Python code can use it directly."""

    def __init__(self, settings: Settings, packs: Sequence[PackState], redactor: Redactor | None = None) -> None:
        self.settings = settings
        self.packs = {state.pack.name: state for state in packs}
        self.redactor = redactor or Redactor()
        self.redactor.add(*secrets_of(settings), *(secret for state in packs for secret in secrets_of(state.settings)))
        self.registry = ToolRegistry(search=_semantic_search(settings))
        self.cache = _cache(settings)
        responses = ToolResponseBuilder(
            language=settings.lang, max_tokens=settings.max_response_tokens, redactor=self.redactor
        )
        self.discovery = Discovery(settings.discovery, settings.pinned_tools)
        self.gate = Gate(settings, self.redactor)
        self.authenticator = self.gate.authenticator
        self.once = self.gate.once
        self.catalog = Catalog(responses, self._surroundings, self.gate.policy, self.gate.audit)
        self.pipeline = Pipeline(
            self.registry,
            policy=self.gate.policy,
            observer=self.gate.audit,
            executor=ToolExecutor(limits=ExecutionLimits(max_tokens=settings.max_response_tokens), cache=self.cache),
            responses=responses,
            surroundings=self._surroundings,
            show_internal_errors=settings.environment == "development",
        )
        self.finder = Finder(self.registry, self.gate.policy, self.gate.audit)
        self.switchboard = Switchboard(self.registry, self.gate.policy, self.gate.audit)
        for state in packs:
            self._admit(state)

    async def call(
        self, name: str, parameters: Mapping[str, Any] | None = None, options: ExecutionOptions = NO_OPTIONS
    ) -> ToolResult:
        """The Python door: the same path and the same answer as everywhere."""
        return await self.pipeline.handle(ToolCall(name=name, parameters=parameters or {}, options=options))

    async def read(self, uri: str) -> dict[str, Any]:
        """A resource, by the Python door."""
        return await self.catalog.read(uri, caller=TRUSTED, door="python")

    async def render(self, name: str, arguments: Mapping[str, str]) -> tuple[Prompt, list[dict[str, Any]]]:
        """A prompt, by the Python door."""
        return await self.catalog.render(name, arguments, caller=TRUSTED, door="python")

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Toolbox"]:
        """Connect the configured packs for as long as the server runs."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.gate.running())
            if isinstance(self.cache, RedisCache):
                stack.push_async_callback(self.cache.aclose)
            for state in self.packs.values():
                if state.unconfigured is None:
                    await self._connect(state, stack)
            yield self

    async def check(self) -> list[Finding]:
        """What the gate and each pack say about their own health."""
        findings = await self.gate.check()
        for name, state in self.packs.items():
            if state.unconfigured is not None:
                findings.append(_not_configured(name, state.unconfigured))
            else:
                findings += await state.pack.check(state.settings, state.client)
        return [self._discreet(finding) for finding in findings]

    def _discreet(self, finding: Finding) -> Finding:
        """A service may quote our own key in its refusal."""
        mask = self.redactor.mask
        return replace(finding, message=mask(finding.message), advice=mask(finding.advice) if finding.advice else None)

    def _admit(self, state: PackState) -> None:
        pack = state.pack
        limits = PackLimits(
            max_running=pack.max_running,
            max_wait_seconds=pack.max_wait_seconds,
            retry=pack.default_retry,
            scope=f"{self.settings.lang} {state.settings!r} {secrets_of(state.settings)}",
        )
        self.pipeline.executor.set_pack_limits(pack.name, limits)
        missing = state.unconfigured
        unavailable = f"{missing.reason} Set {missing.setting}." if missing else None
        # Our own tools have snapshots of their schemas; what comes from elsewhere is proved before it may join.
        options = RegisterOptions(pack=pack.name, unavailable=unavailable, proven=pack in PACKS, pinned=pack.pinned)
        for tool in pack.tools:
            self.registry.register(tool() if isinstance(tool, type) else tool, options)
        if state.unconfigured is None:
            self.catalog.add(pack.name, pack.resources, pack.resource_templates, pack.prompts)

    async def _connect(self, state: PackState, stack: AsyncExitStack) -> None:
        host: Host = PackHost(self, state)
        try:
            state.client = await stack.enter_async_context(state.pack.connect(state.settings, host))
        except DogubakoError as error:
            # One service that is down must not keep the others from being served.
            log.error("Pack could not connect", pack=state.pack.name, code=error.code, exc_info=error)

    def _surroundings(self, pack: str) -> tuple[Any, Any]:
        state = self.packs.get(pack)
        return (state.client, state.settings) if state else (None, None)


class PackHost:
    """What a connected pack may do to the server it lives in."""

    def __init__(self, box: Toolbox, state: PackState) -> None:
        self.cache: Cache = box.cache
        self.data_dir = box.settings.data_dir
        self.files: Sequence[Path] = box.settings.files
        self.transport = state.sandbox.transport() if state.sandbox else None
        self._box = box
        self._pack = state.pack.name

    def add(self, tool: BaseTool[Any, Any]) -> None:
        self._box.registry.register(tool, RegisterOptions(pack=self._pack))

    def remove(self, name: str, version: str | None = None) -> None:
        self._box.registry.unregister(name, version)

    def resources_changed(self) -> None:
        self._box.catalog.changed(CatalogChange(kind="resources"))

    def prompts_changed(self) -> None:
        self._box.catalog.changed(CatalogChange(kind="prompts"))

    def resource_updated(self, uri: str) -> None:
        self._box.catalog.changed(CatalogChange(kind="updated", uri=uri))


def build(
    sources: Sources, *, redactor: Redactor | None = None, packs: Sequence[Pack[Any, Any]] | None = None
) -> Toolbox:
    """A toolbox from settings. `packs` replaces what would be found; the command line never does that."""
    settings = sources.load()
    found = find_packs(settings.packs, settings.tools) if packs is None else packs
    sources.refuse_unknown_tables(pack.name for pack in found)
    return Toolbox(settings, [_state(pack, sources, sandboxed=settings.sandbox) for pack in found], redactor)


def _state(pack: Pack[Any, Any], sources: Sources, *, sandboxed: bool) -> PackState:
    settings = sources.load_pack(pack)
    missing = pack.unconfigured(settings)
    # A pack that works without any setting is stood in for as long as nobody set one.
    untouched = missing is not None or settings == pack.settings()
    sandbox = SANDBOXES.get(pack.name) if sandboxed and untouched else None
    if sandbox is None:
        return PackState(pack=pack, settings=settings, unconfigured=missing)
    return PackState(pack=pack, settings=pack.settings(**sandbox.settings), unconfigured=None, sandbox=sandbox)


def _not_configured(name: str, missing: Unconfigured) -> Finding:
    return Finding(ok=False, subject=name, message=missing.reason, advice=f"Set {missing.setting}.", severity="warning")


def _semantic_search(settings: Settings) -> ToolSearch | None:
    """Search by meaning, where somebody wants it; by words alone needs nothing."""
    if settings.semantic_model == "off":
        return None
    module = load("dogubako.engine.search.semantic_search")
    try:
        found: ToolSearch = module.search_with(settings.semantic_model, settings.data_dir)
    except module.ModelError as error:
        raise SettingsError(f"DOGUBAKO_SEMANTIC_MODEL: {error}") from None
    return found


def _cache(settings: Settings) -> Cache:
    if settings.cache == "off":
        return NoCache()
    if settings.cache == "memory":
        return MemoryCache()
    return RedisCache(settings.cache, lambda: _cache_signing_key(settings))


def _cache_signing_key(settings: Settings) -> bytes:
    """The key of values in a shared cache: of servers that share a secret, else of this data folder."""
    shared = settings.request_state_key
    try:
        secret = shared.get_secret_value().encode() if shared else kept_secret(settings.data_dir / _CACHE_KEY_FILE)
    except OSError as error:
        log.warning("The cache key cannot be kept, so cached values end with this process", reason=error.strerror)
        secret = secrets.token_bytes(32)
    return hmac.digest(secret, b"dogubako cache values", "sha256")
