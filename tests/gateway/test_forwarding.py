"""What a call at a server says and how it ends is the same when another process runs the server."""

from collections.abc import Mapping
from typing import Any

import pytest

from dogubako.contract.conversation import (
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequests,
    InputRequired,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.errors import ApiError, CapabilityRequiredError, CredentialRequiredError
from dogubako.gateway.forwarding import RemoteConversation, opened, outcome, said_to
from dogubako.gateway.link import AnswerTooLong, SignInRequired, UpstreamError, UpstreamLost, WrongConfiguration
from dogubako.gateway.messages import decoded, encoded

ASKED: InputRequests = {
    "form": ElicitRequest(message="Name?", schema={"type": "object"}, subject="x"),
    "page": UrlRequest(message="Open it?", url="https://example.com"),
    "model": SampleRequest(prompt="Write.", max_tokens=7, system="briefly"),
    "folders": RootsRequest(),
}
ANSWERED: Mapping[str, InputAnswer] = {
    "form": ElicitResult(action="accept", content={"name": "Ann"}),
    "page": ElicitResult(action="decline", content={}),
    "model": Sample(text="Text", model="m"),
    "folders": (Root(uri="file:///a", name="a"), Root(uri="file:///b")),
}


class Client:
    """A conversation that notes what was said, and answers or refuses."""

    def __init__(self, refuses: Exception | None = None) -> None:
        self.said: list[Any] = []
        self._refuses = refuses

    def supports(self, capability: str) -> bool:
        return True

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.said.append((done, total, message))

    async def log(self, level: str, message: str) -> None:
        self.said.append((level, message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.said.append(requests)
        if self._refuses is not None:
            raise self._refuses
        return ANSWERED


def _remote(client: Client) -> RemoteConversation:
    """The conversation as the process of the server has it: everything passes as JSON."""

    async def tell(message: dict[str, Any]) -> dict[str, Any]:
        reply = await said_to(client, decoded(encoded(message)))
        return dict(decoded(encoded(reply)))

    return RemoteConversation(["elicitation"], tell)


async def test_progress_log_lines_questions_and_answers_arrive() -> None:
    client = Client()
    remote = _remote(client)
    await remote.progress(1, 2, "half")
    await remote.log("error", "loud")
    answers = await remote.request(ASKED)

    assert client.said == [(1, 2, "half"), ("error", "loud"), ASKED]
    assert answers == ANSWERED
    assert remote.supports("elicitation") and not remote.supports("roots")


async def test_a_client_that_calls_again_with_answers_is_asked_to() -> None:
    with pytest.raises(InputRequired) as needed:
        await _remote(Client(InputRequired(ASKED))).request(ASKED)

    assert needed.value.requests == ASKED


@pytest.mark.parametrize(
    "error",
    [
        UpstreamError(-32602, "wrong", {"a": 2**70}),
        AnswerTooLong("too long"),
        UpstreamLost("gone", may_have_run=False),
        UpstreamLost("gone", may_have_run=True),
        SignInRequired("Bearer"),
        WrongConfiguration("no such program"),
        CapabilityRequiredError("sampling", hint="Use another client."),
        ApiError("The server is not available", unreachable=True, hint="Try again."),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_failure_is_the_same_in_the_process_that_got_the_call(error: Exception) -> None:
    async def fail() -> dict[str, Any]:
        raise error

    with pytest.raises(type(error)) as raised:
        opened(decoded(encoded(await outcome(fail()))))

    shown = {key: value for key, value in vars(error).items() if key not in ("context", "args")}
    assert {key: value for key, value in vars(raised.value).items() if key in shown} == shown


async def test_a_missing_sign_in_is_told() -> None:
    async def fail() -> dict[str, Any]:
        raise CredentialRequiredError("Somebody has to sign in.")

    with pytest.raises(SignInRequired):
        opened(await outcome(fail()))


def test_a_reply_that_nobody_understands_may_have_run() -> None:
    with pytest.raises(UpstreamLost) as lost:
        opened({"moved": True})

    assert lost.value.may_have_run
