"""A large answer of a tool that must not run twice is kept, so that its caller can read on."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Blocks, parse_call
from dogubako.gateway import kept_answers
from dogubako.gateway.kept_answers import KeptAnswers, key_of

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


def test_the_oldest_answers_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MOST_BYTES", 25_000)
    kept = KeptAnswers()
    for number in range(3):
        kept.keep(key_of("me", "report", {"n": number}), Blocks(content=[{"type": "text", "text": "x" * 10_000}]))

    with pytest.raises(NotFoundError, match="no longer kept"):
        kept.read(key_of("me", "report", {"n": 0}))
    assert kept.read(key_of("me", "report", {"n": 2})).content


def test_an_answer_is_kept_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "KEPT_SECONDS", -1.0)
    kept = KeptAnswers()
    kept.keep(key_of("me", "report", {}), Blocks(content=[{"type": "text", "text": "x" * 10_000}]))

    with pytest.raises(NotFoundError):
        kept.read(key_of("me", "report", {}))
