"""Sign in at a server that wants OAuth: once with a browser, then with refreshed tokens, also after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.contract.errors import ApiError, CredentialRequiredError
from dogubako.gate.credential_vault import CredentialVault
from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_in_stores import FileSignIns
from dogubako.gateway.sign_ins import SignInFailed, SignIns
from tests.doors.connections import listening

from .fake_oauth import FakeOAuth
from .upstreams import Running, running


def sign_ins(folder: Path) -> SignIns:
    return SignIns(FileSignIns(DefinitionStore(folder), lambda: CredentialVault(lambda: b"k" * 32)))


async def browse(address: str) -> None:
    """A browser whose user consents at once."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        page = await browser.get(address)
    assert "You are signed in" in page.text


def at(port: int) -> ServerSettings:
    return ServerSettings(url=f"http://127.0.0.1:{port}/mcp")


@asynccontextmanager
async def signed_in(app: FakeOAuth, folder: Path) -> AsyncIterator[tuple[Running, SignIns, Any]]:
    """A server at which somebody has signed in."""
    async with listening(app) as place:
        kept = sign_ins(folder)
        assert await kept.sign_in("fake", at(place.port), browse)
        async with running(at(place.port), folder, sign_ins=kept) as server:
            await server.is_in("ready")
            yield server, kept, place


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_parked_server_works_as_soon_as_another_process_has_signed_in(era: str, tmp_path: Path) -> None:
    app = FakeOAuth(era)
    async with listening(app) as place, running(at(place.port), tmp_path, sign_ins=sign_ins(tmp_path)) as server:
        await server.is_in("sign_in_needed")
        assert await sign_ins(tmp_path).sign_in("fake", at(place.port), browse)
        await server.is_in("ready")

        assert await server.call("echo", text="a") == "a"


async def test_tokens_are_stored_encrypted(tmp_path: Path) -> None:
    async with signed_in(FakeOAuth(), tmp_path):
        stored = b"".join(path.read_bytes() for path in (tmp_path / "servers").iterdir())

    assert stored
    assert b"access-1" not in stored
    assert b"refresh-1" not in stored


async def test_an_expired_token_is_refreshed_once_for_many_calls(tmp_path: Path) -> None:
    app = FakeOAuth()
    async with signed_in(app, tmp_path) as (server, _, _):
        # Revoked early: the token looks valid here and is not.
        app.server.token = "another"
        answers = await asyncio.gather(*(server.call("echo", text=str(number)) for number in range(10)))

    assert answers == [str(number) for number in range(10)]
    assert app.refreshes == 1


async def test_a_token_is_refreshed_after_a_restart_of_ours(tmp_path: Path) -> None:
    app = FakeOAuth(lifetime=1)
    async with (
        signed_in(app, tmp_path) as (_, _, place),
        running(at(place.port), tmp_path, "again", sign_ins=_named("fake", tmp_path)) as server,
    ):
        assert await server.call("echo", text="a") == "a"

    assert app.refreshes >= 1


def _named(name: str, folder: Path) -> SignIns:
    """The sign-ins of a new process, which reads the tokens of this server for every name."""
    kept = sign_ins(folder)
    auth = kept.auth
    kept.auth = lambda server, settings: auth(name, settings)  # type: ignore[method-assign]
    return kept


async def test_a_refused_refresh_parks_the_server(tmp_path: Path) -> None:
    app = FakeOAuth()
    async with signed_in(app, tmp_path) as (server, _, _):
        app.server.token, app.refuse_refresh = "another", 400
        with pytest.raises(CredentialRequiredError):
            await server.call("echo")

        await server.is_in("sign_in_needed")


async def test_a_sign_in_service_that_is_down_for_a_moment_does_not_sign_us_out(tmp_path: Path) -> None:
    app = FakeOAuth()
    async with signed_in(app, tmp_path) as (server, _, _):
        app.server.token, app.refuse_refresh = "another", 503
        with pytest.raises(ApiError, match="sign-in service answered with status 503"):
            await server.call("echo")
        app.refuse_refresh = 0

        assert await server.call("echo", text="b") == "b"


async def test_a_slow_call_holds_up_no_other_call(tmp_path: Path) -> None:
    async with signed_in(FakeOAuth(), tmp_path) as (server, _, _):
        slow = asyncio.create_task(server.call("silent"))
        assert await server.call("echo", text="quick") == "quick"
        assert not slow.done()
        slow.cancel()


async def test_a_server_that_wants_nobody_says_so(tmp_path: Path) -> None:
    app = FakeOAuth()
    app.server.token = ""
    async with listening(app) as place:
        assert not await sign_ins(tmp_path).sign_in("fake", at(place.port), browse)


async def test_a_server_that_is_down_is_a_sentence(tmp_path: Path) -> None:
    async with listening(FakeOAuth()) as place:
        pass
    with pytest.raises(SignInFailed, match="could not be reached"):
        await sign_ins(tmp_path).sign_in("fake", at(place.port), browse)


async def test_signing_out_forgets_the_tokens(tmp_path: Path) -> None:
    async with signed_in(FakeOAuth(), tmp_path) as (server, kept, _):
        await kept.sign_out("fake")
        await server.upstream.restart()

        await server.is_in("sign_in_needed")
