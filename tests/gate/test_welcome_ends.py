"""Whoever is looked at again and again is left alone when the request is over, and what happened is not talked over."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest
from starlette.types import Receive

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import AuthenticationError
from dogubako.gate.authentication import Authenticator, Headers
from dogubako.transports.mcp import auth as welcome
from dogubako.transports.mcp.auth import CredentialWatch
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until


class _Alarms:
    """Alarms that ring when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def set(self, seconds: float, ring: Callable[[], object]) -> "_Alarm":
        self.waiting.append(ring)
        return _Alarm(self, ring)

    def ring(self) -> None:
        self.waiting.pop()()


class _Alarm:
    def __init__(self, alarms: _Alarms, ring: Callable[[], object]) -> None:
        self._alarms, self._ring = alarms, ring

    def cancel(self) -> None:
        if self._ring in self._alarms.waiting:
            self._alarms.waiting.remove(self._ring)


class _Asking:
    """Has to ask somebody else who it is, who answers when a test says so."""

    def __init__(self) -> None:
        self.asked, self.answered = anyio.Event(), anyio.Event()
        self.error: AuthenticationError | None = None

    def authenticate_cached(self, headers: Headers) -> Caller | None:
        return None

    async def authenticate(self, headers: Headers) -> Caller:
        self.asked.set()
        await self.answered.wait()
        if self.error is not None:
            raise self.error
        return TRUSTED


@pytest.fixture
def alarms(monkeypatch: pytest.MonkeyPatch) -> _Alarms:
    alarms = _Alarms()
    monkeypatch.setattr(welcome, "call_later", alarms.set)
    return alarms


async def _never() -> Any:
    await anyio.sleep_forever()


def _refusing() -> _Asking:
    asking = _Asking()
    asking.error = AuthenticationError("The API key is revoked.")
    asking.answered.set()
    return asking


def _welcome(asking: _Asking, sent: list[Any], receive: Receive = _never) -> CredentialWatch:
    async def send(message: Any) -> None:
        sent.append(message)

    return CredentialWatch(cast("Authenticator", asking), {"headers": []}, receive, send)


async def test_after_a_request_nobody_looks_again(alarms: _Alarms) -> None:
    async with _welcome(_Asking(), []):
        assert len(alarms.waiting) == 1

    assert alarms.waiting == []


async def test_a_look_that_finds_the_caller_is_not_the_last_one(alarms: _Alarms) -> None:
    asking = _Asking()
    asking.answered.set()
    async with _welcome(asking, []):
        for _ in range(3):
            alarms.ring()
            await until(lambda: bool(alarms.waiting), "there is another look to come")


async def test_a_look_that_is_under_way_ends_with_the_request(alarms: _Alarms) -> None:
    asking, before = _Asking(), asyncio.all_tasks()
    async with _welcome(asking, []):
        alarms.ring()
        with anyio.fail_after(PATIENCE):
            await asking.asked.wait()
    under_way = asyncio.all_tasks() - before
    asking.answered.set()
    await asyncio.wait(under_way, timeout=PATIENCE)

    assert len(under_way) == 1 and all(task.done() for task in under_way)
    assert alarms.waiting == []


async def test_what_went_wrong_before_is_told_and_not_that_the_caller_is_no_longer_let_in(alarms: _Alarms) -> None:
    sent = list[Any]()
    with pytest.raises(ZeroDivisionError):
        async with _welcome(_refusing(), sent) as guest:
            alarms.ring()
            with anyio.fail_after(PATIENCE):
                assert (await guest.receive())["type"] == "http.disconnect"
            raise ZeroDivisionError

    assert sent == []


class _Silent:
    """A client that says nothing, and whether anybody still listens to it."""

    def __init__(self) -> None:
        self.listened, self.left = anyio.Event(), anyio.Event()

    async def receive(self) -> Any:
        self.listened.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()


async def test_when_the_caller_is_no_longer_let_in_nobody_listens_on(alarms: _Alarms) -> None:
    client = _Silent()
    async with _welcome(_refusing(), [], client.receive) as guest:
        await guest.send({"type": "http.response.body"})
        alarms.ring()
        with anyio.fail_after(PATIENCE):
            heard = await guest.receive()
            await client.left.wait()

    assert heard == {"type": "http.disconnect"}


async def test_whoever_stops_listening_leaves_nobody_behind_who_listens(alarms: _Alarms) -> None:
    client = _Silent()
    async with _welcome(_Asking(), [], client.receive) as guest:
        listening = asyncio.create_task(guest.receive())
        with anyio.fail_after(PATIENCE):
            await client.listened.wait()
            listening.cancel()
            await asyncio.wait([listening])
            await client.left.wait()

    assert listening.cancelled()


START = {"type": "http.response.start", "status": 200, "headers": []}
PIECE = {"type": "http.response.body", "body": b"a", "more_body": True}
LAST = {"type": "http.response.body", "body": b"b", "more_body": False}
END = {"type": "http.response.body", "body": b"", "more_body": False}


@pytest.mark.parametrize(
    ("said", "added"),
    [
        pytest.param([START], [END], id="only begun"),
        pytest.param([START, PIECE], [END], id="in the middle"),
        pytest.param([START, PIECE, LAST], [], id="complete"),
        pytest.param([START, {"type": "http.response.body", "body": b"c"}], [], id="complete in one piece"),
    ],
)
async def test_an_answer_is_ended_once(alarms: _Alarms, said: list[Any], added: list[Any]) -> None:
    sent = list[Any]()
    async with _welcome(_refusing(), sent) as guest:
        for message in said:
            await guest.send(message)
        alarms.ring()
        with anyio.fail_after(PATIENCE):
            await guest.receive()

    assert sent == [*said, *added]


async def test_who_has_no_answer_yet_hears_why_there_is_none(alarms: _Alarms) -> None:
    sent = list[Any]()
    with pytest.raises(AuthenticationError, match="revoked"):
        async with _welcome(_refusing(), sent) as guest:
            alarms.ring()
            with anyio.fail_after(PATIENCE):
                await guest.receive()

    assert sent == []
