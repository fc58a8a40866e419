"""The keys of the authorization server: found, kept, renewed, and never asked for more often than is good for it."""

import asyncio
from typing import Any

import anyio
import pytest
import structlog

from dogubako.contract.errors import ApiError
from tests.doors.processes import PATIENCE
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
from .key_set_time import Clock, Patience
from .token_gate import taking_tokens, verdict

_REFUSED = "The access token is not valid."
_UNANSWERED = "Access tokens cannot be checked: the authorization server does not answer."


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
    pytest.param({"keys": [{"kty": "EC", "crv": "P-256", "x": "AQAB"}]}, id="another half"),
    pytest.param({"keys": [{"kty": "oct", "k": "c2VjcmV0", "alg": "none"}]}, id="a key for nothing"),
    pytest.param({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": []}]}, id="a name that is a list"),
    pytest.param({"keys": [{"kty": "oct", "k": "c2VjcmV0", "use": "enc"}]}, id="only for encryption"),
    pytest.param("keys", id="a text"),
]


@pytest.mark.parametrize("document", ODD_DOCUMENTS)
async def test_odd_keys_let_nobody_in_until_there_are_good_ones(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, document: Any
) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        with monkeypatch.context() as odd:
            odd.setattr(server, "jwks", lambda: document)
            assert await verdict(gate, server.token()) == _UNANSWERED
        clock.now += 6
        assert await verdict(gate, server.token()) == "somebody"


@pytest.mark.parametrize("address", ["https://[", "https://id.example:port/", "/\0", "mailto:keys", 5, None], ids=repr)
async def test_odd_addresses_of_keys_let_nobody_in(address: Any) -> None:
    server = AuthorizationServer()
    server.description["jwks_uri"] = address
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

        early, late = (server.token(kid="first", sub=name) for name in ("early", "late"))
        del server.keys["first"]
        clock.now += 601
        assert await verdict(gate, early) == "early"
        # Who names a key that we do not know waits for the news that were asked for.
        assert await verdict(gate, server.token(kid="invented")) == _REFUSED
        assert await verdict(gate, late) == _REFUSED


async def test_the_only_key_needs_no_name_and_is_not_asked_for_again(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(kid=None, sub="early")) == "early"
        clock.now += 31
        assert await verdict(gate, server.token(kid=None, sub="late")) == "late"
        await anyio.lowlevel.checkpoint()

    assert server.asked["/keys"] == 1


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
            assert await verdict(gate, server.token(kid=f"not known {number}")) == _UNANSWERED
        assert server.asked.total() == before + 1

        server.down = False
        clock.now += 6
        assert await verdict(gate, server.token(sub="the last")) == "the last"
        await until(lambda: server.asked["/keys"] == 2, "the server was asked again")


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

    # Who cannot be reached need not be asked for the other places where a description could be.
    assert asked == 1


@pytest.mark.parametrize("age", [pytest.param(31, id="fresh keys"), pytest.param(601, id="old keys")])
async def test_who_is_known_never_waits_for_the_server(clock: Clock, monkeypatch: pytest.MonkeyPatch, age: int) -> None:
    server, unknown = AuthorizationServer(), list[str]()
    async with taking_tokens(server, JWKS) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        patience = Patience(monkeypatch)
        server.add("second")

        async def come() -> None:
            unknown.append(await verdict(gate, server.token(kid="second", sub="a new one")))

        clock.now += age
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(come)
            await patience.begun()
            with anyio.fail_after(PATIENCE):
                known = [await verdict(gate, server.token(sub=f"caller {number}")) for number in range(20)]
            waiting = list(unknown)
            patience.let_go()

    assert known == [f"caller {number}" for number in range(20)]
    assert (waiting, unknown) == ([], ["a new one"])
    assert patience.addresses == [JWKS]


async def test_old_keys_are_renewed_beside_the_calls_by_one_fetch_at_a_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server, JWKS) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        patience = Patience(monkeypatch)
        with anyio.fail_after(PATIENCE):
            for number in range(20):
                clock.now += 601
                assert await verdict(gate, server.token(sub=f"caller {number}")) == f"caller {number}"
        await patience.begun()
        assert patience.addresses == [JWKS]
        patience.let_go()
        await until(lambda: server.asked["/keys"] == 2, "the keys were renewed")


async def test_keys_are_renewed_in_time_also_when_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.gate.jwks._KEPT_SECONDS", 0.01)
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        await until(lambda: server.asked["/keys"] >= 3, "the keys were renewed twice")


async def test_who_hangs_up_does_not_end_the_fetch_that_others_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server, patience, names = AuthorizationServer(), Patience(monkeypatch), list[str]()
    async with taking_tokens(server, JWKS) as gate:

        async def come(name: str) -> None:
            names.append(await verdict(gate, server.token(sub=name)))

        async with anyio.create_task_group() as patient, anyio.create_task_group() as impatient:
            impatient.start_soon(come, "who hangs up")
            await patience.begun()
            patient.start_soon(come, "who waits")
            impatient.cancel_scope.cancel()
            patience.let_go()

    assert names == ["who waits"] and patience.addresses == [JWKS]


async def test_keys_are_believed_for_a_day_without_news_and_not_longer(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        server.down = True
        clock.now += 24 * 3600 - 1
        within = await verdict(gate, server.token(sub="within a day"))
        clock.now += 2
        after = await verdict(gate, server.token(sub="after a day"))
        server.down = False
        clock.now += 6
        again = await verdict(gate, server.token(sub="with new keys"))

    assert (within, after, again) == ("within a day", _UNANSWERED, "with new keys")


async def test_a_fetch_ends_with_the_server_and_who_waits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    server, patience, said = AuthorizationServer(), Patience(monkeypatch), list[str]()
    async with anyio.create_task_group() as tasks:
        before = asyncio.all_tasks()
        async with taking_tokens(server, JWKS) as gate:

            async def come() -> None:
                said.append(await verdict(gate, server.token()))

            tasks.start_soon(come)
            await patience.begun()
        await until(lambda: said == [_UNANSWERED], "who waited was told")
        assert asyncio.all_tasks() <= before


async def test_an_outage_is_logged_once_and_so_is_its_end(clock: Clock) -> None:
    structlog.reset_defaults()
    server = AuthorizationServer()
    with structlog.testing.capture_logs() as lines:
        async with taking_tokens(server, JWKS) as gate:
            for down in (True, True, True, False, False, True, True):
                server.down = down
                clock.now += 601
                for kid in ("first", "invented"):
                    await verdict(gate, server.token(kid=kid))

    failed, back = (
        "The keys of the authorization server cannot be fetched",
        "The keys of the authorization server can be fetched again",
    )
    assert [line["event"] for line in lines if "keys" in line["event"]] == [failed, back, failed]


@pytest.mark.parametrize("kid", ["first", "rotated meanwhile"])
async def test_a_token_that_could_not_be_checked_is_not_called_invalid(clock: Clock, kid: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        if kid != "first":
            assert await verdict(gate, server.token()) == "somebody"
            clock.now += 31
        server.down = True
        with pytest.raises(ApiError, match="cannot be checked") as raised:
            await gate.authenticate([(b"authorization", f"Bearer {server.token(kid=kid)}".encode())])

    error = raised.value
    assert error.retryable and error.retry_after == 5 and error.hint == "Try again later."
    assert error.http_status == 502 and ISSUER not in error.message


async def test_keys_that_would_come_unencrypted_are_not_fetched() -> None:
    server = AuthorizationServer()
    server.description["jwks_uri"] = "http://id.example/keys"
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == _UNANSWERED

    assert server.asked["/keys"] == 0
