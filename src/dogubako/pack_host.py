"""`PackHost`: the server, as a connected pack sees it. `HeldPacks`: packs that can be closed one by one."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import structlog

from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import Host
from dogubako.contract.redaction import Redactor
from dogubako.contract.resources import Prompt, Resource, ResourceTemplate, Skill
from dogubako.contract.storage import Cache, SharedStore
from dogubako.contract.tool import BaseTool
from dogubako.engine.catalog import Catalog, CatalogChange
from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.loading import place_of
from dogubako.pack_state import PackState
from dogubako.settings import Settings, SettingsError

log = structlog.get_logger("dogubako")


class PackHost:
    """The server, as a connected pack sees it."""

    def __init__(
        self,
        state: PackState,
        settings: Settings,
        registry: ToolRegistry,
        catalog: Catalog,
        cache: Cache,
        redactor: Redactor,
        shared: SharedStore | None,
    ) -> None:
        self.cache: Cache = cache
        self.data_dir = settings.data_dir
        self.files: Sequence[Path] = settings.files
        self.transport = state.sandbox.transport() if state.sandbox else None
        self.mask: Callable[[str], str] = redactor.mask_configured
        self.shared: SharedStore | None = shared
        self._registry = registry
        self._catalog = catalog
        self._pack = state.pack.name
        self._state = state

    def add(self, tool: BaseTool[Any, Any]) -> None:
        pack = self._state.pack
        words, everyday_words = pack.search_words, pack.everyday_words
        self._registry.register(tool, RegisterOptions(pack=pack.name, words=words, everyday_words=everyday_words))

    def remove(self, name: str, version: str | None = None) -> None:
        self._registry.unregister(name, version)

    def add_resource(self, resource: Resource | ResourceTemplate) -> None:
        if isinstance(resource, Resource):
            self._catalog.add(self._pack, resources=[resource])
        else:
            self._catalog.add(self._pack, templates=[resource])
        self.resources_changed()

    def remove_resource(self, uri: str) -> None:
        self._catalog.remove_resource(self._pack, uri)
        self.resources_changed()

    def add_skill(self, skill: Skill) -> None:
        self._catalog.add(self._pack, skills=[skill])

    def remove_skill(self, uri: str) -> None:
        self._catalog.remove_skill(self._pack, uri)

    def add_prompt(self, prompt: Prompt) -> None:
        self._catalog.add(self._pack, prompts=[prompt])
        self.prompts_changed()

    def remove_prompt(self, name: str) -> None:
        self._catalog.remove_prompt(self._pack, name)
        self.prompts_changed()

    def resources_changed(self) -> None:
        self._catalog.changed(CatalogChange(kind="resources"))

    def prompts_changed(self) -> None:
        self._catalog.changed(CatalogChange(kind="prompts"))

    def resource_updated(self, uri: str) -> None:
        self._catalog.changed(CatalogChange(kind="updated", uri=uri))


class HeldPacks:
    """Packs whose clients are opened in tasks of their own."""

    def __init__(self, host_of: Callable[[PackState], Host]) -> None:
        self._host_of = host_of
        self._held: list[asyncio.Task[None]] = []

    async def hold(self, state: PackState) -> None:
        """Open the client of a tools file in its own task, so that it can be closed before the others."""
        opened = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._keep_open(state, opened))
        self._held.append(task)
        try:
            await opened
        except asyncio.CancelledError:
            self._held.remove(task)
            task.cancel()
            raise

    async def _keep_open(self, state: PackState, opened: "asyncio.Future[None]") -> None:
        try:
            async with state.pack.connect(state.settings, self._host_of(state)) as client:
                state.connected(next(iter(state.instances.values())), client)
                opened.set_result(None)
                await state.released.wait()
        except DogubakoError as error:
            log.error("Pack could not connect", pack=state.pack.name, code=error.code, exc_info=error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if opened.done():
                # The top of a task: nothing above handles the error.
                log.error("Pack could not be closed", pack=state.pack.name, exc_info=error)
            else:
                place = place_of(state.file, error) if state.file else state.pack.name
                failure = SettingsError(f"{place} could not be opened: {type(error).__name__}: {error}")
                failure.__cause__ = error
                opened.set_exception(failure)
        finally:
            if not opened.done():
                opened.set_result(None)

    async def release(self, states: Iterable[PackState]) -> None:
        """Close the clients of all of them."""
        for state in states:
            state.released.set()
        await asyncio.gather(*self._held)
        self._held.clear()
