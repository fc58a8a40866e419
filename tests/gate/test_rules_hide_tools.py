"""What a rule of the house forbids to everybody is on no list; what is merely switched off is, where that is shown."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened

from .sheds import key_in, recorded_in, shed_in

RULES: list[Any] = [
    pytest.param({"read_only": True}, "put", id="read-only"),
    pytest.param({"read_only": True}, "wipe", id="read-only, a deletion"),
    pytest.param({"confirm": "deny"}, "wipe", id="no deletions"),
]
JSON = {"content-type": "application/json"}


async def listed(client: Client, key: dict[str, str]) -> set[str]:
    return {tool["name"] for tool in (await client.get("/v1/tools", **key)).json["tools"]}


async def found(client: Client, key: dict[str, str], query: str) -> set[str]:
    visit = await client.post("/v1/tools/search", {"query": query, "limit": 50}, {**JSON, **key})
    return {tool["name"] for tool in visit.json["results"]}


@pytest.mark.parametrize(("rule", "tool"), RULES)
async def test_rest_shows_no_tool_that_a_rule_forbids(tmp_path: Path, rule: dict[str, Any], tool: str) -> None:
    key = {"x-api-key": key_in(tmp_path, "ann", "admin")}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", **rule))) as client:
        on_the_list, in_the_search = await listed(client, key), await found(client, key, tool)
        itself = await client.get(f"/v1/tools/{tool}", **key)
        meant = await client.get(f"/v1/tools/{tool}s", **key)

    assert "look" in on_the_list and tool not in on_the_list | in_the_search
    assert (itself.status, itself.json["code"]) == (403, "READ_ONLY")
    assert f"Did you mean {tool}" not in str(meant.json["hint"])


async def test_what_is_switched_off_is_still_shown_with_the_reason(tmp_path: Path) -> None:
    box = shed_in(tmp_path)
    box.registry.disable("look")
    async with opened(HttpApp(box)) as client:
        tool = (await client.get("/v1/tools/look")).json

    assert tool["enabled"] is False and "switched off" in tool["reason"]


async def test_switching_counts_and_answers_for_what_a_rule_hides(tmp_path: Path) -> None:
    key = {"x-api-key": key_in(tmp_path, "ann", "admin"), **JSON}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", read_only=True, rate_limit_max=1))) as client:
        switched, too_often = [
            await client.request("PATCH", "/v1/tools/put", body={"enabled": False}, headers=key) for _ in range(2)
        ]

    assert (switched.status, switched.json["enabled"]) == (200, False)
    assert (too_often.status, too_often.json["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert [line["code"] for line in recorded_in(tmp_path)] == ["OK", "RATE_LIMIT_EXCEEDED"]
