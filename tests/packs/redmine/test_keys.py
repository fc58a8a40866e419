"""Keys and passwords: a wrong key is never taken for a stranger, and nobody's secret leaves, by whatever way."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from dogubako.app import Toolbox
from dogubako.packs.redmine import api as service
from dogubako.packs.redmine.tools import TOOLS
from tests.doors.waiting import until

from .every_call import EVERY_CALL, furnish
from .made import text_of
from .wired import KEYS, Bench, Wire, bench, box_on

CANARY: Final = "canary0canary0canary0canary0canary0canary"
REFUSED: Final = "Failed to check the API key: Redmine does not accept the API key"
PASSWORD: Final = "hunter2-in-the-meadow"


class Talkative(Wire):
    """A Redmine that adds a key to every object that it shows."""

    def begin_anew(self) -> None:
        """As if nothing had been written yet."""
        self.__dict__.pop("app", None)
        furnish(self.store)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        body = await answer.aread()
        if b"{" not in body or answer.headers.get("content-type", "").startswith("text/html"):
            return httpx2.Response(answer.status_code, headers=answer.headers, stream=Whole(body))
        told = json.dumps(_with_keys(json.loads(body))).encode()
        kept = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return httpx2.Response(answer.status_code, headers=kept, stream=Whole(told))


class Whole(httpx2.AsyncByteStream):
    """A body as it comes from a socket."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


def _with_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {"api_key": CANARY, **{key: _with_keys(one) for key, one in value.items()}}
    return [_with_keys(one) for one in value] if isinstance(value, list) else value


def secrets_in(*said: object) -> list[str]:
    """Every key that can be found in it."""
    everything = " ".join(str(one) for one in said)
    return [one for one in (CANARY, *KEYS.values()) if one in everything]


def test_there_is_a_call_of_every_tool() -> None:
    assert set(EVERY_CALL) == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("form", ["xml", "json"])
async def test_no_tool_gives_a_key_away(tmp_path: Path, form: str) -> None:
    wire = Talkative()
    with capture_logs() as logs:
        async with bench(tmp_path, wire=wire, REDMINE_FORMAT=form) as redmine:
            for tool, arguments in EVERY_CALL.items():
                wire.begin_anew()
                result = await redmine.call(tool, **arguments)

                assert secrets_in(text_of(result), result.to_mcp()) == [], tool
                assert "api_key" not in text_of(result)
    assert secrets_in(logs) == []


async def test_nobody_else_of_a_redmine_gives_a_key_away(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with bench(tmp_path) as redmine:
            numbers = [row["id"] for row in redmine.wire.store["users"] if row.get("login")]
            said = [await redmine.data("show_user", id=number) for number in numbers]

    assert len(said) == len(KEYS)
    assert secrets_in(said, logs) == []


@pytest.mark.parametrize("uri", ["redmine://issues/1", "redmine://projects/webshop/wiki/Wiki"])
async def test_no_resource_gives_a_key_away(tmp_path: Path, uri: str) -> None:
    async with box_on(Talkative(), tmp_path).running() as box:
        contents = await box.read(uri)

    assert secrets_in(contents) == []


@pytest.mark.parametrize("prompt", ["triage_issues", "weekly_report"])
async def test_no_prompt_gives_a_key_away(tmp_path: Path, prompt: str) -> None:
    async with box_on(Talkative(), tmp_path).running() as box:
        _, messages = await box.render(prompt, {"project": "webshop"})

    assert secrets_in(messages) == []


async def test_no_refusal_gives_a_key_away(tmp_path: Path) -> None:
    def echo(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/issues.json":
            return None
        reason = f"key {request.headers['x-redmine-api-key']} may not, api_key: {CANARY}"
        return httpx2.Response(422, json={"errors": [reason]})

    with capture_logs() as logs:
        async with bench(tmp_path, answers=echo) as redmine:
            result = await redmine.call("list_issues")

    assert result.is_error
    assert secrets_in(result.to_mcp(), result.error, logs) == []


async def test_a_password_goes_to_redmine_and_nowhere_else(tmp_path: Path) -> None:
    arguments = {**EVERY_CALL["create_user"], "password": PASSWORD}
    with capture_logs() as logs:
        async with bench(tmp_path) as redmine:
            made = await redmine.call("create_user", **arguments)
            again = await redmine.call("create_user", **arguments)
            short = await redmine.call("create_user", **{**arguments, "login": "other", "password": PASSWORD[:7]})
            sent = [one for one in redmine.wire.requests if one.method == "POST"]

    assert (made.code, again.code, short.code) == ("OK", "API_ERROR", "API_ERROR")
    assert PASSWORD.encode() in sent[0].content
    assert PASSWORD[:7] not in json.dumps([made.to_mcp(), again.to_mcp(), short.to_mcp()]) + str(logs)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"login": 5}, id="something else is wrong"),
        pytest.param({"passwrd": "x"}, id="a misspelt name"),
        pytest.param({"password": [PASSWORD]}, id="the password itself is wrong"),
    ],
)
async def test_a_password_beside_a_mistake_is_not_repeated(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with capture_logs() as logs:
        async with bench(tmp_path) as redmine:
            result = await redmine.call("create_user", **{**EVERY_CALL["create_user"], "password": PASSWORD, **wrong})

    assert result.code == "VALIDATION_ERROR"
    assert PASSWORD not in json.dumps(result.to_mcp()) + str(logs)


async def complaints(logs: list[EventDict]) -> list[EventDict]:
    """What the log says about a Redmine that cannot be used; it is found out beside everything else."""

    def found() -> list[EventDict]:
        return [one for one in logs if one["event"] == "Redmine cannot be used"]

    await until(lambda: bool(found()), "a complaint about Redmine")
    return found()


@pytest.mark.parametrize(
    "key", [pytest.param("0" * 40, id="nobody's"), pytest.param(KEYS["locked"], id="that of a locked user")]
)
async def test_a_wrong_key_is_found_out_at_the_start(tmp_path: Path, key: str) -> None:
    with capture_logs() as logs:
        async with bench(tmp_path, REDMINE_API_KEY=key):
            [complaint] = await complaints(logs)

    assert (complaint["log_level"], complaint["reason"], complaint["code"]) == ("error", REFUSED, "API_ERROR")
    assert "REDMINE_API_KEY" in complaint["advice"]
    assert key not in str(logs)


async def test_with_a_wrong_key_no_tool_answers_as_to_a_stranger(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_API_KEY="0" * 40) as redmine:
        for tool, arguments in EVERY_CALL.items():
            result = await redmine.call(tool, **arguments)

            assert (result.code, result.content[0]["text"]) == ("API_ERROR", REFUSED), tool
        assert redmine.wire.asked() == []


class Clock:
    """Stands where `time` would stand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(service, "time", clock)
    return clock


def lose_key(redmine: Bench) -> None:
    """Somebody resets the key of our user."""
    token = redmine.wire.store["tokens"].first(value=KEYS["admin"])
    assert token is not None
    redmine.wire.store["tokens"].remove(token)


async def test_a_key_that_becomes_invalid_is_noticed_within_a_minute(tmp_path: Path, clock: Clock) -> None:
    async with bench(tmp_path) as redmine:
        await redmine.data("list_issues", project_id="webshop")
        lose_key(redmine)
        clock.now += 61
        message, hint = await redmine.refusal("list_issues", project_id="webshop")

    assert message == REFUSED
    assert "REDMINE_API_KEY" in hint


async def test_a_refused_request_is_noticed_at_once(tmp_path: Path, clock: Clock) -> None:
    async with bench(tmp_path) as redmine:
        await redmine.data("list_issues")
        lose_key(redmine)
        refused = await redmine.refusal("list_users")
        after = await redmine.refusal("list_issues")

    assert refused[0] == "Failed to list users: Redmine does not accept the API key"
    assert after[0] == REFUSED, "nothing is answered as to a stranger from now on"


async def test_a_key_that_works_is_not_checked_with_every_call(tmp_path: Path, clock: Clock) -> None:
    async with bench(tmp_path) as redmine:
        for _ in range(3):
            await redmine.data("list_issues")
            clock.now += 15
        checks = [one for one in redmine.wire.requests if one.url.path == "/users/current.json"]

    assert len(checks) == 1


async def test_many_calls_at_once_check_the_key_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(redmine.data, "list_trackers")
        checks = [one for one in redmine.wire.requests if one.url.path == "/users/current.json"]

    assert len(checks) == 1


@pytest.mark.parametrize("form", ["xml", "json"])
async def test_the_answers_themselves_keep_the_word_key_where_people_wrote_it(tmp_path: Path, form: str) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        await redmine.call("save_wiki_page", project_id="webshop", title="Key", text='Say "api_key" aloud')
        page = text_of(await redmine.call("show_wiki_page", project_id="webshop", title="Key"))

    assert "api_key" in page


def test_the_box_knows_its_own_key_as_a_secret(tmp_path: Path) -> None:
    box: Toolbox = box_on(Wire(), tmp_path)

    assert box.redactor.mask_configured(f"x {KEYS['admin']} y") == "x *** y"
