"""What holds for every route of REST that takes a body: JSON and nothing else, and every failure is in the log."""

import pytest
import structlog
import structlog.testing

from dogubako import Effect, tool
from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.tools import ToolPack
from dogubako.transports.http.app import HttpApp

from .asgi import opened

JSON = {"content-type": "application/json"}


@tool(effect=Effect.READ)
async def look() -> str:
    """Look."""
    return "seen"


def _box() -> Toolbox:
    return build(Sources(environ={}, env_file=None), packs=[ToolPack("bench", [look])])


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/tools/call", {"name": "look"}),
        ("POST", "/v1/tools/search", {"query": "look"}),
        ("PATCH", "/v1/tools/look", {"enabled": False}),
    ],
)
async def test_a_body_that_a_page_can_send_unasked_is_not_taken(
    kind: str, method: str, path: str, body: dict[str, object]
) -> None:
    box = _box()
    async with opened(HttpApp(box)) as client:
        visit = await client.request(method, path, headers={"content-type": kind} if kind else {}, body=body)

    assert (visit.status, visit.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert box.registry.get("look").enabled


async def test_a_call_that_fails_is_logged_with_method_and_path() -> None:
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as log:
        async with opened(HttpApp(_box())) as client:
            await client.request("POST", "/v1/tools/call", headers=JSON, body={"name": "nothing"})

    said = [(one["method"], one["path"], one["code"]) for one in log if one["event"] == "HTTP error"]
    assert said == [("POST", "/v1/tools/call", "TOOL_NOT_FOUND")]
