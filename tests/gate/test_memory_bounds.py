"""What callers say is remembered only in part: no caller can fill the memory that all of them share."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.engine.registration import ListFilter
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened

from .methods import Era
from .sheds import key_in, shed_in
from .speaking import Speaker, outcome

MOST_SESSIONS = 500
MOST_SUBSCRIPTIONS = 1_000
LONGEST_URI = 2_000
MOST_CHARACTERS = 50_000
LONGEST_ENVELOPE = 4_096
MOST_ENVELOPES = 1_000
LONGEST_FILTER = 200
MOST_FILTERS = 64


async def _introduced(client: Client, name: str) -> Visit:
    """A call by a client that calls itself this."""
    meta = {"io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"}}
    params = messages.call("look", {"text": "a"}, modern=True, meta=meta)
    return await client.post(
        "/mcp", messages.request("tools/call", params), messages.modern_headers("tools/call", "look")
    )


@pytest.mark.parametrize("length", [10, 3_500, 5_000, 1_000_000])
async def test_a_long_introduction_is_answered_and_not_remembered(tmp_path: Path, length: int) -> None:
    door = HttpApp(shed_in(tmp_path, audit=False))
    async with opened(door) as client:
        answers = [await _introduced(client, "x" * length) for _ in range(2)]

    assert [visit.response["result"]["content"][0]["text"] for visit in answers] == ["seen: a"] * 2
    assert all(len(envelope) <= LONGEST_ENVELOPE for envelope in door.mcp.fast_path._envelopes)
    # What is not remembered goes the long way.
    assert door.mcp.fast_path.taken == (2 if length < LONGEST_ENVELOPE else 0)


async def test_many_introductions_are_answered_and_not_all_remembered(tmp_path: Path) -> None:
    door = HttpApp(shed_in(tmp_path, audit=False))
    async with opened(door) as client:
        for number in range(MOST_ENVELOPES + 5):
            assert (await _introduced(client, f"client {number}")).status == 200

    assert 0 < len(door.mcp.fast_path._envelopes) <= MOST_ENVELOPES


def _kept(box: Toolbox) -> set[ListFilter]:
    return set(box.registry._names)


@pytest.mark.parametrize(
    "filter_",
    [
        pytest.param({"category": "x" * (LONGEST_FILTER + 1)}, id="a long category"),
        pytest.param({"tags": ["x" * (LONGEST_FILTER + 1)]}, id="a long tag"),
        pytest.param({"tags": [f"{number:020}" for number in range(20)]}, id="many tags"),
    ],
)
async def test_a_long_filter_is_answered_and_not_remembered(tmp_path: Path, filter_: dict[str, Any]) -> None:
    box = shed_in(tmp_path, audit=False)
    async with opened(HttpApp(box)) as client:
        short = await client.post("/v1/tools/search", {"query": "shed", "filters": {"category": "shed"}})
        before = _kept(box)
        long = await client.post("/v1/tools/search", {"query": "shed", "filters": filter_})

    assert short.json["total"] > 0 and before == {ListFilter(category="shed")}
    assert (long.status, long.json["total"]) == (200, 0)
    assert _kept(box) == before


async def test_many_filters_are_answered_and_not_all_remembered(tmp_path: Path) -> None:
    box = shed_in(tmp_path, audit=False)
    async with opened(HttpApp(box)) as client:
        for number in range(MOST_FILTERS + 5):
            await client.post("/v1/tools/search", {"query": "shed", "filters": {"category": f"category {number}"}})
        visit = await client.post("/v1/tools/search", {"query": "shed", "filters": {"category": "shed"}})

    assert visit.json["total"] > 0 and 0 < len(_kept(box)) <= MOST_FILTERS


REFUSED = (
    "Invalid value for parameter uri: At most 1,000 subscriptions, each of at most 2,000 characters",
    "VALIDATION_ERROR",
)


def _refusal(answer: Any) -> tuple[str, str]:
    return answer["error"]["message"], answer["error"]["data"]["code"]


async def test_a_session_subscribes_to_so_many_resources_and_no_more(tmp_path: Path) -> None:
    async with opened(HttpApp(shed_in(tmp_path, audit=False))) as client:
        speaker = await Speaker(client, {}, "2025").open()

        async def say(method: str, uri: str) -> Any:
            return outcome((await speaker.ask(f"resources/{method}", {"uri": uri})).response)

        first = [await say("subscribe", f"shed://{number}") for number in range(MOST_SUBSCRIPTIONS)]
        one_more, one_of_them = await say("subscribe", "shed://more"), await say("subscribe", "shed://7")
        await say("unsubscribe", "shed://8")
        after_leaving_one = await say("subscribe", "shed://more")

    assert first == [{}] * MOST_SUBSCRIPTIONS
    assert _refusal(one_more) == REFUSED
    assert (one_of_them, after_leaving_one) == ({}, {})


@pytest.mark.parametrize(
    ("uris", "taken"),
    [
        pytest.param([f"shed://{number}" for number in range(MOST_SUBSCRIPTIONS)], True, id="many"),
        pytest.param([f"shed://{number}" for number in range(MOST_SUBSCRIPTIONS + 1)], False, id="too many"),
        pytest.param(["shed://".ljust(LONGEST_URI, "x")], True, id="a long one"),
        pytest.param(["shed://".ljust(LONGEST_URI + 1, "x")], False, id="one that is too long"),
    ],
)
async def test_a_stream_subscribes_to_so_many_resources_and_no_more(
    tmp_path: Path, uris: list[str], taken: bool
) -> None:
    async with opened(HttpApp(shed_in(tmp_path, audit=False))) as client:
        speaker = await Speaker(client, {}, "2026").open()
        heard = await speaker.listen({"notifications": {"resourceSubscriptions": uris}})

    assert heard.get("method") == ("notifications/subscriptions/acknowledged" if taken else None)
    assert taken or _refusal(heard) == REFUSED


@pytest.mark.parametrize("era", ["2025", "2026"])
async def test_all_subscriptions_of_a_client_together_are_bounded(tmp_path: Path, era: Era) -> None:
    uris = [f"shed://{number}".ljust(LONGEST_URI, "x") for number in range(MOST_CHARACTERS // LONGEST_URI + 1)]
    async with opened(HttpApp(shed_in(tmp_path, audit=False))) as client:
        speaker = await Speaker(client, {}, era).open()
        if era == "2026":
            refused = await speaker.listen({"notifications": {"resourceSubscriptions": uris}})
        else:
            said = [outcome((await speaker.ask("resources/subscribe", {"uri": uri})).response) for uri in uris]
            refused = said.pop()
            assert said == [{}] * (len(uris) - 1)

    message = "Invalid value for parameter uri: All subscriptions together have at most 50,000 characters"
    assert _refusal(refused) == (message, "VALIDATION_ERROR")


@pytest.mark.parametrize("length", [LONGEST_URI, LONGEST_URI + 1])
async def test_a_session_subscribes_to_no_address_without_end(tmp_path: Path, length: int) -> None:
    async with opened(HttpApp(shed_in(tmp_path, audit=False))) as client:
        speaker = await Speaker(client, {}, "2025").open()
        answer = outcome((await speaker.ask("resources/subscribe", {"uri": "shed://".ljust(length, "x")})).response)

    assert answer == {} if length == LONGEST_URI else _refusal(answer) == REFUSED


async def _initialize(client: Client, key: str) -> Visit:
    opening = messages.request("initialize", messages.initialize())
    return await client.post("/mcp", opening, {**messages.legacy_headers(), "x-api-key": key})


async def test_a_caller_opens_so_many_sessions_and_no_more(tmp_path: Path) -> None:
    ann, bob = key_in(tmp_path, "ann", "read"), key_in(tmp_path, "bob", "read")
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", audit=False))) as client:
        first = [await _initialize(client, ann) for _ in range(MOST_SESSIONS)]
        refused, of_others = await _initialize(client, ann), await _initialize(client, bob)
        # Who needs no session is not kept out, and neither is who has one.
        modern = await Speaker(client, {"x-api-key": ann}, "2026").call("look")
        session = {**messages.legacy_headers(first[0].headers["mcp-session-id"]), "x-api-key": ann}
        ping = await client.post("/mcp", messages.request("ping"), session)
        ended = await client.request("DELETE", "/mcp", headers=session)
        again = await _initialize(client, ann)

    assert {visit.status for visit in first} == {200}
    assert (refused.status, refused.json["code"], refused.json["retryable"]) == (503, "BUSY", True)
    assert refused.json["error"] == "You have 500 open sessions, which is as many as one caller may have."
    assert "DELETE /mcp" in refused.json["hint"]
    assert [visit.status for visit in (of_others, ping, ended, again)] == [200] * 4
    assert modern["isError"] is False
