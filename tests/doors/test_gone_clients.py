"""Clients that leave in the middle of a call: the tool behind it is stopped, by whatever door and way it was called."""

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from . import messages
from .processes import HERE, PATIENCE, WORKBENCH, serving
from .waiting import says


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(WORKBENCH, HERE / "odd_tools.py", folder=tmp_path_factory.mktemp("serve")) as command:
        yield command.url()


def _session(url: str) -> str:
    opening = messages.request("initialize", messages.initialize())
    return str(_post(f"{url}/mcp", opening, messages.legacy_headers()).headers["mcp-session-id"])


def _post(url: str, body: Any, headers: Mapping[str, str] | None = None) -> httpx2.Response:
    return httpx2.post(url, json=body, headers=headers, timeout=PATIENCE)


def _request(url: str, door: str, tool: str, arguments: dict[str, Any]) -> tuple[str, Mapping[str, str], Any]:
    if door == "rest":
        return "/v1/tools/call", {"content-type": "application/json"}, {"name": tool, "parameters": arguments}
    modern = door == "2026"
    headers = messages.modern_headers("tools/call", tool) if modern else messages.legacy_headers(_session(url))
    return "/mcp", headers, messages.request("tools/call", messages.call(tool, arguments, modern=modern))


def _send(url: str, path: str, headers: Mapping[str, str], body: Any) -> socket.socket:
    """A connection on which the request has been sent and the answer is still to come."""
    address = urlsplit(url)
    assert address.hostname and address.port
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", f"host: {address.netloc}", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    connection = socket.create_connection((address.hostname, address.port), PATIENCE)
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
    return connection


@pytest.mark.parametrize("tool", ["linger", "linger_talking"])
@pytest.mark.parametrize("door", ["rest", "2025", "2026"])
async def test_the_tool_stops_when_its_client_hangs_up(url: str, door: str, tool: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with closing(_send(url, *_request(url, door, tool, {"marker": str(marker)}))):
        await says(marker, "started")
    await says(marker, "cancelled")

    call = {"name": "echo", "parameters": {"text": "next"}}
    assert _post(f"{url}/v1/tools/call", call).json()["result"] == "next"


@pytest.mark.parametrize("door", ["rest", "2025", "2026"])
async def test_the_tool_stops_when_its_client_resets_the_connection(url: str, door: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with closing(_send(url, *_request(url, door, "linger", {"marker": str(marker)}))) as connection:
        await says(marker, "started")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await says(marker, "cancelled")


async def test_a_session_outlives_a_call_that_was_given_up(url: str, tmp_path: Path) -> None:
    session, marker = _session(url), tmp_path / "marker"
    given_up = messages.request("tools/call", messages.call("linger_talking", {"marker": str(marker)}, modern=False))
    with closing(_send(url, "/mcp", messages.legacy_headers(session), given_up)):
        await says(marker, "started")
    await says(marker, "cancelled")

    for tool in ("echo", "slow"):
        arguments = {"text": "a"} if tool == "echo" else {"seconds": 0}
        next_call = messages.request("tools/call", messages.call(tool, arguments, modern=False), request_id=2)
        answer = _post(f"{url}/mcp", next_call, messages.legacy_headers(session))
        assert answer.status_code == 200 and "isError" in answer.text
