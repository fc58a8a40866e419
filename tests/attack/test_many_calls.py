"""Many calls at once for a while: the memory of the server does not rise with their number."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from dogubako.outbound.bounds import MEGABYTE
from tests.doors import messages
from tests.doors.processes import PATIENCE

from .conftest import Tally
from .server import Target, target

pytestmark = pytest.mark.attack

CLIENTS: Final = 32
# After so many calls of each client everything is loaded, and the allocator has what it needs for all of them at once.
WARM_UP: Final = 60
CALLS: Final = 250
# About 650 bytes for each call. It is less than 1 MB if nothing is kept.
MOST_MEGABYTES: Final = 5

ARGUMENTS: Final = {"name": "echo"}
REST: Final = (
    "/v1/tools/call",
    {"content-type": "application/json"},
    {"name": "describe_tool", "parameters": ARGUMENTS},
)
MCP: Final = (
    "/mcp",
    messages.modern_headers("tools/call", "describe_tool"),
    messages.request("tools/call", messages.call("describe_tool", ARGUMENTS, modern=True)),
)


@pytest.mark.parametrize("request_", [REST, MCP], ids=["REST", "MCP"])
def test_many_calls_at_once_leave_no_memory_behind(
    tmp_path: Path, tally: Tally, request_: tuple[str, dict[str, str], dict[str, object]]
) -> None:
    path, headers, message = request_
    body = json.dumps(message)

    def post(connection: HTTPConnection) -> int:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    with target(folder=tmp_path) as aim:
        _call(aim, post, WARM_UP)
        before = _anonymous_megabytes(aim)
        for status in _call(aim, post, CALLS):
            tally.check(status == 200, f"{path}: {status}")
        after = _anonymous_megabytes(aim)
        grown = f"{CLIENTS * CALLS} calls cost {after - before:.1f} MB: {before:.1f} → {after:.1f}"
        tally.check(after - before <= MOST_MEGABYTES, grown)


def _call(aim: Target, post: Callable[[HTTPConnection], int], calls: int) -> list[int]:
    """The status of each answer. Every client keeps its connection."""
    address = urlsplit(aim.url)
    assert address.hostname

    def client(_: int) -> list[int]:
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)) as connection:
            return [post(connection) for _ in range(calls)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [status for statuses in pool.map(client, range(CLIENTS)) for status in statuses]


def _anonymous_megabytes(aim: Target) -> float:
    """Memory of the process without pages of files, which the kernel takes away and brings back as it likes."""
    _, resident, shared, *_ = Path(f"/proc/{aim.command.process.pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
