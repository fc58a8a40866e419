"""An argument that clients repeat in a header is compared with it; no short way leads past that."""

from typing import Annotated

import pytest
from pydantic import Field

from dogubako import Effect, tool
from dogubako.app import build
from dogubako.settings import Sources
from dogubako.tools import ToolPack
from dogubako.transports.http.app import HttpApp

from . import messages
from .asgi import opened

Region = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


@tool(effect=Effect.READ)
async def mirrored(region: Region) -> str:
    """Act in a region."""
    return region


@tool(effect=Effect.READ)
async def plain() -> str:
    """Act anywhere."""
    return "anywhere"


def _door() -> HttpApp:
    return HttpApp(build(Sources(environ={}, env_file=None), packs=[ToolPack("bench", [mirrored, plain])]))


@pytest.mark.parametrize(
    ("name", "headers", "status", "short"),
    [
        pytest.param("mirrored", {}, 400, False, id="not repeated"),
        pytest.param("mirrored", {"mcp-param-region": "south"}, 400, False, id="repeated wrongly"),
        pytest.param("mirrored", {"mcp-param-region": "north"}, 200, False, id="repeated"),
        pytest.param("plain", {}, 200, True, id="nothing to repeat"),
    ],
)
async def test_what_is_said_twice_must_be_the_same(
    name: str, headers: dict[str, str], status: int, short: bool
) -> None:
    door = _door()
    arguments = {"region": "north"} if name == "mirrored" else {}
    body = messages.request("tools/call", messages.call(name, arguments, modern=True))
    async with opened(door) as client:
        sent = {**messages.modern_headers("tools/call", name), **headers}
        visit = await client.request("POST", "/mcp", headers=sent, body=body)

    assert (visit.status, bool(door.mcp.fast_path.taken)) == (status, short)
