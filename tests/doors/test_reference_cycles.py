"""A call that was answered is freed at once: it leaves no reference cycles for the garbage collector.

Cycles wait for a collection, and those that are alive during a small one wait for a full one. The more calls run at
once, the more of them do, and the memory of a busy server rises by megabytes.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from . import messages
from .processes import HERE, PATIENCE, WORKBENCH, serving

CALLS: Final = 40
WARM_UP: Final = 3

FAST: Final = ("describe_tool", {"name": "echo"})
REFUSED: Final = ("describe_tool", {"name": "no_such_tool"})
# Takes long enough that the server watches whether the client is still there.
WATCHED: Final = ("pause", {"marker": "paused", "seconds": 0.4})

Post = Callable[[str, dict[str, Any]], httpx2.Response]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    folder: Path = tmp_path_factory.mktemp("garbage")
    tools = (WORKBENCH, HERE / "odd_tools.py", HERE / "garbage_tools.py")
    with (
        serving(*tools, folder=folder) as server,
        httpx2.Client(base_url=server.url(), timeout=PATIENCE, trust_env=False) as client,
    ):
        # What the index of tools leaves behind, which is built in the background, is not of the calls.
        client.post("/v1/tools/search", json={"query": "echo"})
        count_garbage(client)
        yield client


def over_rest(client: httpx2.Client, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    return client.post("/v1/tools/call", json={"name": name, "parameters": arguments})


def over_mcp(client: httpx2.Client, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    message = messages.request("tools/call", messages.call(name, arguments, modern=True))
    return client.post("/mcp", json=message, headers=messages.modern_headers("tools/call", name))


def in_session(client: httpx2.Client) -> Post:
    opening = messages.request("initialize", messages.initialize())
    session = client.post("/mcp", json=opening, headers=messages.legacy_headers()).headers["mcp-session-id"]
    headers = messages.legacy_headers(session)
    client.post("/mcp", json=messages.notification("notifications/initialized"), headers=headers)

    def post(name: str, arguments: dict[str, Any]) -> httpx2.Response:
        message = messages.request("tools/call", messages.call(name, arguments, modern=False))
        return client.post("/mcp", json=message, headers=headers)

    return post


WAYS: Final[dict[str, Callable[[httpx2.Client], Post]]] = {
    "REST": lambda client: partial(over_rest, client),
    "MCP 2026": lambda client: partial(over_mcp, client),
    "MCP 2025": in_session,
}


@pytest.mark.parametrize("call", [FAST, WATCHED, REFUSED], ids=["fast", "watched", "refused"])
@pytest.mark.parametrize("way", WAYS)
def test_an_answered_call_leaves_no_reference_cycles(
    client: httpx2.Client, way: str, call: tuple[str, dict[str, Any]]
) -> None:
    post = WAYS[way](client)
    succeeded = {has_succeeded(post(*call)) for _ in range(WARM_UP)}
    count_garbage(client)

    succeeded |= {has_succeeded(post(*call)) for _ in range(CALLS)}

    assert count_garbage(client) < CALLS
    assert succeeded == {call is not REFUSED}


def has_succeeded(answer: httpx2.Response) -> bool:
    body = answer.json()
    return body["success"] if "success" in body else not body["result"]["isError"]


def count_garbage(client: httpx2.Client) -> int:
    counted: int = over_rest(client, "count_garbage", {}).json()["result"]["data"]
    return counted
