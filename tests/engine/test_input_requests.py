"""Questions of tools in the form of MCP, and answers that fit them or do not."""

import math
from typing import Any

import pytest

from dogubako.contract.conversation import (
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequest,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.errors import AnswerTooLargeError, ApiError
from dogubako.contract.redaction import Redactor
from dogubako.engine.conversations import RedactedConversation, presentable_requests
from dogubako.engine.input_requests import question_digest, read_answer, written_answer, written_requests
from dogubako.response.builder import ToolResponseBuilder

FORM = ElicitRequest(message="Who?", schema={"type": "object", "required": ["name"]})
PAGE = UrlRequest(message="Sign in", url="https://login.example.com/")
PROMPT = SampleRequest(prompt="Write a poem", system="You are a poet.", max_tokens=9)
FOLDERS = RootsRequest()
RESPONSES = ToolResponseBuilder(redactor=Redactor(["s3cret-of-ours"]), max_tokens=500)


def test_every_kind_of_question_is_written_with_its_method() -> None:
    written = written_requests({"form": FORM, "page": PAGE, "prompt": PROMPT, "folders": FOLDERS})
    short = written_requests({"prompt": SampleRequest(prompt="x")})["prompt"]["params"]

    methods = {key: one["method"] for key, one in written.items()}
    assert methods == {
        "form": "elicitation/create",
        "page": "elicitation/create",
        "prompt": "sampling/createMessage",
        "folders": "roots/list",
    }
    assert written["form"]["params"]["requestedSchema"] == FORM.schema
    assert written["page"]["params"] == {"mode": "url", "message": "Sign in", "url": PAGE.url}
    assert written["prompt"]["params"]["systemPrompt"] == "You are a poet." and written["folders"]["params"] == {}
    assert "systemPrompt" not in short


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param(FORM, ElicitResult(action="accept", content={"name": "Ann"}), id="a form that was filled in"),
        pytest.param(FORM, ElicitResult(action="decline", content={}), id="a form that was declined"),
        pytest.param(PAGE, ElicitResult(action="accept", content={}), id="a page that was opened"),
        pytest.param(PROMPT, Sample(text="Roses", model="m"), id="a text of the model"),
        pytest.param(FOLDERS, (Root(uri="file:///a", name="a"), Root(uri="file:///b")), id="folders"),
    ],
)
def test_an_answer_is_read_as_it_was_written(question: InputRequest, answer: InputAnswer) -> None:
    assert read_answer(question, written_answer(answer, question)) == answer


@pytest.mark.parametrize(
    ("question", "raw"),
    [
        pytest.param(FORM, "yes", id="a text"),
        pytest.param(FORM, {"action": "maybe"}, id="an action that nobody knows"),
        pytest.param(FORM, {"action": "accept", "content": {"other": 1}}, id="a form without what it needs"),
        pytest.param(PAGE, {"action": 1}, id="a page without an action"),
        pytest.param(PROMPT, {"content": {"type": "image"}}, id="a picture instead of a text"),
        pytest.param(PROMPT, {}, id="no text at all"),
        pytest.param(FOLDERS, {"roots": [{"name": "no address"}]}, id="a folder without an address"),
        pytest.param(FOLDERS, {"roots": "all"}, id="no list of folders"),
    ],
)
def test_an_answer_that_does_not_fit_is_none(question: InputRequest, raw: Any) -> None:
    assert read_answer(question, raw) is None


def test_several_blocks_of_a_model_are_one_text() -> None:
    raw = {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "model": "m"}

    assert read_answer(PROMPT, raw) == Sample(text="a\nb", model="m")


def test_questions_are_known_by_what_they_show_and_by_their_key() -> None:
    digests = {question_digest(key, one) for key in ("a", "b") for one in (FORM, PAGE, PROMPT, FOLDERS)}

    assert len(digests) == 8
    assert question_digest("a", FORM) == question_digest("a", ElicitRequest(message="Who?", schema=dict(FORM.schema)))


async def test_questions_are_shown_without_secrets_and_within_the_budget() -> None:
    asked: dict[str, InputRequest] = {
        "form": ElicitRequest(message="s3cret-of-ours", schema={"title": "s3cret-of-ours"}),
        "page": UrlRequest(message="s3cret-of-ours", url=PAGE.url),
        "prompt": SampleRequest(prompt="s3cret-of-ours " * 9_000, system="s3cret-of-ours"),
        "plain": SampleRequest(prompt="x"),
        "folders": FOLDERS,
    }
    shown = await presentable_requests(asked, RESPONSES)

    assert "s3cret-of-ours" not in str(shown) and shown["folders"] is FOLDERS
    assert isinstance(shown["prompt"], SampleRequest) and len(shown["prompt"].prompt) < 10_000
    assert isinstance(shown["plain"], SampleRequest) and shown["plain"].system is None


@pytest.mark.parametrize(
    ("question", "error"),
    [
        pytest.param(ElicitRequest(message="?", schema={"title": "x y " * 9_000}), AnswerTooLargeError, id="long form"),
        pytest.param(
            ElicitRequest(message="?", schema={"enum": [*range(99_999)]}), AnswerTooLargeError, id="many values"
        ),
        pytest.param(UrlRequest(message="?", url="https://a.b/" + "x" * 9999), AnswerTooLargeError, id="long address"),
        pytest.param(UrlRequest(message="?", url="https://a.b/s3cret-of-ours"), ApiError, id="secret in the address"),
    ],
)
async def test_questions_that_cannot_be_shown_are_refused(question: InputRequest, error: type[Exception]) -> None:
    with pytest.raises(error):
        await presentable_requests({"it": question}, RESPONSES)


class Heard:
    """A conversation that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def supports(self, capability: str) -> bool:
        return capability == "sampling"

    async def progress(self, *said: Any) -> None:
        self.said.append(said)

    async def log(self, *said: Any) -> None:
        self.said.append(said)

    async def request(self, requests: Any) -> Any:
        return requests


async def test_progress_that_is_no_number_is_left_out() -> None:
    heard: Any = Heard()
    conversation = RedactedConversation(heard, RESPONSES)
    for done, total in ((math.nan, None), (1.0, math.inf), (1.0, None), (1.0, 2.0)):
        await conversation.progress(done, total, None)
    await conversation.progress(2.0, 2.0, "s3cret-of-ours")
    await conversation.log("info", "s3cret-of-ours")

    assert [said[:2] for said in heard.said[:3]] == [(1.0, None), (1.0, 2.0), (2.0, 2.0)]
    assert "s3cret-of-ours" not in str(heard.said) and conversation.supports("sampling")
