"""A file of Redmine may be larger than anything else that it says."""

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dogubako.outbound.bounds import JSON_ANSWER, MEGABYTE
from dogubako.outbound.http import Operation, connected
from dogubako.packs.redmine.api import RedmineService

SIZE = JSON_ANSWER.most_bytes + MEGABYTE


async def me(request: Request) -> Response:
    return JSONResponse({"user": {"id": 1, "memberships": []}})


async def file(request: Request) -> Response:
    # A list of numbers: whoever decodes it pays for each of them, whoever saves it does not.
    return Response(b"[0" + b",0" * (SIZE // 2) + b"]", media_type="application/json")


async def test_a_large_file_is_downloaded_whatever_is_in_it() -> None:
    app = Starlette(routes=[Route("/users/current.json", me), Route("/attachments/download/1", file)])
    async with connected("Redmine", "http://redmine.test", transport=httpx2.ASGITransport(app=app)) as http:
        body = await RedmineService(http, "key").download("/attachments/download/1", Operation(name="download file"))

    assert len(body) > JSON_ANSWER.most_bytes
