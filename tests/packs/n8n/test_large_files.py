"""A workflow file as large as is allowed does not hold up the event loop."""

from pathlib import Path
from typing import Any, Final

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


def _keeping(workflow: bytes, published: bool) -> Answers:
    """An n8n that has this workflow, and keeps what it is sent."""
    live = b',"active":true,"activeVersionId":"v1","activeVersion":' + workflow if published else b""
    now = [workflow[:-1] + b',"id":"w1"' + live + b',"versionId":"v1"}']

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "PUT":
            now[0] = request.content[:-1] + b',"id":"w1"' + live + b',"versionId":"v2"}'
        body = b'{"data":[],"nextCursor":null}' if request.url.path.endswith("/history") else now[0]
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body)

    return answer


_CHANGED: Final = {"op": "setParameter", "node": "Node 5", "path": "value", "value": "changed"}


@pytest.mark.parametrize(
    ("tool", "arguments", "published"),
    [
        ("create_workflow_from_file", {"path": "large.json"}, False),
        ("replace_workflow_from_file", {"path": "large.json", "id": "w1"}, False),
        ("replace_workflow_from_file", {"path": "changed.json", "id": "w1"}, False),
        ("edit_workflow", {"id": "w1", "operations": [_CHANGED]}, False),
        ("edit_workflow", {"id": "w1", "operations": [_CHANGED]}, True),
    ],
    ids=["create", "replace with the same", "replace", "edit", "edit beside a published version"],
)
@best_of_three
async def test_a_large_workflow_does_not_hold_up_the_event_loop(
    tmp_path: Path, tool: str, arguments: dict[str, Any], published: bool
) -> None:
    # n8n answers with both versions.
    content = _workflow(_NODES // 2 if published else _NODES)
    (tmp_path / "large.json").write_bytes(content)
    (tmp_path / "changed.json").write_bytes(content.replace(b"lorem", b"other", 1))
    assert published or 9_000_000 < len(content) < 10 * 1024 * 1024

    async with bench(tmp_path, _keeping(content, published), DOGUBAKO_FILES=str(tmp_path)) as n8n:
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            result = await n8n.call(tool, **arguments)
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
