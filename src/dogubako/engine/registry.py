"""`ToolRegistry`: find, list, enable, versions. The one place that knows which tools there are."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import anyio

from dogubako.contract.call import NO_OPTIONS, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.metadata import ToolMetadata
from dogubako.contract.offload import offload
from dogubako.contract.state import LocalSwitches, Switches
from dogubako.contract.tool import BaseTool
from dogubako.engine.admission import RegistrationError, admit
from dogubako.engine.entry import ListFilter, RegisterOptions, Status, ToolRegistryEntry
from dogubako.engine.search import LexicalSearch, Match, ToolSearch
from dogubako.engine.subscribers import Subscribers

Entries = list[ToolRegistryEntry]
Matches = list[Match]

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


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryChange:
    """Something came, went, or was switched."""

    kind: ChangeKind
    name: str
    version: str


Listener = Callable[[RegistryChange], None]
MaySee = Callable[[ToolRegistryEntry], bool]
Run = Callable[[ToolCall], Awaitable[ToolResult]]


class ToolRegistry:
    """All tools, by name and version, in an order that does not depend on who came first."""

    def __init__(self, *, switches: Switches | None = None, search: ToolSearch | None = None) -> None:
        self._versions: dict[str, dict[str, ToolRegistryEntry]] = {}
        self._switches = switches or LocalSwitches()
        self._search = search or LexicalSearch()
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
        """Add a tool, or refuse it with a RegistrationError that tells its author why."""
        category = options.category or tool.metadata.category or options.pack or "core"
        metadata = replace(
            tool.metadata,
            version=options.version or tool.metadata.version,
            tags=options.tags if options.tags is not None else tool.metadata.tags,
            category=category,
        )
        admit(metadata, derived=options.proven or tool.args_model is not None)
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
    ) -> Matches:
        """Tools that fit the words, best first. What a caller may not see takes no place from what it may."""
        for _ in self._tell_search():
            pass
        return self._search.find(query, self._searched(wanted, may_see), explain=explain)

    async def find(self, query: str, wanted: ListFilter = _ALL, *, may_see: MaySee | None = None) -> Matches:
        """As `search`, in a worker thread: others are served while many tools are indexed or a query is embedded."""
        begun = time.perf_counter()
        for _ in self._tell_search():
            if time.perf_counter() - begun > _TURN_SECONDS:
                await asyncio.sleep(0)
                begun = time.perf_counter()
        allowed = self._searched(wanted, may_see)
        # One at a time: those that wait for the first index must not occupy the threads of others meanwhile.
        async with self._searching:
            return await offload(self._search.find, query, allowed, explain=False)

    def _searched(self, wanted: ListFilter, may_see: MaySee | None) -> frozenset[str] | None:
        """The names that may be found; nothing where all of them may."""
        names = self._names_of(wanted)
        if may_see is not None:
            names = frozenset(name for name in names if may_see(self.get(name)))
        return None if len(names) == len(self._versions) else names

    def enable(self, name: str, version: str | None = None) -> ToolRegistryEntry:
        return self._switch(name, version, True)

    def disable(self, name: str, version: str | None = None) -> ToolRegistryEntry:
        return self._switch(name, version, False)

    async def execute(
        self, name: str, parameters: Mapping[str, Any], options: ExecutionOptions = NO_OPTIONS
    ) -> ToolResult:
        """Call a tool from Python, down the same path as every other call."""
        if self._run is None:
            raise RuntimeError("this registry has no pipeline yet")
        return await self._run(ToolCall(name=name, parameters=parameters, options=options))

    def attach(self, run: Run) -> None:
        """Tell the registry who runs its tools."""
        self._run = run

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of every change until the returned function is called."""
        return self._subscribers.add(listener)

    def _tell_search(self) -> Iterator[None]:
        """Tell the search of all changes, one per step. Nothing is told before somebody searches.

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
        """Without a version the tool is meant, not its newest version: an older one must not answer in its place."""
        versions = self._known(name, version)
        for entry in [versions[version]] if version else list(versions.values()):
            self._switches.set(name, entry.version, enabled)
            self._changed("enabled" if enabled else "disabled", entry)
        return self.get(name, version)

    def _status_of(self, entry: ToolRegistryEntry) -> Status:
        key = (entry.name, entry.version)
        if key not in self._statuses:
            self._statuses[key] = self._find_status(entry)
        return self._statuses[key]

    def _find_status(self, entry: ToolRegistryEntry) -> Status:
        if entry.unavailable is not None:
            return Status(enabled=False, reason=entry.unavailable)
        switched = self._switches.get(entry.name, entry.version)
        if not (entry.switched_on if switched is None else switched):
            return Status(enabled=False, reason="It was switched off; an administrator can enable it.")
        for dependency in entry.dependencies:
            if dependency not in self._versions:
                return Status(enabled=False, reason=f"It needs {dependency}, which is not registered.")
            if not self.get(dependency).enabled:
                return Status(enabled=False, reason=f"It needs {dependency}, which is disabled.")
        return _ENABLED

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
    """A schema that cannot be derived is its author's to mend, now; later it would break the list of all tools."""
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
