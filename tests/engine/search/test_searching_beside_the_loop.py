"""A search indexes thousands of tools and embeds queries while everybody else is served."""

import threading
from collections.abc import Mapping, Set
from typing import Any, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dogubako import Context
from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import IndexedSearch, SearchResult
from dogubako.tools import SchemaTool
from tests.heartbeat import Heartbeat, best_of_three, check_stall, frozen_heap

TOOLS: Final = 10_000
PATIENCE: Final = 30.0
_VERBS: Final = ("create", "list", "delete", "update", "export", "archive", "search", "measure")
_PROVEN: Final = RegisterOptions(pack="other", proven=True)


async def _act(args: Mapping[str, Any], _: Context[Any]) -> Any:
    return args


def numbered(number: int) -> SchemaTool:
    """One of thousands, as another server would bring them."""
    verb, thing = _VERBS[number % len(_VERBS)], f"thing{number % 977}"
    description = f"{verb.capitalize()} the {thing} number {number} of a warehouse in place {number % 131}."
    about = {"type": "string", "description": f"Which {thing} to {verb}, and in what order to do so."}
    schema = {"type": "object", "properties": {f"id_{number % 50}": about, "order": about}}
    return SchemaTool(f"{verb}_{thing}_{number}", description, schema, _act)


def registry_of(count: int) -> ToolRegistry:
    registry = ToolRegistry()
    for number in range(count):
        registry.register(numbered(number), _PROVEN)
    return registry


# Measured alone: two busy processes on one core take twice as long.
@pytest.mark.stall
@best_of_three
async def test_the_first_search_of_ten_thousand_tools_keeps_nobody_waiting() -> None:
    registry = registry_of(TOOLS)

    with frozen_heap(), Heartbeat() as heart:
        await anyio.sleep(0.03)
        heart.take()
        found = await registry.find("archive thing7 of a warehouse")
        while found.not_indexed:
            # A search waits a second for the index, and longer is needed on a busy machine.
            found = await registry.find("archive thing7 of a warehouse")
        first, heart.worst = heart.take(), 0.0
        again = await registry.find("export thing9", may_see=lambda entry: True)
        second = heart.take()

    assert found[0].entry.name.startswith("archive_thing7")
    assert again[0].entry.name.startswith("export_thing9")
    check_stall(first)
    check_stall(second)


async def test_tools_that_come_and_go_while_others_are_indexed_are_found_or_not() -> None:
    registry = registry_of(300)
    gone = registry.get("list_thing1_1").name
    answers: list[list[str]] = []

    async def search() -> None:
        answers.append([match.entry.name for match in await registry.find("list thing1")])

    async with anyio.create_task_group() as group:
        group.start_soon(search)
        await anyio.lowlevel.checkpoint()
        registry.register(numbered(977 + 1), _PROVEN)
        registry.unregister(gone)
        group.start_soon(search)

    names = [match.entry.name for match in await registry.find("list thing1")]
    assert "delete_thing1_978" in names
    assert gone not in names
    assert all(answers)


async def test_others_are_served_while_a_search_runs() -> None:
    may_go_on, asked = threading.Event(), threading.Event()

    class Slow(IndexedSearch):
        def find(
            self, query: str, allowed: Set[str] | None, *, explain: bool = False, learner: str | None = None
        ) -> SearchResult:
            asked.set()
            assert may_go_on.wait(PATIENCE)
            return super().find(query, allowed, explain=explain, learner=learner)

    registry = ToolRegistry(search=Slow())
    registry.register(numbered(3), _PROVEN)
    found: list[Any] = []

    async def search() -> None:
        found.extend(await registry.find("update thing3"))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(search)
            assert await anyio.to_thread.run_sync(asked.wait, PATIENCE)
            assert found == []
            may_go_on.set()

    assert found


def test_a_search_that_comes_too_early_says_how_many_tools_it_has_not_searched() -> None:
    class Paused(IndexedSearch):
        """Its background work waits until the test says so."""

        def _work(self) -> None:
            assert may_work.wait(PATIENCE)
            super()._work()

    may_work = threading.Event()
    registry = ToolRegistry(search=Paused(longest_wait=0.0))
    for number in range(200):
        registry.register(numbered(number), _PROVEN)

    early = registry.search("archive thing5")
    may_work.set()
    in_time = IndexedSearch(longest_wait=PATIENCE)
    for entry in registry.list():
        in_time.put(entry)

    assert 0 < early.not_indexed < 200
    assert in_time.find("archive thing5", None).not_indexed == 0


def test_what_is_prepared_is_indexed_in_the_background() -> None:
    search = IndexedSearch(longest_wait=PATIENCE)
    registry = ToolRegistry(search=search)
    registry.register(numbered(5), _PROVEN)

    anyio.run(registry.prepare_search)
    worker = search._worker
    if worker is not None:
        worker.join(PATIENCE)

    assert len(search._index) == 1
