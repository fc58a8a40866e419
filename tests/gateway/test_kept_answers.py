"""A large answer of a tool that must not run twice is kept, so that its caller can read on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Blocks, parse_call
from dogubako.gateway import kept_answers
from dogubako.gateway.kept_answers import KeptAnswers, key_of
from tests.shared_redis import MemoryStore

from .boxes import Fleet, ScriptedUpstream, eventually, offering, tool

LINES = [f"line {number} of the report" for number in range(5_000)]


class LongAnswers(ScriptedUpstream):
    async def call_tool(self, name: str, arguments: Any, context: Any, *, idempotent: bool) -> Blocks:
        await super().call_tool(name, arguments, context, idempotent=idempotent)
        return Blocks(content=[{"type": "text", "text": "\n".join(LINES)}])


class LongFleet(Fleet):
    def connect(self, name: str, settings: Any, **callbacks: Any) -> ScriptedUpstream:
        callbacks.pop("sign_ins", None)
        self.upstreams.append(LongAnswers(name, settings, fleet=self, **callbacks))
        return self.upstreams[-1]


@pytest.mark.parametrize("effect", ["write", "destroy"])
async def test_the_rest_of_an_answer_is_read_without_a_second_run(effect: str, tmp_path: Path) -> None:
    fleet = LongFleet(lists={"one": offering(tool("report"))})
    table = {"pinning": "off", "effects": {"report": effect}}
    box = fleet.box(tmp_path, {"one": table}, max_response_tokens=8_000)
    arguments = {"confirm": True} if effect == "destroy" else {}
    async with box.running():
        await eventually(lambda: "report" in box.servers.packs["one"].served)
        seen, call = "", ToolCall(name="report", parameters=arguments)
        for _ in range(50):
            result = await box.pipeline.handle(call)
            assert not result.is_error, result.text
            seen += result.text
            if "read_more(" not in result.text:
                break
            name, rest = parse_call(result.text[result.text.rindex("read_more(") :].split("]")[0].rstrip(". "))
            call = ToolCall(name=name, parameters=rest)

    assert [line for line in LINES if line not in seen] == []
    assert len(fleet.calls) == 1


async def test_nobody_else_reads_a_kept_answer(tmp_path: Path) -> None:
    fleet = LongFleet(lists={"one": offering(tool("report"))})
    box = fleet.box(tmp_path, {"one": {"pinning": "off"}}, max_response_tokens=8_000)
    rest = {"tool": "report", "arguments": {}, "offset": 100}
    somebody = Caller(name="somebody", id="7", scopes=frozenset({"admin"}))
    async with box.running():
        await eventually(lambda: "report" in box.servers.packs["one"].served)
        await box.pipeline.handle(ToolCall(name="report"))
        result = await box.pipeline.handle(ToolCall(name="read_more", parameters=rest, caller=somebody))

    assert result.code == "NOT_FOUND"
    assert len(fleet.calls) == 1


REPORT = Blocks(content=[{"type": "text", "text": "x" * 10_000}], structured={"a": 1})


def test_the_oldest_answers_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MOST_BYTES", 25_000)
    kept = KeptAnswers()
    for number in range(3):
        kept.keep(key_of("me", "report", {"n": number}), REPORT, 10_000)

    assert [kept.read(key_of("me", "report", {"n": number})) for number in range(3)] == [None, REPORT, REPORT]


def test_an_answer_is_kept_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "KEPT_SECONDS", -1.0)
    kept = KeptAnswers()
    kept.keep(key_of("me", "report", {}), REPORT, 10_000)

    assert kept.read(key_of("me", "report", {})) is None


@pytest.fixture
def other_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forget what this process knows, as another one would not know it."""

    def become() -> None:
        monkeypatch.setattr(kept_answers, "_IN_THIS_PROCESS", KeptAnswers())
        monkeypatch.setattr(kept_answers, "_HERE", b"in another")

    return become


async def test_another_process_reads_on(other_process: Callable[[], None]) -> None:
    store, key = MemoryStore(), key_of("me", "report", {})
    await kept_answers.keep(key, REPORT, store)
    other_process()

    assert await kept_answers.read(key, store) == REPORT
    with pytest.raises(NotFoundError, match="no longer kept"):
        await kept_answers.read(key_of("somebody", "report", {}), store)


async def test_the_last_answer_counts_whoever_got_it(
    other_process: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = MemoryStore(), key_of("me", "report", {})
    store.away = True
    await kept_answers.keep(key, REPORT, store)
    store.away = False
    here = kept_answers._IN_THIS_PROCESS
    newer = Blocks(content=[{"type": "text", "text": "y" * 10_000}])
    other_process()
    await kept_answers.keep(key, newer, store)
    monkeypatch.setattr(kept_answers, "_IN_THIS_PROCESS", here)

    assert await kept_answers.read(key, store) == newer


async def test_a_huge_answer_stays_in_its_process(
    other_process: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_answers, "_MOST_SHARED_BYTES", 9_000)
    store, key = MemoryStore(), key_of("me", "report", {})
    await kept_answers.keep(key, REPORT, store)
    assert await kept_answers.read(key, store) == REPORT
    other_process()

    with pytest.raises(NotFoundError):
        await kept_answers.read(key, store)


async def test_while_the_store_is_away_an_answer_is_kept_in_its_process() -> None:
    store, key = MemoryStore(), key_of("me", "report", {"away": True})
    store.away = True
    await kept_answers.keep(key, REPORT, store)

    assert await kept_answers.read(key, store) == REPORT


async def test_a_small_answer_replaces_a_large_one() -> None:
    key = key_of("me", "report", {"small": True})
    await kept_answers.keep(key, REPORT, None)
    await kept_answers.keep(key, Blocks(content=[{"type": "text", "text": "x"}]), None)

    with pytest.raises(NotFoundError):
        await kept_answers.read(key, None)
