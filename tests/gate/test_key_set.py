"""The keys of the authorization server: found, kept, renewed, and never asked for more often than is good for it."""

import time
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from dogubako.gate.key_set import KeySet
from tests.doors.waiting import until

from .authorization_server import (
    ISSUER,
    JWKS,
    OAUTH_PATH,
    OPENID_PATH,
    OPENID_PATH_BEFORE,
    AuthorizationServer,
    good_claims,
    signed_with_secret,
)
from .token_gate import taking_tokens, verdict

_REFUSED = "The access token is not valid."
_UNANSWERED = "Access tokens cannot be checked: the authorization server does not answer."


class Clock:
    """The key set's clock; the loop keeps its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr("dogubako.gate.key_set.time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("path", [OAUTH_PATH, OPENID_PATH, OPENID_PATH_BEFORE])
async def test_the_server_is_found_where_either_standard_puts_its_description(path: str) -> None:
    server = AuthorizationServer(describes_at=path)
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"

    assert server.asked[path] == server.asked["/keys"] == 1


async def test_a_server_that_does_not_describe_itself_needs_the_address_of_its_keys() -> None:
    server = AuthorizationServer(describes_at=None)
    async with taking_tokens(server) as without, taking_tokens(server, JWKS) as told:
        assert await verdict(without, server.token()) == _UNANSWERED
        before = server.asked.total()
        assert await verdict(told, server.token()) == "somebody"

    assert server.asked.total() == before + 1


async def test_who_describes_somebody_else_is_not_believed() -> None:
    server = AuthorizationServer()
    server.description["issuer"] = "https://evil.example"
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == _UNANSWERED

    assert server.asked["/keys"] == 0


ODD_DOCUMENTS: list[Any] = [
    pytest.param({}, id="nothing"),
    pytest.param([], id="a list"),
    pytest.param({"keys": []}, id="no keys"),
    pytest.param({"keys": {}}, id="keys that are no list"),
    pytest.param({"keys": [5]}, id="a key that is a number"),
    pytest.param({"keys": [{"kty": "RSA", "n": "!", "e": "AQAB"}]}, id="half a key"),
    pytest.param("keys", id="a text"),
]


@pytest.mark.parametrize("document", ODD_DOCUMENTS)
async def test_odd_keys_let_nobody_in(monkeypatch: pytest.MonkeyPatch, document: Any) -> None:
    server = AuthorizationServer()
    monkeypatch.setattr(server, "jwks", lambda: document)
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == _UNANSWERED


async def test_a_shared_secret_among_the_keys_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    secret = {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "kid": "shared"}
    shown = {"keys": [*server.jwks()["keys"], secret]}
    monkeypatch.setattr(server, "jwks", lambda: shown)
    async with taking_tokens(server) as gate:
        forged = signed_with_secret(good_claims("admin"), b"secret-secret-secret-secret", "shared")
        assert await verdict(gate, forged) == _REFUSED
        assert await verdict(gate, server.token()) == "somebody"


async def test_a_key_for_encryption_signs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    server.add("second")
    shown = server.jwks()
    shown["keys"][0]["use"] = "enc"
    monkeypatch.setattr(server, "jwks", lambda: shown)
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(kid="first")) == _REFUSED
        assert await verdict(gate, server.token(kid="second")) == "somebody"


async def test_keys_that_were_rotated_are_found_and_old_ones_forgotten(clock: Clock) -> None:
    server = AuthorizationServer()
    old = server.token()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, old) == "somebody"
        server.add("second", "ES256")
        clock.now += 31
        assert await verdict(gate, server.token(kid="second")) == "somebody"
        assert await verdict(gate, server.token(kid="first")) == "somebody"

        withdrawn = server.token(kid="first", sub="somebody else")
        del server.keys["first"]
        clock.now += 601
        assert await verdict(gate, withdrawn) == _REFUSED


async def test_invented_key_ids_do_not_make_us_ask_again_and_again(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        for number in range(50):
            assert await verdict(gate, server.token(kid=f"invented {number}")) == _REFUSED
        asked = server.asked["/keys"]
        clock.now += 31
        for number in range(50):
            assert await verdict(gate, server.token(kid=f"invented {number}")) == _REFUSED

    assert (asked, server.asked["/keys"]) == (1, 2)


async def test_callers_who_come_at_once_ask_once() -> None:
    server = AuthorizationServer()
    names: list[str] = []

    async def come(number: int) -> None:
        names.append(await verdict(gate, server.token(sub=f"caller {number}")))

    async with taking_tokens(server) as gate, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(come, number)

    assert sorted(names) == sorted(f"caller {number}" for number in range(20))
    assert server.asked["/keys"] == 1


async def test_known_keys_outlive_the_server_and_it_is_left_in_peace(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        before = server.asked.total()
        server.down = True
        clock.now += 601
        for number in range(20):
            assert await verdict(gate, server.token(sub=f"caller {number}")) == f"caller {number}"
            assert await verdict(gate, server.token(kid=f"invented {number}")) == _REFUSED
        assert server.asked.total() == before + 1

        server.down = False
        clock.now += 6
        assert await verdict(gate, server.token(sub="the last")) == "the last"

    assert server.asked["/keys"] == 3


async def test_a_server_that_is_down_from_the_start_is_named_and_found_when_it_is_up(clock: Clock) -> None:
    server = AuthorizationServer()
    server.down = True
    async with taking_tokens(server) as gate:
        for _ in range(20):
            assert await verdict(gate, server.token()) == _UNANSWERED
        asked = server.asked.total()
        server.down = False
        clock.now += 6
        assert await verdict(gate, server.token()) == "somebody"

    # Once at each of the three places where a description could be.
    assert asked == 3


async def test_who_is_known_does_not_wait_while_others_are_asked_about(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, slow, asked = AuthorizationServer(), anyio.Event(), anyio.Event()
    async with taking_tokens(server, JWKS) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        fetch = KeySet._json

        async def dawdle(keys: KeySet, url: str) -> dict[str, Any]:
            asked.set()
            await slow.wait()
            return await fetch(keys, url)

        monkeypatch.setattr(KeySet, "_json", dawdle)
        clock.now += 31
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(verdict, gate, server.token(kid="invented"))
            await until(asked.is_set, "the server was asked")
            with anyio.fail_after(5):
                name = await verdict(gate, server.token(sub="a known one"))
            slow.set()

    assert name == "a known one"


async def test_a_token_that_could_not_be_checked_is_not_called_invalid() -> None:
    server = AuthorizationServer()
    server.down = True
    async with taking_tokens(server) as gate:
        with pytest.raises(Exception, match="cannot be checked") as raised:
            await gate.find([(b"authorization", f"Bearer {server.token()}".encode())])

    error: Any = raised.value
    assert error.retryable and error.hint == "Try again later."
    assert "invalid_token" not in gate.challenge(error)
    assert ISSUER not in error.message
