"""An answer takes no more room than its kind needs, however small it is while it is packed."""

import gzip
import json
from typing import Final

import httpx2
import pytest
from starlette.responses import Response

from dogubako.contract.errors import ApiError
from dogubako.outbound.bounds import JSON_ANSWER, MEGABYTE, SMALL_DOCUMENT, Bound
from dogubako.outbound.http import Operation, ServiceResponse, connected

ASKED: Final = Operation(name="read")
# Eight megabytes of these would become two hundred.
LISTS: Final = b"[" + b"[]," * 2_700_000 + b"0]"
OBJECTS: Final = b'{"a":[' + b'{"":0},' * 1_100_000 + b"0]}"
NUMBERS: Final = b"  \n\t[" + b"0," * 2_000_000 + b"0]"
ROWS: Final = b"0,1,2\n" * 1_000_000


async def answer_to(
    body: bytes, *, of_all: Bound | None = None, of_this: Bound | None = None, status: int = 200, kind: str = "json"
) -> ServiceResponse:
    """What our client makes of a service that packs this."""
    headers = {"Content-Encoding": "gzip", "Content-Type": f"application/{kind}"}
    service = Response(gzip.compress(body, compresslevel=1), status, headers=headers)
    transport = httpx2.ASGITransport(app=service)
    async with connected("n8n", "http://n8n.test", transport=transport, at_most=of_all) as client:
        return await client.request("GET", "/", ASKED, at_most=of_this)


async def refusal_of(body: bytes, **how: object) -> str:
    with pytest.raises(ApiError) as caught:
        await answer_to(body, **how)  # type: ignore[arg-type]

    assert caught.value.hint == "Ask for less at once, or look at it in n8n itself."
    return caught.value.message.removeprefix("Failed to read: ")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LISTS, id="lists"),
        pytest.param(OBJECTS, id="objects"),
        pytest.param(NUMBERS, id="numbers, after some blanks"),
    ],
)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        pytest.param(200, "json", id="an answer"),
        pytest.param(500, "json", id="a refusal"),
        pytest.param(200, "octet-stream", id="called something else"),
    ],
)
async def test_what_would_grow_when_it_is_decoded_is_refused(body: bytes, status: int, kind: str) -> None:
    assert len(gzip.compress(body)) < 20_000

    assert await refusal_of(body, status=status, kind=kind) == "n8n answered with more than 1,000,000 values"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"[]," * 140_000 + b"0]", id="many lists"),
        pytest.param(ROWS, id="rows of a table, which are no JSON"),
        pytest.param(json.dumps(["one, two " * 100] * 9_000).encode(), id="long texts"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_what_stays_small_is_read(body: bytes) -> None:
    assert (await answer_to(body)).body == body


async def test_a_file_may_have_as_many_values_as_it_likes() -> None:
    assert (await answer_to(LISTS, of_this=Bound(most_bytes=16 * MEGABYTE))).body == LISTS


async def test_a_usual_answer_has_at_most_24_megabytes_unless_the_call_takes_more() -> None:
    body = b" " * (24 * MEGABYTE + 1)

    assert await refusal_of(body) == "n8n answered with more than 25,165,824 bytes"
    assert len((await answer_to(body, of_this=Bound(most_bytes=25 * MEGABYTE))).body) == len(body)


async def test_a_refusal_is_never_as_large_as_what_was_asked_for() -> None:
    body = b" " * (24 * MEGABYTE + 1)

    told = await refusal_of(body, of_this=Bound(most_bytes=25 * MEGABYTE), status=404)
    assert told == "n8n answered with more than 25,165,824 bytes"


@pytest.mark.parametrize(
    ("size", "fits"),
    [pytest.param(MEGABYTE, True, id="the most"), pytest.param(MEGABYTE + 1, False, id="more")],
)
async def test_a_service_of_small_documents_sends_small_documents(size: int, fits: bool) -> None:
    if fits:
        assert len((await answer_to(b" " * size, of_all=SMALL_DOCUMENT)).body) == size
    else:
        assert await refusal_of(b" " * size, of_all=SMALL_DOCUMENT) == "n8n answered with more than 1,048,576 bytes"


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        pytest.param(b"[" + b"0," * (JSON_ANSWER.most_values or 0) + b"0]", False, id="one too many"),
        pytest.param(b"[" + b"0," * ((JSON_ANSWER.most_values or 0) - 2) + b"0]", True, id="as many as may be"),
    ],
)
def test_values_are_counted(body: bytes, allowed: bool) -> None:
    assert JSON_ANSWER.allows_values_of(body) is allowed
