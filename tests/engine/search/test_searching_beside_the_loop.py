"""A search indexes thousands of tools and embeds queries while everybody else is served."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
import numpy as np
import pytest
from numpy.typing import NDArray

from dogubako import SchemaTool, ToolContext
from dogubako.engine.entry import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.meanings import Meanings
from dogubako.engine.search.semantic_search import SemanticSearch
from dogubako.engine.search.vector_store import VectorStore
from tests.heartbeat import MOST_SECONDS, Heartbeat, frozen_heap

TOOLS: Final = 10_000
PATIENCE: Final = 30.0
_VERBS: Final = ("create", "list", "delete", "update", "export", "archive", "search", "measure")
_PROVEN: Final = RegisterOptions(pack="other", proven=True)


async def _act(args: Mapping[str, Any], _: ToolContext[Any]) -> Any:
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
async def test_the_first_search_of_ten_thousand_tools_keeps_nobody_waiting() -> None:
    registry = registry_of(TOOLS)

    with frozen_heap(), Heartbeat() as heart:
        await anyio.sleep(0.03)
        heart.take()
        found = await registry.find("archive thing7 of a warehouse")
        first, heart.worst = heart.take(), 0.0
        again = await registry.find("export thing9", may_see=lambda entry: True)
        second = heart.take()

    assert found[0].entry.name.startswith("archive_thing7")
    assert again[0].entry.name.startswith("export_thing9")
    assert first <= MOST_SECONDS, f"the event loop stood still for {first * 1000:.0f} ms"
    assert second <= MOST_SECONDS, f"the event loop stood still for {second * 1000:.0f} ms"


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


class Slow:
    """A model that takes as long as a test likes."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.asked = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.set()
        assert self.may_go_on.wait(PATIENCE)
        return np.full((len(texts), 4), 0.5, np.float32)


async def test_others_are_served_while_a_query_is_embedded(tmp_path: Path) -> None:
    model = Slow()
    meanings = Meanings(lambda: model, VectorStore(tmp_path / "vectors.db", "slow"))
    registry = ToolRegistry(search=SemanticSearch(meanings))
    for number in range(3):
        registry.register(numbered(number), _PROVEN)
    await registry.find("anything")
    meanings.wait(PATIENCE)
    model.may_go_on.clear()
    model.asked.clear()
    found: list[Any] = []

    async def search() -> None:
        found.extend(await registry.find("archive something"))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(search)
            assert await anyio.to_thread.run_sync(model.asked.wait, PATIENCE)
            assert found == []
            model.may_go_on.set()

    assert found
