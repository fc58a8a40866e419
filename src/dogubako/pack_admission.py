"""Register what packs bring, and remove it again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import msgspec

from dogubako.contract.call import CallObserver
from dogubako.contract.pack import secrets_of
from dogubako.engine.catalog import Catalog
from dogubako.engine.executor import PackLimits, ToolExecutor
from dogubako.engine.registration import RegisterOptions, RegistrationError
from dogubako.engine.registry import ToolRegistry
from dogubako.loading import line_of
from dogubako.pack_state import PackState
from dogubako.packs import PACKS
from dogubako.packs.core.pack import TASK_TOOLS
from dogubako.settings import Settings

if TYPE_CHECKING:
    from dogubako.gateway.pack import ServerPack


class PackAdmission:
    """Enters the tools, resources, prompts, limits and observers of packs. `no_tasks` says why no tasks can run."""

    def __init__(
        self,
        settings: Settings,
        registry: ToolRegistry,
        executor: ToolExecutor,
        catalog: Catalog,
        observe: Callable[[CallObserver], Callable[[], None]],
        no_tasks: str | None,
    ) -> None:
        self._language = settings.lang
        self._registry = registry
        self._executor = executor
        self._catalog = catalog
        self._observe = observe
        self._no_tasks = no_tasks

    def admit(self, state: PackState) -> None:
        """Register a pack. If this raises RegistrationError, a part of it may be registered."""
        pack = state.pack
        limits = PackLimits(
            max_running=pack.max_running,
            max_wait_seconds=pack.max_wait_seconds,
            retry=pack.default_retry,
            scope=f"{self._language} {state.all_settings!r} {secrets_of(state.all_settings)}",
        )
        self._executor.set_pack_limits(pack.name, limits)
        self._register_tools(state)
        if state.unconfigured is None:
            state.unobserve = [self._observe(one) for one in pack.observers]
            self._catalog.add(pack.name, state.resources(), state.templates(), state.prompts())

    def _register_tools(self, state: PackState) -> None:
        pack, missing = state.pack, state.unconfigured
        options = RegisterOptions(
            pack=pack.name,
            unavailable=f"{missing.reason} {missing.advice}" if missing else None,
            # Our own tools have snapshots of their schemas, stored ones were checked; others are checked at
            # registration.
            proven=pack in PACKS or state.is_server,
            pinned=pack.pinned or state.file is not None,
            words=pack.search_words,
            everyday_words=pack.everyday_words,
        )
        for tool in state.tools():
            needs_tasks = isinstance(tool, TASK_TOOLS) and self._no_tasks
            try:
                self._registry.register(
                    tool, msgspec.structs.replace(options, unavailable=needs_tasks) if needs_tasks else options
                )
            except RegistrationError as error:
                if state.is_server:
                    cast("ServerPack", pack).refused(tool.name, str(error))
                    continue
                if state.file is None:
                    raise
                raise RegistrationError(f"{line_of(tool)}: {error}") from error

    def withdraw(self, state: PackState) -> None:
        """Remove what a pack has registered, also if it registered only a part."""
        for entry in [one for one in self._registry.list() if one.pack == state.pack.name]:
            self._registry.unregister(entry.name)
        self._catalog.remove_all(state.pack.name)
        for remove in state.unobserve:
            remove()
