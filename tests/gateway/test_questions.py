"""Questions, progress, logs and cancellation in all four combinations of protocol eras."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.call import Caller
from dogubako.contract.conversation import ElicitRequest, ElicitResult, InputRequired
from dogubako.contract.errors import ApiError, CapabilityRequiredError
from dogubako.gateway import questions
from dogubako.gateway.link import UpstreamError
from dogubako.gateway.pending_requests import PendingRequest
from dogubako.gateway.results import failure_of
from dogubako.gateway.session import UpstreamSession

from .upstreams import FakeClient, Running, answer_to, client, fake, running, until

pytestmark = pytest.mark.slow

ANSWERS = {
    "ask": {"action": "accept", "content": {"name": "Aiko"}},
    "sample": {
        "role": "assistant",
        "content": {"type": "text", "text": "Hello!"},
        "model": "a-model",
        "stopReason": "endTurn",
    },
    "folders": {"roots": [{"uri": "file:///work", "name": "work"}]},
    "page": {"action": "accept"},
}


@pytest.fixture(params=["legacy", "modern"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    """A server of each era."""
    async with running(fake(request.param), tmp_path) as found:
        yield found


async def asked_by(server: Running, tool: str, conversation: FakeClient, **arguments: Any) -> InputRequired:
    with pytest.raises(InputRequired) as raised:
        await server.call(tool, client(conversation), **arguments)
    return raised.value


def answered(needed: InputRequired) -> FakeClient:
    answers = {key: answer_to(one) for key, one in needed.requests.items()}
    return FakeClient(modern=True, answers=answers, questions=needed.requests)


@pytest.mark.parametrize("tool", ANSWERS)
async def test_a_client_that_can_be_asked_answers_during_the_call(server: Running, tool: str) -> None:
    conversation = FakeClient()

    assert json.loads(await server.call(tool, client(conversation))) == ANSWERS[tool]
    assert len(conversation.asked) == 1


@pytest.mark.parametrize("tool", ANSWERS)
async def test_a_client_that_calls_again_continues_the_call(server: Running, tool: str) -> None:
    needed = await asked_by(server, tool, FakeClient(modern=True))
    second = await server.call(tool, client(answered(needed)))

    assert json.loads(second) == ANSWERS[tool]
    # A server of the older era still works on the first call; one of the newer era is asked again by design.
    assert server.marked(f"call {tool}") == (1 if server.definitions[0].protocol == "2025-11-25" else 2)


async def test_progress_reaches_the_client(server: Running) -> None:
    conversation = FakeClient()

    assert await server.call("steps", client(conversation)) == "stepped"
    assert conversation.progressed[-1] == (3.0, 3.0, "step 3")


async def test_log_lines_reach_the_client(server: Running) -> None:
    conversation = FakeClient()
    await server.call("speak", client(conversation))

    assert conversation.logged == [("warning", "a line")]


async def test_a_cancelled_call_is_cancelled_at_the_server(server: Running) -> None:
    call = asyncio.create_task(server.call("wait"))
    await until(lambda: server.marked("waiting") == 1)
    call.cancel()

    await until(lambda: server.marked("cancelled") == 1)
    assert await server.call("echo", text="next") == "next"


async def test_a_question_that_the_client_cannot_answer_is_our_error(server: Running) -> None:
    with pytest.raises(CapabilityRequiredError, match="needs a client that supports elicitation"):
        await server.call("ask", client(FakeClient(capabilities=frozenset())))


async def test_two_equal_calls_at_once_get_their_own_answers(server: Running) -> None:
    first = await asked_by(server, "ask", FakeClient(modern=True))
    second = await asked_by(server, "ask", FakeClient(modern=True))
    declined = {key: ElicitResult(action="decline", content={}) for key in second.requests}
    other = FakeClient(modern=True, answers=declined, questions=second.requests)

    assert json.loads(await server.call("ask", client(other))) == {"action": "decline"}
    assert json.loads(await server.call("ask", client(answered(first)))) == ANSWERS["ask"]


async def test_an_answer_to_another_tool_or_of_another_caller_continues_nothing(server: Running) -> None:
    needed = await asked_by(server, "ask", FakeClient(modern=True), text="one")
    somebody = Caller(name="somebody", id="42")

    with pytest.raises(InputRequired):
        await server.call("ask", client(answered(needed), somebody), text="one")
    with pytest.raises(InputRequired):
        await server.call("ask", client(answered(needed)), text="two")
    assert json.loads(await server.call("ask", client(answered(needed)), text="one")) == ANSWERS["ask"]


async def test_a_client_that_can_be_asked_never_hears_the_question_of_a_parked_call(server: Running) -> None:
    await asked_by(server, "ask", FakeClient(modern=True))
    conversation = FakeClient()
    await server.call("ask", client(conversation))

    assert [type(one) for one in conversation.asked] == [ElicitRequest]


async def test_the_oldest_parked_call_gives_way(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "MOST_PARKED_PER_CALLER", 2)
    first, second, third = [await asked_by(server, "ask", FakeClient(modern=True)) for _ in range(3)]

    with pytest.raises(InputRequired):
        await server.call("ask", client(answered(first)))
    # That call was parked as well, and the second one gave way to it.
    with pytest.raises(InputRequired):
        await server.call("ask", client(answered(second)))
    assert third.requests


async def test_a_parked_call_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "PARKED_SECONDS", 0.05)
    async with running(fake("legacy"), tmp_path) as server:
        await asked_by(server, "ask", FakeClient(modern=True))

        await until(lambda: server.marked("cancelled") == 1)


async def test_a_parked_call_whose_server_died_is_not_repeated(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        needed = await asked_by(server, "ask", FakeClient(modern=True))
        with pytest.raises(ApiError):
            await server.call("die")
        with pytest.raises(ApiError, match="was lost"):
            await server.call("ask", client(answered(needed)))

        assert server.marked("call ask") == 1


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (
            {"elicitations": [{"mode": "url", "url": "https://pay.example/1"}]},
            "Have the user open https://pay.example/1",
        ),
        ({"elicitations": [{"mode": "url", "url": "file:///etc/passwd"}]}, None),
        ({"elicitations": "odd"}, None),
        (None, None),
    ],
    ids=["a page", "no web page", "no list", "nothing"],
)
def test_a_page_that_a_server_wants_opened_first_is_named(data: Any, hint: str | None) -> None:
    error = failure_of(UpstreamError(-32042, "Please pay.", data)).in_our_words("shop")

    assert "Please pay." in error.message
    assert (error.hint or "").startswith(hint or "")
    assert "file:" not in (error.hint or "")


class NoEvents:
    def list_changed(self) -> None: ...
    def resource_updated(self, uri: str) -> None: ...
    def connection_lost(self, reason: str) -> None: ...


class RecordingLink:
    """A link that only remembers what was sent."""

    may_be_silent = True
    diagnostics = ""
    noise_lines = 0

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def open(self, receiver: Any) -> None: ...

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    def cancel(self, request: int | str) -> bool:
        return False

    def use(self, version: str) -> None: ...

    def learn(self, tools: Any) -> dict[str, str]:
        return {}

    async def close(self) -> None: ...


async def started(session: UpstreamSession, owner: str) -> PendingRequest:
    return await session.start("tools/call", {"name": "x", "arguments": {}}, owner=owner)


ASK = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}


async def test_nobody_is_asked_a_question_that_may_belong_to_somebody_elses_call() -> None:
    link = RecordingLink()
    session = UpstreamSession(link, NoEvents())
    await started(session, "aiko")
    await started(session, "ben")
    session.received(ASK, None)
    await asyncio.sleep(0)

    assert link.sent[-1]["id"] == "q"
    assert "belongs to" in link.sent[-1]["error"]["message"]


async def test_a_call_that_waits_for_an_answer_is_not_the_one_that_asks() -> None:
    session = UpstreamSession(RecordingLink(), NoEvents())
    first = await started(session, "aiko")
    session.received(ASK, None)
    second = await started(session, "ben")
    session.received({**ASK, "id": "q2"}, None)

    assert (first.open_questions, second.open_questions) == ({"q"}, {"q2"})


async def test_a_question_in_the_stream_of_a_call_belongs_to_that_call() -> None:
    session = UpstreamSession(RecordingLink(), NoEvents())
    first = await started(session, "aiko")
    await started(session, "ben")
    session.received(ASK, first.id)

    assert first.open_questions == {"q"}
