"""A workflow file as large as is allowed does not hold up the event loop."""

from pathlib import Path
from typing import Final

import anyio
import httpx2
import msgspec
import pytest

from tests.heartbeat import Heartbeat, best_of_three, check_stall, frozen_heap

from .wired import Answers, bench, told

# Measured alone, as the other stalls are.
pytestmark = pytest.mark.stall

_NODES: Final = 13_000


def _workflow(nodes: int) -> bytes:
    made = [
        {
            "id": f"node-{number}",
            "name": f"Node {number}",
            "type": "n8n-nodes-base.set",
            "position": [number, 0],
            "parameters": {"value": "lorem ipsum " * 50, "options": {}},
        }
        for number in range(nodes)
    ]
    return msgspec.json.encode({"name": "Large", "nodes": made, "connections": {}, "settings": {}})


def _keeping(workflow: bytes) -> Answers:
    """An n8n that has this workflow, whatever it is sent."""
    body = b'{"id":"w1",' + workflow[1:]

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body)

    return answer


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("create_workflow_from_file", {}), ("replace_workflow_from_file", {"id": "w1"})],
)
@best_of_three
async def test_a_large_file_does_not_hold_up_the_event_loop(
    tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    content = _workflow(_NODES)
    (tmp_path / "large.json").write_bytes(content)
    assert 9_000_000 < len(content) < 10 * 1024 * 1024

    async with bench(tmp_path, _keeping(content), DOGUBAKO_FILES=str(tmp_path)) as n8n:
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            result = await n8n.call(tool, path="large.json", **arguments)
            await anyio.sleep(0.03)
            stall = heart.take()

    assert result.code == "OK", result.content
    check_stall(stall)


@best_of_three
async def test_a_file_with_too_many_objects_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hostile.json").write_bytes(b'{"nodes":[' + b"[]," * 3_000_000 + b"0]}")

    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            result = await n8n.call("create_workflow_from_file", path="hostile.json")
            stall = heart.take()

    assert told(result)[1] == "Invalid value for parameter path: the file has more than 1,000,000 values"
    check_stall(stall)
