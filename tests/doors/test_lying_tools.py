"""Whatever a tool returns: its answer is valid, fits the budget and holds no secret, at every door."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
import mcp_types
import pytest

from dogubako.response.tokens import count_tokens

from . import messages
from .answers import Answer
from .lying_tools import LIES
from .pipe import Pipe, speaking
from .processes import HERE, PATIENCE, serving
from .speakers import Kind, OverHttp, OverRest, OverStdio, Speaker

_LYING = HERE / "lying_tools.py"
_SECRET = "n8n-key-4711-nobody-may-see"
_SETTINGS = {"N8N_API_KEY": _SECRET, "N8N_URL": "http://127.0.0.1:9"}
_DOORS: tuple[Kind, ...] = ("http-2026", "stdio-2026")
_OTHER_DOORS: tuple[Kind, ...] = ("rest", "http-2025", "stdio-2025")
_WAYS = ("lie", "lie_by_handler", "lie_by_change", "lie_by_schema", "lie_by_call")
_BUDGET = 25_000


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with (
        serving(_LYING, folder=tmp_path_factory.mktemp("serve"), settings=_SETTINGS) as server,
        httpx2.Client(base_url=server.url(), timeout=PATIENCE) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def old_pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(_LYING, folder=tmp_path_factory.mktemp("stdio-2025"), settings=_SETTINGS) as pipe:
        pipe.open()
        yield pipe


@pytest.fixture(scope="module")
def new_pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    folder = tmp_path_factory.mktemp("stdio-2026")
    with speaking(_LYING, folder=folder, modern=True, settings=_SETTINGS) as pipe:
        yield pipe


@pytest.fixture(
    scope="module", params=[*_DOORS, *(pytest.param(door, marks=pytest.mark.slow) for door in _OTHER_DOORS)]
)
def lying_door(request: pytest.FixtureRequest) -> Speaker:
    kind: Kind = request.param
    if kind.startswith("stdio"):
        return OverStdio(kind, request.getfixturevalue("old_pipe" if kind == "stdio-2025" else "new_pipe"))
    client = request.getfixturevalue("web")
    return OverRest(client) if kind == "rest" else OverHttp(kind, client)


def cost(answer: Answer) -> int:
    """What an agent pays for all that it is shown."""
    texts = [block["text"] if block.get("type") == "text" else json.dumps(block) for block in answer.content]
    return sum(map(count_tokens, texts)) + count_tokens(json.dumps(answer.facts))


def kept(answer: Answer) -> None:
    """The three promises, of an answer as it came."""
    assert answer.content
    assert cost(answer) <= _BUDGET
    assert _SECRET not in repr(answer)
    blocks = [block for block in answer.content if "json" not in block]
    mcp_types.CallToolResult.model_validate({"content": blocks, "isError": answer.is_error})


def _each(lies: Iterable[str]) -> list[Any]:
    """The large ones take seconds each."""
    return [pytest.param(how, marks=pytest.mark.slow if "100,000" in how or "million" in how else ()) for how in lies]


@pytest.mark.parametrize("how", _each(LIES))
def test_a_hand_made_result_keeps_the_promises(lying_door: Speaker, how: str) -> None:
    for way in _WAYS:
        kept(lying_door.call(way, {"how": how}))


def test_a_large_text_is_cut_and_says_so(lying_door: Speaker) -> None:
    answer = lying_door.call("lie", {"how": "1.2 million characters"})

    assert answer.text.startswith("abcdefgh ijkabcdefgh")
    assert "Left out to fit" in answer.text and "read_more(" in answer.text


def test_a_block_of_an_unknown_type_is_named_and_left_out(lying_door: Speaker) -> None:
    answer = lying_door.call("lie", {"how": "a video"})

    assert answer.content == [{"type": "text", "text": "[A block of type 'video' was left out: MCP has no such type.]"}]


def test_a_secret_in_a_hand_made_result_is_masked(lying_door: Speaker) -> None:
    assert lying_door.call("lie_by_handler", {"how": "the key"}).text == "the key is ***"
    assert lying_door.call("lie", {"how": "the key in JSON"}).envelope["data"] == "***"


@pytest.mark.parametrize("how", ["a failure with the key", "a failure without an error", "an error as success"])
def test_a_failed_result_stays_a_failure(lying_door: Speaker, how: str) -> None:
    answer = lying_door.call("lie", {"how": how})

    assert answer.is_error and answer.code != "OK"
    assert "***" in answer.text


def test_a_question_that_the_door_cannot_put_is_a_failure(lying_door: Speaker) -> None:
    answer = lying_door.call("lie_by_handler", {"how": "a question that nobody put"})

    assert (answer.is_error, answer.code) == (True, "CAPABILITY_REQUIRED")


def test_details_of_an_error_are_masked_and_bounded(lying_door: Speaker) -> None:
    answer = lying_door.call("complain", {})
    kept(answer)

    assert (answer.is_error, answer.code, answer.text) == (True, "BOASTFUL", "It failed")
    assert answer.facts["details"]


def asked(web: httpx2.Client, method: str, name: str, params: dict[str, Any], **meta: Any) -> dict[str, Any]:
    body = messages.request(method, {**params, "_meta": messages.envelope(**meta)})
    response = web.post("/mcp", json=body, headers=messages.modern_headers(method, name))
    return messages.response_in(response.headers["content-type"], response.content)


def fits(answer: Any) -> None:
    said = json.dumps(answer)
    assert count_tokens(said) <= _BUDGET
    assert _SECRET not in said


def test_a_prompt_with_1_500_unknown_arguments_gets_a_short_error(web: httpx2.Client) -> None:
    wrong = {f"argument_{number}": "x" for number in range(1_500)}
    answer = asked(web, "prompts/get", "lie", {"name": "lie", "arguments": wrong})
    fits(answer)

    assert answer["error"]["code"] == -32602
    assert len(answer["error"]["data"]["details"]) == 20
    assert answer["error"]["data"]["hint"] == "1480 more fields are wrong too."


@pytest.mark.parametrize("how", LIES)
def test_a_prompt_made_of_a_hand_made_result_keeps_the_promises(web: httpx2.Client, how: str) -> None:
    answer = asked(web, "prompts/get", "lie", {"name": "lie", "arguments": {"how": how}})
    fits(answer)

    if "result" in answer:
        mcp_types.GetPromptResult.model_validate(answer["result"])
        assert answer["result"]["messages"]


def test_details_of_an_error_are_masked_and_bounded_where_a_resource_is_read(web: httpx2.Client) -> None:
    answer = asked(web, "resources/read", "lie://details", {"uri": "lie://details"})
    fits(answer)

    assert answer["error"]["message"] == "It failed" and answer["error"]["data"]["details"]


@pytest.mark.parametrize("start", ["lie://long/", "nothing://"])
def test_a_very_long_address_is_not_repeated(web: httpx2.Client, start: str) -> None:
    uri = start + "a" * 500_000
    body = messages.request("resources/read", {"uri": uri})
    session = OverHttp("http-2025", web)._session
    response = web.post("/mcp", json=body, headers=messages.legacy_headers(session))

    fits(messages.response_in(response.headers["content-type"], response.content))


def test_what_a_tool_says_meanwhile_is_masked_and_bounded(web: httpx2.Client) -> None:
    params = messages.call(
        "chatter", {}, modern=True, meta={"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
    )
    body = messages.request("tools/call", params)
    response = web.post("/mcp", json=body, headers=messages.modern_headers("tools/call", "chatter"))
    said = messages.events(response.content)

    assert [one["method"] for one in said[:-1]] == ["notifications/message", "notifications/progress"]
    assert _SECRET not in response.text and "***" in response.text
    assert all(len(json.dumps(one)) < 10_000 for one in said)
    assert said[-1]["result"]["content"] == [{"type": "text", "text": "told"}]
