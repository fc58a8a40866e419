"""What callers put into a URL is short."""

import httpx2
import pytest
from starlette.responses import JSONResponse

from dogubako.contract.errors import ValidationError
from dogubako.outbound.http import LONGEST_URL, Operation, connected, segment

TOO_LONG = "names, ids and filters of more than 16,384 characters cannot be sent"


@pytest.mark.parametrize(
    ("part", "quoted"),
    [("a b/c?d", "a%20b%2Fc%3Fd"), ("..", "%2E%2E"), ("a.b", "a.b"), ("道", "%E9%81%93")],
)
def test_nothing_in_a_segment_leads_elsewhere(part: str, quoted: str) -> None:
    assert segment(part) == quoted


def test_a_segment_of_megabytes_is_refused_before_it_is_quoted() -> None:
    with pytest.raises(ValidationError, match=TOO_LONG):
        segment("道" * 1_300_000)
    assert len(segment("a" * LONGEST_URL)) == LONGEST_URL


async def test_a_query_that_no_url_can_hold_is_a_mistake_of_the_caller() -> None:
    transport = httpx2.ASGITransport(app=JSONResponse({}))
    async with connected("n8n", "http://n8n.test", transport=transport) as client:
        with pytest.raises(ValidationError, match=TOO_LONG):
            await client.request("GET", "/", Operation(name="read"), params={"cursor": "a" * 3_900_000})
        fine = await client.request("GET", "/", Operation(name="read"), params={"cursor": "a" * 8_000, "none": None})

    assert fine.ok
