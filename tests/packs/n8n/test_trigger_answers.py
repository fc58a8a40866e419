"""What is sent to a trigger, and what is shown of its answer."""

from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dogubako.outbound.http import ServiceResponse
from dogubako.packs.n8n.trigger_calls import shown_answer
from dogubako.packs.n8n.trigger_requests import as_query
from tests.n8n_contract.test_triggers import trigger

from .wired import bench, told

PICTURE: Final = b"\x89PNG\r\n\x1a\n\x00\x01"


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{"a": 1}', "application/json", {"a": 1}),
        ("注文".encode(), "text/plain", "注文"),
        ("注文".encode("shift_jis"), "text/plain; charset=shift_jis", "注文"),
        (PICTURE, "image/png", "[a file, image/png, 10 bytes]"),
        (b"%PDF-1.7 \x00\x01", "", "[a file, of no type, 11 bytes]"),
        (b"", "", ""),
    ],
)
async def test_a_text_is_shown_and_a_file_is_described(body: bytes, kind: str, shown: Any) -> None:
    answer = ServiceResponse(status=200, body=body, content_type=kind)

    assert await shown_answer(answer) == {"status": 200, "body": shown}


async def test_a_redirection_says_where_to() -> None:
    answer = ServiceResponse(status=302, body=b"", headers=httpx2.Headers({"Location": "https://example.com/a"}))

    assert (await shown_answer(answer))["location"] == "https://example.com/a"


def test_null_is_left_out_of_a_query_and_a_list_repeats_its_name() -> None:
    asked = {"a": [1, None, "b"], "b": None, "c": {"d": [1]}, "e": True, "f": "x"}

    assert as_query(asked) == {"a": ["1", "b"], "c": '{"d":[1]}', "e": "true", "f": "x"}


@pytest.mark.parametrize("environ", [{}, {"N8N_MCP_TOKEN": "a-token"}])
async def test_what_only_n8n_starts_is_told_at_once(tmp_path: Path, environ: dict[str, str]) -> None:
    async with bench(tmp_path, None, **environ) as n8n:
        reasons = []
        for kind in ("executeWorkflowTrigger", "errorTrigger"):
            body: dict[str, Any] = {
                "name": kind,
                "nodes": [trigger("Go", kind, 1)],
                "connections": {},
                "allowInvalid": True,
            }
            made = await n8n.data("create_workflow", **body)
            reasons.append(told(await n8n.call("run_workflow", id=made["id"]))[1])
        await n8n.data("archive_workflow", id=made["id"])
        archived = await n8n.call("run_workflow", id=made["id"], pinData={} if environ else None)

    assert "started only by a workflow that calls this one" in reasons[0]
    assert "started only by a failure of a workflow" in reasons[1]
    assert told(archived)[1] == "Failed to run workflow: it is archived"
    assert "archive_workflow" in str(archived.error and archived.error.hint)
