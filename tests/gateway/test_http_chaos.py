"""What a server over HTTP may do wrong, and what must not be repeated because of it."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from dogubako.contract.errors import ApiError, CredentialRequiredError
from dogubako.gateway import keeper
from dogubako.gateway.settings import ServerSettings
from tests.doors.connections import listening
from tests.doors.processes import PATIENCE

from .fake_http import Answer, FakeHttp, OldHttp
from .upstreams import running, until

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])


def at(port: int, path: str = "/mcp", **settings: object) -> ServerSettings:
    return ServerSettings.model_validate({"url": f"http://127.0.0.1:{port}{path}", **settings})


@BOTH
async def test_a_call_over_http(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era)
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"

    sent = app.headers[app.methods.index("tools/call")]
    if era == "modern":
        assert (sent["mcp-method"], sent["mcp-name"]) == ("tools/call", "echo")
        assert sent["mcp-protocol-version"] == "2026-07-28"
    else:
        assert (sent["mcp-protocol-version"], sent["mcp-session-id"]) == ("2025-11-25", "s1")


@BOTH
async def test_a_restarted_server_is_used_again(era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(keeper, "_CALL_FLOOR_SECONDS", 0.0)
    first, second = FakeHttp(era), FakeHttp(era)
    async with AsyncExitStack() as stack:
        async with listening(first) as place:
            server = await stack.enter_async_context(running(at(place.port), tmp_path))
            assert await server.call("echo", text="a") == "a"
        with pytest.raises(ApiError, match="could not be reached") as raised:
            await server.call("echo", text="b")
        await stack.enter_async_context(listening(second, place.port))
        await server.is_in("ready")
        answer = await server.call("echo", text="c")

    assert (raised.value.transient, answer) == (True, "c")


async def test_a_lost_session_is_opened_again_once_and_the_call_is_made(tmp_path: Path) -> None:
    app = FakeHttp("legacy")
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"
        app.sessions.clear()

        assert await server.call("echo", text="b") == "b"
    assert app.methods.count("initialize") == 2
    # The refused call, and its repetition: the server said that it did not run.
    assert app.methods.count("tools/call") == 3


@BOTH
async def test_a_401_parks_the_server_and_says_who_has_to_sign_in(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era, token="t0ken")
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        await server.is_in("sign_in_needed")
        with pytest.raises(CredentialRequiredError) as raised:
            await server.call("echo")

    assert raised.value.hint == "The operator signs in with: dogubako servers login fake"
    assert raised.value.http_status != 401


@BOTH
async def test_a_token_that_was_revoked_during_the_work_parks_the_server(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era, token="t0ken")
    headers = {"Authorization": SecretStr("Bearer t0ken")}
    async with listening(app) as place, running(at(place.port, headers=headers), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"
        app.token = "another"
        with pytest.raises(CredentialRequiredError):
            await server.call("echo")

        await server.is_in("sign_in_needed")


@BOTH
async def test_a_status_of_500_may_have_run_and_is_not_repeated(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era)
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        await server.is_in("ready")
        app.status = 500
        with pytest.raises(ApiError, match="status 500") as raised:
            await server.call("echo")

        assert raised.value.hint == "It may have been done all the same: look first."
        assert not raised.value.transient


async def test_a_stream_that_ends_early_is_continued_and_the_call_is_not_repeated(tmp_path: Path) -> None:
    app = FakeHttp("legacy")
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        assert await server.call("cut") == "resumed"

    assert app.methods.count("tools/call") == 1
    assert len(app.resumed_with) == 1


@BOTH
async def test_a_cancelled_call_closes_its_stream(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era)
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        call = asyncio.create_task(server.call("wait"))
        await until(lambda: "tools/call" in app.methods)
        call.cancel()
        await until(lambda: app.disconnected == ["tools/call"])
        if era == "legacy":
            await until(lambda: "notifications/cancelled" in app.methods)
        assert await server.call("echo", text="next") == "next"

    assert ("notifications/cancelled" in app.methods) == (era == "legacy")


async def test_the_old_transport_is_found_by_itself(tmp_path: Path) -> None:
    async with listening(OldHttp()) as place, running(at(place.port, "/sse"), tmp_path) as server:
        assert await server.call("echo", text="old") == "old"
        assert server.definitions[0].protocol == "2024-11-05"


async def test_a_redirect_to_another_host_is_a_wrong_configuration(tmp_path: Path) -> None:
    async def elsewhere(scope: object, receive: object, send: object) -> None:
        headers = [(b"location", b"http://other.example/mcp"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 307, "headers": headers})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]

    async with listening(elsewhere) as place, running(at(place.port), tmp_path) as server:
        await server.is_in("broken_configuration")

        assert "redirects to another address" in server.upstream.state.reason


@BOTH
async def test_a_redirect_of_a_call_is_told_in_our_words(era: str, tmp_path: Path) -> None:
    app = FakeHttp(era)
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        await server.is_in("ready")
        app.status = 307
        with pytest.raises(ApiError, match="redirects again and again"):
            await server.call("echo")


class WrongIds(FakeHttp):
    """Answers every call under the id of nobody."""

    async def _answer(self, method: str, request: int, params: dict[str, Any], answer: Answer) -> None:
        await super()._answer(method, 999 if method == "tools/call" else request, params, answer)


@BOTH
async def test_an_answer_to_another_request_fails_the_call_at_once(era: str, tmp_path: Path) -> None:
    async with listening(WrongIds(era)) as place, running(at(place.port), tmp_path) as server:
        with pytest.raises(ApiError, match="answered another request") as raised:
            await server.call("echo")

    assert not raised.value.transient


class SilentNotices(FakeHttp):
    """Never answers a message that says that a call was cancelled."""

    async def _post(self, message: dict[str, Any], headers: dict[str, str], answer: Answer) -> None:
        if message.get("method") == "notifications/cancelled":
            await answer.gone()
        else:
            await super()._post(message, headers, answer)


async def test_messages_that_nobody_takes_leave_connections_for_calls(tmp_path: Path) -> None:
    app = SilentNotices("legacy")
    async with listening(app) as place, running(at(place.port), tmp_path) as server:
        await server.is_in("ready")
        for _ in range(3):
            app.methods.clear()
            calls = [asyncio.create_task(server.call("silent")) for _ in range(80)]
            await until(lambda: app.methods.count("tools/call") == 80)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

        async with asyncio.timeout(PATIENCE):
            assert await server.call("echo", text="next") == "next"
