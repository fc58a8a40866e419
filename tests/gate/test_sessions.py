"""A session, a running call and a sealed state belong to who began them. Nobody else can use them, on any way."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.gate.api_keys import KeyStore
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, opened
from tests.doors.waiting import until

from .authorization_server import AuthorizationServer
from .callers import Keyring
from .guarded import guarded_box
from .methods import ERAS, Era
from .pause import Pause
from .speaking import Speaker, outcome
from .token_gate import token_box

_ELICITATION: dict[str, Any] = {"elicitation": {"form": {}}}
_GREEN = {"action": "accept", "content": {"answer": "green"}}


async def _opened(client: Client, credentials: dict[str, str]) -> Speaker:
    return await Speaker(client, credentials, "2025").open()


def _thief(client: Client, credentials: dict[str, str], session: str | None) -> Speaker:
    """Somebody who has learned the id of another's session."""
    speaker = Speaker(client, credentials, "2025")
    speaker.session = session
    return speaker


@pytest.mark.parametrize("short", [True, False], ids=["short way", "long way"])
async def test_nobody_calls_in_the_session_of_another(
    door: HttpApp, web: Client, keyring: Keyring, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    if not short:
        monkeypatch.setattr(door.mcp.fast_path, "match", lambda *_args, **_kwargs: None)
    owner = await _opened(web, keyring.header("read"))
    thief = _thief(web, keyring.header("admin"), owner.session)

    stolen = await thief.ask("tools/call", {"name": "echo", "arguments": {"text": "mine"}})
    own = await owner.call("echo", {"text": "mine"})

    assert (stolen.status, stolen.json["error"]["message"]) == (404, "Session not found")
    assert own["content"][0]["text"] == "mine"
    assert door.mcp.fast_path.taken == (1 if short else 0)


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_nobody_listens_to_ends_or_speaks_in_the_session_of_another(
    web: Client, keyring: Keyring, method: str
) -> None:
    owner = await _opened(web, keyring.header("read"))
    headers = {**messages.legacy_headers(owner.session), **keyring.header("admin")}
    body = messages.request("tools/list") if method == "POST" else b""

    stolen = await web.request(method, "/mcp", headers=headers, body=body)

    assert (stolen.status, stolen.json["error"]["message"]) == (404, "Session not found")
    assert (await owner.ask("ping")).status == 200


async def test_a_session_is_of_no_use_without_a_key(web: Client, keyring: Keyring) -> None:
    owner = await _opened(web, keyring.header("read"))

    visit = await _thief(web, {}, owner.session).ask("tools/list")

    assert (visit.status, visit.json["code"]) == (401, "AUTHENTICATION_ERROR")


async def test_a_revoked_key_ends_its_session_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    store = KeyStore(tmp_path)
    secret, key = store.create("agent", ["read"])
    async with opened(HttpApp(guarded_box(tmp_path))) as client:
        owner = await _opened(client, {"x-api-key": secret})
        before = await owner.ask("ping")
        store.revoke(key.id)
        after = await owner.ask("ping")

    assert (before.status, after.status, after.json["error"]) == (200, 401, "The API key is revoked.")


async def test_a_session_gives_what_the_token_of_each_request_gives(tmp_path: Path) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        strong, weak = (
            {"authorization": f"Bearer {server.token(sub='one person', scope=scope)}"} for scope in ("admin", "read")
        )
        owner = await _opened(client, strong)
        same = _thief(client, weak, owner.session)

        allowed, refused = await owner.call("write_redmine"), await same.call("write_redmine")
        listed = outcome((await same.ask("tools/list")).response)["tools"]

    assert (allowed["isError"], refused["error"]["data"]["code"]) == (False, "AUTHORIZATION_ERROR")
    assert "write_redmine" not in listed and "read_redmine" in listed


async def test_two_people_of_one_authorization_server_do_not_share_a_session(tmp_path: Path) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        one, other = ({"authorization": f"Bearer {server.token(sub=name)}"} for name in ("one", "other"))
        owner = await _opened(client, one)

        stolen = await _thief(client, other, owner.session).ask("tools/list")

    assert stolen.status == 404


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_cancels_the_call_of_another(keyring: Keyring, era: Era) -> None:
    pause, answers = Pause(), []
    async with opened(HttpApp(guarded_box(keyring.folder, pause.tool))) as client:
        owner = await Speaker(client, keyring.header("read"), era).open()
        thief = Speaker(client, keyring.header("admin"), era)
        thief.session = owner.session

        async def call() -> None:
            answers.append(await owner.call("pause"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await until(pause.begun.is_set, "the tool runs")
            await _cancel(thief)
            pause.go_on.set()

    assert [answer["content"][0]["text"] for answer in answers] == ["rested"]


async def test_who_began_a_call_can_cancel_it(keyring: Keyring) -> None:
    pause, answers = Pause(), []
    async with opened(HttpApp(guarded_box(keyring.folder, pause.tool))) as client:
        owner = await _opened(client, keyring.header("read"))

        async def call() -> None:
            answers.append(await owner.call("pause"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await until(pause.begun.is_set, "the tool runs")
            await _cancel(owner)

    assert answers == [{"error": {"code": -32800, "message": "Request cancelled"}}]


async def _cancel(speaker: Speaker) -> None:
    said = {"requestId": 1} | ({"_meta": messages.envelope()} if speaker.era == "2026" else {})
    notice = messages.notification("notifications/cancelled", said)
    await speaker.send(notice, speaker.headers("notifications/cancelled", None))


def _asker(client: Client, credentials: dict[str, str]) -> Speaker:
    return Speaker(client, credentials, "2026", _ELICITATION)


async def _answer(speaker: Speaker, asked: dict[str, Any]) -> Any:
    """Come back with what the user said."""
    answers = dict.fromkeys(asked["inputRequests"], _GREEN)
    params = {
        "name": "ask_colour",
        "arguments": {},
        "inputResponses": answers,
        "requestState": asked["requestState"],
    }
    return outcome((await speaker.ask("tools/call", params, "ask_colour")).response)


async def test_a_sealed_state_opens_for_its_caller_only(web: Client, keyring: Keyring) -> None:
    owner, thief = _asker(web, keyring.header("write")), _asker(web, keyring.header("admin"))
    asked = await owner.call("ask_colour")

    stolen, own = await _answer(thief, asked), await _answer(owner, asked)

    assert stolen["error"]["code"] == -32602
    assert own["content"][0]["text"] == "green"


async def test_where_nobody_proves_anything_a_state_opens_for_all(keyring: Keyring) -> None:
    async with opened(HttpApp(guarded_box(keyring.folder, DOGUBAKO_AUTH="off"))) as client:
        asked = await _asker(client, {}).call("ask_colour")
        answer = await _answer(_asker(client, {}), asked)

    assert answer["content"][0]["text"] == "green"
