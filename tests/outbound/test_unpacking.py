"""Answers come packed with gzip, or not at all, and never keep the others waiting."""

import gzip
import json
import threading
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from dogubako.contract.errors import ApiError
from dogubako.outbound import bounds, http
from dogubako.outbound.bounds import Bound, unpack
from dogubako.outbound.http import Operation, ServiceResponse, connected

TEXT = json.dumps([number * 7919 for number in range(100_000)]).encode()
PACKED = gzip.compress(TEXT)
DAMAGED = PACKED[:2000] + bytes(100) + PACKED[2100:]
ASKED = Operation(name="read")
PATIENCE = 10


async def answer_to(body: bytes, encoding: str) -> ServiceResponse:
    """What our client makes of a service that sends this; the service echoes what the client says it takes."""

    async def service(scope: object, receive: object, send: object) -> None:
        request = Request(scope)  # type: ignore[arg-type]
        headers = {"Content-Encoding": encoding, "X-Accepted": request.headers["accept-encoding"]}
        await Response(body, headers=headers)(scope, receive, send)  # type: ignore[arg-type]

    transport = httpx2.ASGITransport(app=service)
    async with connected("n8n", "http://n8n.test", transport=transport) as client:
        return await client.request("GET", "/", ASKED)


@pytest.mark.parametrize(
    ("body", "encoding", "read"),
    [
        pytest.param(PACKED, "gzip", TEXT, id="packed"),
        pytest.param(PACKED, "X-GZIP ", TEXT, id="packed, said in another way"),
        pytest.param(gzip.compress(b"{}"), "gzip", b"{}", id="packed and small"),
        pytest.param(TEXT, "identity", TEXT, id="not packed"),
        pytest.param(b"", "gzip", b"", id="nothing to unpack"),
    ],
)
async def test_a_service_may_pack_its_answers(body: bytes, encoding: str, read: bytes) -> None:
    answer = await answer_to(body, encoding)

    assert answer.body == read
    assert answer.headers["x-accepted"] == "gzip"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        pytest.param(TEXT, "gzip", id="large, and no gzip"),
        pytest.param(b"{}", "gzip", id="small, and no gzip"),
        pytest.param(DAMAGED, "gzip", id="damaged"),
        pytest.param(TEXT, "br", id="an encoding that we did not ask for"),
    ],
)
async def test_an_answer_that_cannot_be_unpacked_is_garbled(body: bytes, encoding: str) -> None:
    with pytest.raises(ApiError) as caught:
        await answer_to(body, encoding)

    assert caught.value.message == "Failed to read: the answer of n8n was garbled"


async def test_an_answer_that_was_cut_off_is_read_as_far_as_it_came() -> None:
    answer = await answer_to(PACKED[: len(PACKED) // 2], "gzip")

    assert 0 < len(answer.body) < len(TEXT)
    with pytest.raises(ValueError, match="not JSON"):
        await answer.json()


async def test_a_few_bytes_that_hold_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "JSON_ANSWER", Bound(most_bytes=500_000))
    assert len(PACKED) < 500_000 < len(TEXT)

    with pytest.raises(ApiError) as caught:
        await answer_to(PACKED, "gzip")

    assert caught.value.message == "Failed to read: n8n answered with more than 500,000 bytes"


def test_unpacking_stops_where_it_is_too_much() -> None:
    assert len(bounds._decompressed(PACKED, "gzip", 1000)) == 1001


async def test_others_get_their_turn_while_a_large_answer_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    began, others_had_their_turn = threading.Event(), threading.Event()

    def unpack_late(pieces: Sequence[bytes], encoding: str, at_most: Bound) -> tuple[bytes, str | None]:
        began.set()
        assert others_had_their_turn.wait(PATIENCE), "nobody got a turn before it was unpacked"
        return unpack(pieces, encoding, at_most)

    monkeypatch.setattr(http, "unpack", unpack_late)
    unpacked: list[bytes] = []

    async def ask() -> None:
        unpacked.append((await answer_to(PACKED, "gzip")).body)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        with anyio.fail_after(PATIENCE):
            while not began.is_set():
                await anyio.lowlevel.checkpoint()
        assert unpacked == []
        others_had_their_turn.set()

    assert unpacked == [TEXT]
