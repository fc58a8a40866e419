"""The sandbox is one world for three servers, and a fresh one when the server that ran it is gone."""

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.doors.processes import PATIENCE
from tests.redis_server import INSTALLED

from .replicas import COUNT, NGINX, Replicas, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

_OWNS = "This process runs the sandbox for all"
_START = {
    "name": "Start",
    "type": "n8n-nodes-base.manualTrigger",
    "typeVersion": 1,
    "position": [0, 0],
    "parameters": {},
}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    settings = {"DOGUBAKO_SANDBOX": "true", "DOGUBAKO_CALLER_CONCURRENCY": "64", "RATE_LIMIT_TOOL_MAX": "100000"}
    with replicas(tmp_path_factory.mktemp("replicas"), settings=settings) as box:
        yield box


def _made(box: Replicas, name: str, *, url: str) -> str:
    made = box.call("create_workflow", {"name": name, "nodes": [_START], "connections": {}}, url=url)
    assert not made["result"].get("isError"), made
    return str(json.loads(_text(made))["data"]["id"])


def _text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def _owners(box: Replicas) -> list[int]:
    said = [server.stderr.text().splitlines() for server in box.servers]
    return [number for number, lines in enumerate(said) if any(_OWNS in one and "pack=n8n" in one for one in lines)]


def test_what_is_made_at_one_server_is_found_at_all(box: Replicas) -> None:
    made = {_made(box, f"made at {url}", url=url) for url in box.urls}
    found = [box.code("get_workflow", {"id": one}, url=url) for one in made for url in box.urls]

    assert len(made) == COUNT and found == ["OK"] * COUNT * COUNT
    assert len(_owners(box)) == 1


def test_a_new_owner_begins_with_a_fresh_world(box: Replicas) -> None:
    """The last test: one of the servers is gone afterwards."""
    made = _made(box, "soon gone", url=box.urls[0])
    (owner,) = _owners(box)
    box.servers[owner].signal(signal.SIGKILL)
    others = [url for number, url in enumerate(box.urls) if number != owner]
    deadline = time.monotonic() + PATIENCE
    while box.code("get_workflow", {"id": made}, url=others[0]) != "NOT_FOUND":
        assert time.monotonic() < deadline, "nobody runs the sandbox"
    again = _made(box, "made afterwards", url=others[0])

    assert [box.code("get_workflow", {"id": again}, url=url) for url in others] == ["OK"] * (COUNT - 1)
    assert len(_owners(box)) == 2
