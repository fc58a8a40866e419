"""While a person thinks about a destruction: it takes a place, it does not last for ever, and the rules still hold."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.conversation import ElicitResult, InputAnswer, InputRequests, NullConversation
from dogubako.tools import ToolResult
from tests.doors.loop_clock import LoopClock
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until

from .sheds import log_in, recorded_in, shed_in

ANN, BOB = (Caller(name=name, scopes=frozenset({"admin"})) for name in ("ann", "bob"))


class Thinker(NullConversation):
    """A person who can be asked, and says yes when told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.decided = anyio.Event()

    def supports(self, capability: str) -> bool:
        return capability == "elicitation"

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.asked += 1
        await self.decided.wait()
        return {key: ElicitResult(action="accept", content={"confirm": True}) for key in requests}


class Wiping:
    """A call that waits for its person."""

    def __init__(self, box: Toolbox, marker: Path) -> None:
        self.box, self.marker, self.person = box, marker, Thinker()
        self.results: list[ToolResult] = []

    async def run(self) -> None:
        self.results.append(await self.ask("wipe", marker=str(self.marker)))

    async def ask(self, name: str, caller: Caller = ANN, **parameters: Any) -> ToolResult:
        call = ToolCall(name=name, parameters=parameters, caller=caller, conversation=self.person)
        return await self.box.pipeline.handle(call)

    @property
    def outcome(self) -> tuple[str, str]:
        [result] = self.results
        return result.code, result.content[0]["text"]


@asynccontextmanager
async def wiping(folder: Path, **settings: Any) -> AsyncIterator[Wiping]:
    """Inside, the question has been asked; at the end the call has ended."""
    async with shed_in(folder, auth="keys", caller_concurrency=1, **settings).running() as box:
        wipe = Wiping(box, folder / "marker")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wipe.run)
            await until(lambda: wipe.person.asked == 1, "the person is asked")
            yield wipe


async def test_a_question_takes_the_place_of_its_caller(tmp_path: Path) -> None:
    async with wiping(tmp_path) as wipe:
        mine, of_others = await wipe.ask("look"), await wipe.ask("look", BOB)
        with anyio.fail_after(PATIENCE):
            second = await wipe.ask("wipe", marker="other")
        wipe.person.decided.set()
        await until(lambda: bool(wipe.results), "the call ends")
        later = await wipe.ask("look")

    assert (mine.code, of_others.code, later.code) == ("BUSY", "OK", "OK")
    # Who has no place is not even asked.
    assert (second.code, wipe.person.asked) == ("BUSY", 1)
    assert wipe.outcome == ("OK", "empty") and wipe.marker.read_text() == "wiped"


async def test_nobody_is_waited_for_longer_than_ten_minutes(tmp_path: Path, loop_clock: LoopClock) -> None:
    async with wiping(tmp_path) as wipe:
        # What is left of the ten minutes is for a slow machine.
        await loop_clock.passes(570)
        waited = not wipe.results
        loop_clock.ahead += 31
        await until(lambda: bool(wipe.results), "the call ends by itself")
        later = await wipe.ask("look")

    assert waited and wipe.outcome == (
        "CONFIRMATION_REQUIRED",
        "Nobody answered within 10 minutes; nothing was done.",
    )
    assert wipe.results[0].content[1]["text"] == "Call again when the user is there."
    assert (later.code, wipe.marker.exists()) == ("OK", False)
    assert [(line["tool"], line["code"]) for line in recorded_in(tmp_path)] == [
        ("wipe", "CONFIRMATION_REQUIRED"),
        ("look", "OK"),
    ]


async def test_a_tool_that_was_switched_off_meanwhile_does_not_run(tmp_path: Path) -> None:
    async with wiping(tmp_path) as wipe:
        wipe.box.registry.disable("wipe")
        wipe.person.decided.set()

    assert wipe.outcome == ("TOOL_DISABLED", "Tool is disabled: wipe")
    assert not wipe.marker.exists()
    assert [line["code"] for line in recorded_in(tmp_path)] == ["TOOL_DISABLED"]


async def test_what_can_no_longer_be_recorded_does_not_run(tmp_path: Path) -> None:
    async with wiping(tmp_path) as wipe:
        log_in(tmp_path).unlink(missing_ok=True)
        log_in(tmp_path).mkdir()
        wipe.person.decided.set()
        await until(lambda: bool(wipe.results), "the call ends")
        log_in(tmp_path).rmdir()

    assert wipe.outcome == (
        "READ_ONLY",
        "The audit log cannot be written, so nothing may be changed: wipe was not run.",
    )
    assert not wipe.marker.exists()
    assert [line["code"] for line in recorded_in(tmp_path)] == ["READ_ONLY"]


async def test_a_client_that_leaves_while_its_person_thinks_gives_its_place_back(tmp_path: Path) -> None:
    async with shed_in(tmp_path, auth="keys", caller_concurrency=1).running() as box:
        wipe = Wiping(box, tmp_path / "marker")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wipe.run)
            await until(lambda: wipe.person.asked == 1, "the person is asked")
            tasks.cancel_scope.cancel()
        later = await wipe.ask("look")

    assert (later.code, wipe.results, wipe.marker.exists()) == ("OK", [], False)
    assert [(line["tool"], line["code"]) for line in recorded_in(tmp_path)] == [("wipe", "CANCELLED"), ("look", "OK")]


@pytest.mark.parametrize("name", ["look", "put"])
async def test_nobody_is_asked_about_what_destroys_nothing(tmp_path: Path, name: str) -> None:
    async with shed_in(tmp_path, auth="keys").running() as box:
        wipe = Wiping(box, tmp_path / "marker")
        result = await wipe.ask(name, text="a")

    assert (result.code, wipe.person.asked) == ("OK", 0)
