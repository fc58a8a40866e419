"""`ToolRegistry`: look up, list, enable and disable tools, and their versions."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

import anyio
import msgspec

from dogubako.contract.call import NO_OPTIONS, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.metadata import ToolMetadata
from dogubako.contract.offload import offload
from dogubako.contract.storage import LocalSwitches, Switched, Switches
from dogubako.contract.tool import BaseTool
from dogubako.engine.events import Subscribers
from dogubako.engine.registration import (
    ListFilter,
    RegisterOptions,
    RegistrationError,
    Status,
    ToolRegistryEntry,
    admit,
)
from dogubako.engine.search import IndexedSearch, SearchResult, ToolSearch

Entries = list[ToolRegistryEntry]

_ALL = ListFilter()
_AS_IT_IS = RegisterOptions()
_ENABLED = Status(enabled=True)

# Comparing names one by one is slow; a typing error is found among names of about the same length.
_MOST_NAMES_COMPARED = 2_000
# Callers say what they like to have filtered; what they said is not kept for ever.
_MOST_FILTERS_KEPT = 64
_LONGEST_KEPT = 200
# How long the event loop may be kept before others get their turn.
_TURN_SECONDS = 0.02


ChangeKind = Literal["registered", "unregistered", "enabled", "disabled"]


class RegistryChange(msgspec.Struct, frozen=True, kw_only=True):
    """A tool was added, removed or switched."""

    kind: ChangeKind
    name: str
    version: str


Listener = Callable[[RegistryChange], None]
MaySee = Callable[[ToolRegistryEntry], bool]
Run = Callable[[ToolCall], Awaitable[ToolResult]]


class ToolRegistry:
    """All tools, by name and version, in an order that does not depend on the order of registration."""

    def __init__(self, *, switches: Switches | None = None, search: ToolSearch | None = None) -> None:
        self._versions: dict[str, dict[str, ToolRegistryEntry]] = {}
        self._switches = switches or LocalSwitches()
        self._switches.listen(self._switched)
        self._search = search or IndexedSearch()
        self._searching = anyio.Lock()
        self._untold: set[str] = set()
        self._names: dict[ListFilter, frozenset[str]] = {}
        self._subscribers: Subscribers[RegistryChange] = Subscribers()
        self._current: dict[str, ToolRegistryEntry] = {}
        self._statuses: dict[tuple[str, str], Status] = {}
        self._sorted: list[ToolRegistryEntry] | None = None
        self._run: Run | None = None
        self.generation = 0

    def register(self, tool: BaseTool[Any, Any], options: RegisterOptions = _AS_IT_IS) -> ToolRegistryEntry:
        """Add a tool, or raise a RegistrationError with the reason."""
        category = options.category or tool.metadata.category or options.pack or "core"
        metadata = replace(
            tool.metadata,
            version=options.version or tool.metadata.version,
            tags=options.tags if options.tags is not None else tool.metadata.tags,
            category=category,
        )
        admit(metadata, derived=options.proven or tool.args_model is not None, foreign=tool.foreign)
        if not options.proven:
            _derive_schemas(metadata)
        versions = self._versions.get(metadata.name, {})
        if metadata.version in versions and not options.overwrite:
            raise RegistrationError(f'Tool "{metadata.name}" {metadata.version} is already registered')
        self._refuse_cycle(metadata.name, metadata.dependencies)
        entry = ToolRegistryEntry(
            metadata=metadata,
            implementation=tool,
            pack=options.pack or category,
            switched_on=options.enabled,
            unavailable=options.unavailable,
            pinned=options.pinned,
            words=options.words,
            everyday_words=options.everyday_words,
            status_of=self._status_of,
        )
        self._versions.setdefault(metadata.name, {})[metadata.version] = entry
        self._changed("registered", entry)
        return entry

    def unregister(self, name: str, version: str | None = None) -> None:
        """Remove one version, or all of them."""
        versions = self._known(name, version)
        for entry in [versions[version]] if version else list(versions.values()):
            del versions[entry.version]
            self._switches.forget(name, entry.version)
            if not versions:
                del self._versions[name]
            self._changed("unregistered", entry)

    def get(self, name: str, version: str | None = None, *, may_see: MaySee | None = None) -> ToolRegistryEntry:
        """The version asked for, else the newest that is enabled, else the newest.

        Where there is none, tools that the caller may see are proposed in its place.
        """
        if version is not None:
            return self._known(name, version, may_see)[version]
        entry = self._current.get(name)
        if entry is None:
            newest_first = sorted(self._known(name, None, may_see).values(), key=lambda one: one.order, reverse=True)
            entry = next((one for one in newest_first if one.enabled), newest_first[0])
            self._current[name] = entry
        return entry

    def knows(self, name: str) -> bool:
        """Whether a tool of this name is registered."""
        return name in self._versions

    def get_version(self, name: str) -> str:
        """The version that answers now."""
        return self.get(name).version

    def list(self, wanted: ListFilter = _ALL) -> Entries:
        """One entry per name (the version that answers), by category and name."""
        if self._sorted is None:
            current = (self.get(name) for name in self._versions)
            self._sorted = sorted(current, key=lambda entry: (entry.category, entry.name))
        return [entry for entry in self._sorted if _fits(entry, wanted)]

    def versions(self, name: str) -> Entries:
        """All versions of one tool, newest first."""
        return sorted(self._known(name).values(), key=lambda entry: entry.order, reverse=True)

    def filter_by_tag(self, *tags: str) -> Entries:
        return self.list(ListFilter(tags=tags))

    def filter_by_category(self, category: str) -> Entries:
        return self.list(ListFilter(category=category))

    def search(
        self, query: str, wanted: ListFilter = _ALL, *, may_see: MaySee | None = None, explain: bool = False
    ) -> SearchResult:
        """Tools that match the query, best first. Tools that the caller may not see are left out before ranking."""
        for _ in self._tell_search():
            pass
        return self._search.find(query, self._searched(wanted, may_see), explain=explain)

    async def find(
        self,
        query: str,
        wanted: ListFilter = _ALL,
        *,
        may_see: MaySee | None = None,
        explain: bool = False,
        learner: str | None = None,
    ) -> SearchResult:
        """Search in a worker thread, because the first search of many tools takes long. `learner` is who asks."""
        await self._tell_search_in_turns()
        allowed = self._searched(wanted, may_see)
        # One at a time: those that wait for the first index must not occupy the threads of others meanwhile.
        async with self._searching:
            return await offload(self._search.find, query, allowed, explain=explain, learner=learner)

    async def prepare_search(self) -> None:
        """Begin to index all tools in the background, so that the first search does not wait."""
        await self._tell_search_in_turns()
        await offload(self._search.prepare)

    async def _tell_search_in_turns(self) -> None:
        """Others get their turn meanwhile."""
        begun = time.perf_counter()
        for _ in self._tell_search():
            if time.perf_counter() - begun > _TURN_SECONDS:
                await asyncio.sleep(0)
                begun = time.perf_counter()

    def _searched(self, wanted: ListFilter, may_see: MaySee | None) -> frozenset[str] | None:
        """The names that may be found; None where all of them may."""
        names = self._names_of(wanted)
        if may_see is not None:
            names = frozenset(name for name in names if may_see(self.get(name)))
        return None if len(names) == len(self._versions) else names

    def enable(self, name: str, version: str | None = None) -> ToolRegistryEntry:
        return self._switch(name, version, True)

    def disable(self, name: str, version: str | None = None) -> ToolRegistryEntry:
        return self._switch(name, version, False)

    async def switch(self, name: str, enabled: bool) -> None:
        """Enable or disable all versions of a tool, in every process that shares the switches."""
        await self._switches.put({(name, version): enabled for version in self._known(name)})

    async def execute(
        self, name: str, parameters: Mapping[str, Any], options: ExecutionOptions = NO_OPTIONS
    ) -> ToolResult:
        """Call a tool from Python, through the same pipeline as every other call."""
        if self._run is None:
            raise RuntimeError("this registry has no pipeline yet")
        return await self._run(ToolCall(name=name, parameters=parameters, options=options))

    def attach(self, run: Run) -> None:
        """Set the pipeline that runs the tools."""
        self._run = run

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every change, until the returned function is called."""
        return self._subscribers.add(listener)

    def _tell_search(self) -> Iterator[None]:
        """Apply all changes to the search index, one per step. Nothing is indexed before the first search.

        Of a tool with several versions another may answer by now.
        """
        generation = None
        while self._untold:
            if generation != self.generation:
                generation = self.generation
                self._untold |= {name for name, versions in self._versions.items() if len(versions) > 1}
            name = self._untold.pop()
            if name in self._versions:
                entry = self.get(name)
                # Derived here, not in the thread that searches: a call may derive the same schema at this moment.
                entry.metadata.schemas()
                self._search.put(entry)
            else:
                self._search.drop(name)
            yield

    def _names_of(self, wanted: ListFilter) -> frozenset[str]:
        if not _is_short(wanted):
            return frozenset(entry.name for entry in self.list(wanted))
        if wanted not in self._names:
            if len(self._names) >= _MOST_FILTERS_KEPT:
                self._names.clear()
            self._names[wanted] = frozenset(entry.name for entry in self.list(wanted))
        return self._names[wanted]

    def _known(
        self, name: str, version: str | None = None, may_see: MaySee | None = None
    ) -> dict[str, ToolRegistryEntry]:
        versions = self._versions.get(name)
        if versions is None:
            raise ToolNotFoundError(f"Tool not found: {name[:200]}", hint=self._nearest(name, may_see))
        if version is not None and version not in versions:
            known = ", ".join(entry.version for entry in sorted(versions.values(), key=lambda one: one.order))
            raise ToolNotFoundError(f"Tool not found: {name} {version[:50]}", hint=f"Known versions: {known}.")
        return versions

    def _nearest(self, name: str, may_see: MaySee | None) -> str | None:
        alike = [known for known in self._versions if abs(len(known) - len(name)) <= 8][:_MOST_NAMES_COMPARED]
        if may_see is not None:
            alike = [known for known in alike if may_see(self.get(known))]
        near = get_close_matches(name[:64], sorted(alike), n=3, cutoff=0.6)
        return f"Did you mean {' or '.join(near)}?" if near else "tools/list or `dogubako tools list` has the names."

    def _switch(self, name: str, version: str | None, enabled: bool) -> ToolRegistryEntry:
        """Switch all versions if none is named: an older one must not answer in place of the newest."""
        versions = self._known(name, version)
        for entry in [versions[version]] if version else list(versions.values()):
            self._switches.set(name, entry.version, enabled)
        return self.get(name, version)

    def _switched(self, changed: Iterable[Switched] | None) -> None:
        """Apply new switches, which another process may have set. None means that any may have changed."""
        everything = ((name, version) for name, versions in self._versions.items() for version in versions)
        for name, version in list(everything if changed is None else changed):
            if (entry := self._versions.get(name, {}).get(version)) is not None:
                self._changed("enabled" if self._is_switched_on(entry) else "disabled", entry)

    def _status_of(self, entry: ToolRegistryEntry) -> Status:
        key = (entry.metadata.name, entry.metadata.version)
        if key not in self._statuses:
            self._statuses[key] = self._find_status(entry)
        return self._statuses[key]

    def _find_status(self, entry: ToolRegistryEntry) -> Status:
        if (reason := entry.unavailable or self._switches.unknown) is not None:
            return Status(enabled=False, reason=reason)
        if not self._is_switched_on(entry):
            return Status(enabled=False, reason="It was switched off; an administrator can enable it.")
        for dependency in entry.dependencies:
            if dependency not in self._versions:
                return Status(enabled=False, reason=f"It needs {dependency}, which is not registered.")
            if not self.get(dependency).enabled:
                return Status(enabled=False, reason=f"It needs {dependency}, which is disabled.")
        return _ENABLED

    def _is_switched_on(self, entry: ToolRegistryEntry) -> bool:
        switched = self._switches.get(entry.name, entry.version)
        return entry.switched_on if switched is None else switched

    def _refuse_cycle(self, name: str, dependencies: Iterable[str]) -> None:
        waiting: list[tuple[str, tuple[str, ...]]] = [(one, (name, one)) for one in dependencies]
        seen: set[str] = set()
        while waiting:
            current, trail = waiting.pop()
            if current == name:
                raise RegistrationError(f"Dependency cycle: {' → '.join(trail)}")
            for entry in self._versions.get(current, {}).values() if current not in seen else ():
                waiting += [(one, (*trail, one)) for one in entry.dependencies]
            seen.add(current)

    def _changed(self, kind: ChangeKind, entry: ToolRegistryEntry) -> None:
        self._current.clear()
        self._statuses.clear()
        self._sorted = None
        self._names.clear()
        self._untold.add(entry.name)
        self.generation += 1
        self._subscribers.tell(RegistryChange(kind=kind, name=entry.name, version=entry.version))


def _derive_schemas(metadata: ToolMetadata) -> None:
    """Derive the schemas now: one that cannot be derived would break the list of all tools later."""
    try:
        metadata.schemas()
    except ValueError as error:
        raise RegistrationError(f'Tool "{metadata.name}" has no schema: {error}') from error


def _is_short(wanted: ListFilter) -> bool:
    return len(wanted.category or "") <= _LONGEST_KEPT and sum(map(len, wanted.tags)) <= _LONGEST_KEPT


def _fits(entry: ToolRegistryEntry, wanted: ListFilter) -> bool:
    return (
        (wanted.category is None or entry.category == wanted.category)
        and (wanted.enabled is None or entry.enabled is wanted.enabled)
        and all(tag in entry.tags for tag in wanted.tags)
    )
