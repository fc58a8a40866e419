"""A stream lasts as long as the credentials it was opened with, and not only until somebody revokes them."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Self, cast

import anyio
import pytest

from dogubako.app import Toolbox
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.authentication import Authenticator
from dogubako.gate.oauth import TokenAuthentication
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened
from tests.doors.waiting import until

from .authorization_server import AuthorizationServer
from .guarded import guarded_box
from .methods import ERAS, Era
from .speaking import Speaker
from .token_gate import token_box

LASTS: Final = timedelta(minutes=5)
AFTERWARDS: Final = timedelta(hours=1)

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials are looked at many times a second."""
    monkeypatch.setattr("dogubako.transports.mcp.auth.LOOK_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)


def _ended_in_order(visit: Visit) -> bool:
    bodies = [one for one in visit.sent if one["type"] == "http.response.body"]
    return [bool(one.get("more_body")) for one in bodies].count(False) == 1 and not bodies[-1].get("more_body")


def _looks_at(authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows with every look at somebody's credentials."""
    looks: list[object] = []
    known = authenticator.authenticate_cached

    def counted(headers: Any) -> Any:
        looks.append(None)
        return known(headers)

    monkeypatch.setattr(authenticator, "authenticate_cached", counted)
    return looks


@asynccontextmanager
async def _stream(client: Client, credentials: Mapping[str, str], era: Era) -> AsyncIterator[Visit]:
    """A stream of news while it is open; at the end its client leaves, if it is still there."""
    speaker, visit = await Speaker(client, credentials, era).open(), Visit()
    body: Any = b""
    method, named = ("GET", "") if era == "2025" else ("POST", "subscriptions/listen")
    if named:
        body = messages.line(speaker.request(named, {"notifications": {"toolsListChanged": True}})).encode()
    visit.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, visit, method, "/mcp", {**speaker.headers(named, None), **credentials})
        await until(lambda: visit.answered, "the stream is open")
        assert visit.status == 200
        yield visit
        visit.leave()


def _credentials(kind: str, folder: Path, server: AuthorizationServer) -> tuple[Toolbox, dict[str, str]]:
    """A server and what opens it for a while."""
    if kind == "key":
        secret, _ = KeyStore(folder).create("agent", ["read"], LASTS)
        return guarded_box(folder), {"x-api-key": secret}
    token = server.token(exp=int(time.time() + LASTS.total_seconds()))
    return token_box(server, folder), {"authorization": f"Bearer {token}"}


class Later(datetime):
    """The time of day, after everything has expired."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + AFTERWARDS


def _much_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """For keys, for tokens, and for tokens that are remembered. The loop keeps its own time."""
    now = time.time
    monkeypatch.setattr("dogubako.gate.authentication.datetime", Later)
    monkeypatch.setattr("jwt.api_jwt.datetime", Later)
    later = SimpleNamespace(time=lambda: now() + AFTERWARDS.total_seconds())
    monkeypatch.setattr("dogubako.gate.oauth.time", later)


@both_eras
@pytest.mark.parametrize(
    ("kind", "reason"), [("key", "The API key is expired."), ("token", "The access token has expired.")]
)
async def test_a_stream_ends_in_order_when_its_credentials_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: Era, kind: str, reason: str
) -> None:
    box, credentials = _credentials(kind, tmp_path, AuthorizationServer())
    async with opened(HttpApp(box)) as client:
        async with _stream(client, credentials, era) as visit:
            _much_later(monkeypatch)
            await until(visit.complete.is_set, "the stream ends by itself")
        refused = await client.request("GET", "/v1/tools", headers=credentials)

    assert _ended_in_order(visit)
    assert (refused.status, refused.json["error"]) == (401, reason)


@both_eras
async def test_a_stream_outlives_an_authorization_server_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: Era
) -> None:
    monkeypatch.setattr("dogubako.gate.oauth._REMEMBERED_SECONDS", 0.0)
    server = AuthorizationServer()
    box = token_box(server, tmp_path)
    tokens = cast("TokenAuthentication", box.authenticator)
    looks = _looks_at(tokens, monkeypatch)
    async with (
        opened(HttpApp(box)) as client,
        _stream(client, {"authorization": f"Bearer {server.token()}"}, era) as visit,
    ):
        server.down, before = True, len(looks)
        tokens._keys._keys = {}
        await until(lambda: len(looks) >= before + 4, "the token was looked at again and again")
        open_while_away = not visit.complete.is_set()
        # It comes back, and does not know the key any more that the token was signed with.
        server.add("second")
        del server.keys["first"]
        server.down = False
        await until(visit.complete.is_set, "the stream ends by itself")

    assert open_while_away and _ended_in_order(visit)


@both_eras
async def test_a_stream_with_good_credentials_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: Era
) -> None:
    secret, _ = KeyStore(tmp_path).create("agent", ["read"])
    box = guarded_box(tmp_path)
    looks = _looks_at(box.authenticator, monkeypatch)
    async with opened(HttpApp(box)) as client, _stream(client, {"x-api-key": secret}, era) as visit:
        before = len(looks)
        await until(lambda: len(looks) >= before + 5, "the key was looked at again and again")
        box.registry.disable("echo")
        await until(lambda: b"list_changed" in visit.body, "it hears of a change")
        still_open = not visit.complete.is_set()

    assert still_open
