"""Keys that we do not know yet: new ones are found, moved ones too, and invented ones cost the server little."""

from typing import Any

import anyio
import pytest

from dogubako.contract.errors import ApiError
from tests.doors.waiting import until

from .authorization_server import JWKS, AuthorizationServer, good_claims, private_key, signed_with_secret
from .key_set_time import Clock, Patience
from .token_gate import taking_tokens, verdict

_REFUSED = "The access token is not valid."
_UNANSWERED = "Access tokens cannot be checked: the authorization server does not answer."
_NOT_YET = "The access token cannot be checked yet: its key is not known, and the server was asked a moment ago."


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


async def test_invented_key_ids_do_not_make_us_ask_again_and_again(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        first = [await verdict(gate, server.token(kid=f"invented {number}")) for number in range(50)]
        asked = server.asked["/keys"]
        clock.now += 5
        second = [await verdict(gate, server.token(kid=f"invented {number}")) for number in range(50)]

    # The first fetch is for everybody, six more are for unknown keys, and one every five seconds.
    assert first == [_REFUSED] * 7 + [_NOT_YET] * 43
    # That one fetch did not have the others either, so that they need not be asked for.
    assert second == [_REFUSED] * 50
    assert (asked, server.asked["/keys"]) == (7, 8)


async def test_a_flood_of_invented_key_ids_delays_a_new_key_by_five_seconds_at_most(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        for number in range(50):
            await verdict(gate, server.token(kid=f"invented {number}"))
        server.add("second")
        with pytest.raises(ApiError) as raised:
            await gate.authenticate([(b"authorization", f"Bearer {server.token(kid='second')}".encode())])
        clock.now += raised.value.retry_after or 0
        # Strangers come first again, and bring the news.
        assert await verdict(gate, server.token(kid="invented again")) == _REFUSED
        assert await verdict(gate, server.token(kid="second")) == "somebody"

    assert raised.value.message == _NOT_YET and raised.value.retry_after == 5
    assert raised.value.retryable and raised.value.http_status == 502


async def test_an_old_token_that_is_repeated_leaves_fetches_for_others(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        await verdict(gate, server.token())
        for _ in range(100):
            assert await verdict(gate, server.token(kid="withdrawn")) == _REFUSED
        asked = server.asked["/keys"]
        server.add("second")
        assert await verdict(gate, server.token(kid="second")) == "somebody"
        clock.now += 31
        assert await verdict(gate, server.token(kid="withdrawn")) == _REFUSED

    assert (asked, server.asked["/keys"]) == (3, 5)


async def test_who_comes_while_a_fetch_runs_is_not_judged_by_what_was_asked_before(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, said = AuthorizationServer(), list[str]()
    async with taking_tokens(server, JWKS) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        patience, shown = Patience(monkeypatch), [server.jwks()]

        async def come(kid: str) -> None:
            said.append(await verdict(gate, server.token(kid=kid)))

        monkeypatch.setattr(server, "jwks", lambda: shown.pop(0))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(come, "invented")
            await patience.begun()
            # Too late for the fetch that runs.
            server.add("second")
            shown.append(AuthorizationServer.jwks(server))
            tasks.start_soon(come, "second")
            await anyio.wait_all_tasks_blocked()
            patience.let_go()

    assert sorted(said) == [_REFUSED, "somebody"] and len(patience.addresses) == 2


async def test_a_token_that_can_never_be_accepted_asks_nobody() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, signed_with_secret(good_claims("admin"), b"secret" * 8, "shared")) == _REFUSED

    assert server.asked.total() == 0


async def test_an_address_that_moved_is_learned_with_the_next_fetch(clock: Clock) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        server.description["jwks_uri"] = "https://id.example/gone"
        clock.now += 601
        assert await verdict(gate, server.token(sub="known")) == "known"
        await until(lambda: server.asked["/gone"] == 1, "the new address was asked")
        server.description["jwks_uri"] = JWKS
        server.add("second")
        clock.now += 6
        assert await verdict(gate, server.token(kid="second")) == "somebody"


@pytest.mark.parametrize("trouble", ["no description", "of another issuer"])
async def test_the_last_address_is_used_for_a_day_while_there_is_no_description(clock: Clock, trouble: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        if trouble == "no description":
            server.described_at = None
        else:
            server.description = {"issuer": "https://evil.example", "jwks_uri": "https://id.example/evil"}
        server.add("second")
        within = await verdict(gate, server.token(kid="second"))
        clock.now += 24 * 3600 + 1
        after = await verdict(gate, server.token(sub="after a day"))

    assert (within, after, server.asked["/evil"]) == ("somebody", _UNANSWERED, 0)


async def test_the_only_key_without_a_name_may_be_exchanged_for_another(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = AuthorizationServer()
    monkeypatch.setattr(server, "jwks", lambda: _nameless(AuthorizationServer.jwks(server)))
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(kid=None)) == "somebody"
        del server.keys["first"]
        server.add("second")
        renewed = await verdict(gate, server.token(kid=None, sub="after the exchange"))
        server.keys["second"] = ("RS256", private_key("RS256", "somebody else's"))
        forged = [server.token(kid=None, sub=f"forger {number}") for number in range(5)]
        monkeypatch.undo()
        del server.keys["second"]
        server.add("second")
        monkeypatch.setattr(server, "jwks", lambda: _nameless(AuthorizationServer.jwks(server)))
        before = server.asked["/keys"]
        verdicts = {await verdict(gate, token) for token in forged}

    assert (renewed, verdicts) == ("after the exchange", {_REFUSED})
    assert server.asked["/keys"] - before <= 2


def _nameless(document: dict[str, Any]) -> dict[str, Any]:
    return {"keys": [{name: value for name, value in key.items() if name != "kid"} for key in document["keys"]]}
