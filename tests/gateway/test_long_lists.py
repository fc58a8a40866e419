"""Lists that are very long, and tools that nobody could use: they cost the other tools nothing, nor the event loop."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.call import ToolCall
from dogubako.gateway import pack as pack_module
from dogubako.gateway.definitions import Definitions

from .boxes import Fleet, eventually, offering


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object", **schema}}


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}}
    return inner


async def test_a_tool_that_is_too_deep_or_too_large_costs_no_other_one(tmp_path: Path) -> None:
    deep = tool("deep", properties={"a": nested(400)})
    large = tool("large", properties={f"p{number}": {} for number in range(20_000)})
    wordy = {**tool("wordy"), "description": "x" * 5_000_000}
    box = Fleet(lists={"one": offering(deep, large, wordy, tool("good"))}).box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        pack = box.servers.packs["one"]
        await eventually(lambda: bool(pack.served))

        assert list(pack.served) == ["good"]
        assert pack.faults == [
            "Tool 1 (deep) is nested too deeply.",
            "Tool 2 (large) is too large.",
            "Tool 3 (wordy) is too large.",
        ]


async def test_a_very_long_list_is_served_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every step takes longer than a slice.
    monkeypatch.setattr(pack_module, "_SLICE_SECONDS", 0.0)
    many = [tool(f"act_{number}", properties={"a": {"type": "string"}}) for number in range(2_000)]
    box = Fleet(lists={"one": offering(*many)}).box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        pack = box.servers.packs["one"]
        seen = set()
        states = set()
        while len(pack.served) < len(many):
            seen.add(len(pack.served))
            states.add(pack.state.name)
            await asyncio.sleep(0)

        # Others had their turn between two tools, again and again.
        assert len(seen) > 1_000
        await eventually(lambda: pack._refreshing is not None and pack._refreshing.done())
        # Whoever waits until it is ready finds its tools.
        assert "ready" not in states and pack.state.name == "ready"
        assert not (await box.pipeline.handle(ToolCall(name="act_1999"))).is_error


async def test_of_two_long_lists_the_second_one_counts(tmp_path: Path) -> None:
    first = [tool(f"first_{number}", properties={"a": {}, "b": {}}) for number in range(2_000)]
    second = [tool(f"second_{number}", properties={"a": {}, "b": {}}) for number in range(2_000)]
    box = Fleet(lists={"one": offering(*first)}).box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        pack = box.servers.packs["one"]
        await eventually(lambda: len(pack.served) > 10)
        pack.refresh(offering(*second))
        await eventually(lambda: pack._refreshing is not None and pack._refreshing.done())

        assert set(pack.served) == {one["name"] for one in second}


def test_instructions_without_an_end_are_cut() -> None:
    assert len(Definitions.of(instructions="Obey. " * 500_000).instructions) == 20_000
