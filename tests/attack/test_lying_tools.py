"""Other servers answer anything, and tools make results by hand: budget, schema and masks hold."""

import json
from pathlib import Path
from typing import Any, Final

import mcp_types
import pytest

from dogubako.response.tokens import count_tokens
from tests.doors import messages
from tests.doors.lying_tools import LIES
from tests.doors.processes import HERE

from .conftest import Tally
from .lying_server import ANSWERS
from .server import Target, target

pytestmark = pytest.mark.attack

_SECRET: Final = "n8n-key-4711-nobody-may-see"
_SETTINGS: Final = {"N8N_API_KEY": _SECRET, "N8N_URL": "http://127.0.0.1:9"}
_BUDGET: Final = 25_000
_WAYS: Final = ("lie", "lie_by_handler", "lie_by_change", "lie_by_schema", "lie_by_call")


def called(aim: Target, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of `tools/call` at `/mcp`."""
    body = messages.request("tools/call", messages.call(name, arguments, modern=True))
    answer = aim.http.post("/mcp", json=body, headers=messages.modern_headers("tools/call", name))
    response = messages.response_in(answer.headers["content-type"], answer.content)
    return response.get("result") or {"content": [{"type": "text", "text": json.dumps(response)}], "isError": True}


def check(tally: Tally, result: dict[str, Any], what: str) -> None:
    said = json.dumps(result, ensure_ascii=False)
    cost = sum(count_tokens(block.get("text") or json.dumps(block)) for block in result["content"])
    tally.check(bool(result["content"]), f"{what}: no content")
    tally.check(cost <= _BUDGET, f"{what}: {cost:,} tokens")
    tally.check(_SECRET not in said, f"{what}: the secret is in the answer")
    tally.check(_is_valid(result), f"{what}: not a valid result")


def _is_valid(result: dict[str, Any]) -> bool:
    try:
        mcp_types.CallToolResult.model_validate(result)
    except ValueError:
        return False
    return True


def test_results_made_by_hand(tmp_path: Path, tally: Tally) -> None:
    with target(HERE / "lying_tools.py", folder=tmp_path, words=(), settings=_SETTINGS) as aim:
        for way in _WAYS:
            for how in LIES:
                check(tally, called(aim, way, {"how": how}), f"{way}: {how}")
        check(tally, called(aim, "complain", {}), "an error with large details")


def test_blocks_of_lying_servers(tmp_path: Path, tally: Tally) -> None:
    with target(Path(__file__).with_name("lying_server.py"), folder=tmp_path, words=(), settings=_SETTINGS) as aim:
        for answer in ANSWERS:
            result = called(aim, "far_away", {"answer": answer})
            check(tally, result, answer)
            tally.check(result["isError"] is False, f"{answer}: {result['content']!r:.200}")
        wrong = {"name": "investigate_execution", "arguments": dict.fromkeys(map(str, range(1_500)), "")}
        body = messages.request("prompts/get", {**wrong, "_meta": messages.envelope()})
        refused = aim.http.post("/mcp", json=body, headers=messages.modern_headers("prompts/get", str(wrong["name"])))
        tally.check("Unknown parameter" in refused.text, f"1,500 unknown arguments: {refused.text:.200}")
        tally.check(count_tokens(refused.text) <= _BUDGET, f"1,500 unknown arguments: {len(refused.text):,} characters")
