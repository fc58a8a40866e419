"""An agent without a language model that sees three tools, and completes the README's tours with them over MCP."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp_types import TextContent

from dogubako.response.check import assert_mcp_tool_response

from .processes import PATIENCE, environment, serving

ROOT = Path(__file__).parent.parent.parent
WAYS = [
    pytest.param("stdio", "legacy", id="stdio, handshake"),
    pytest.param("stdio", "2026-07-28", id="stdio, 2026"),
    pytest.param("http", "legacy", id="http, handshake"),
    pytest.param("http", "2026-07-28", id="http, 2026"),
]


class Agent:
    """Knows the three finders and nothing else. It goes where the first good line of a search leads."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def sees(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def find(self, wish: str) -> list[str]:
        text = await self._text("search_tools", {"query": wish})
        return re.findall(r"^(\w+)\(", text, re.MULTILINE)

    async def describe(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self._text("describe_tool", {"name": name}))["data"]
        return found

    async def do(self, wish: str, tool: str, arguments: dict[str, Any]) -> str:
        """Search in the words of a wish, look at the tool, and call it."""
        found = await self.find(wish)
        assert tool in found[:3], f"{wish}: {found}"
        known = (await self.describe(tool))["inputSchema"]["properties"]
        assert arguments.keys() <= known.keys()
        return await self._text("call_tool", {"name": tool, "arguments": arguments})

    async def _text(self, name: str, arguments: dict[str, Any]) -> str:
        result = await self.client.call_tool(name, arguments)
        assert_mcp_tool_response(result.model_dump(by_alias=True, exclude_none=True, mode="json"))
        first = result.content[0]
        assert isinstance(first, TextContent)
        return first.text


@asynccontextmanager
async def an_agent(way: str, mode: str, folder: Path) -> AsyncIterator[Agent]:
    with target(way, folder) as there:
        async with mcp.Client(there, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield Agent(client)


@contextmanager
def target(way: str, folder: Path) -> Iterator[Any]:
    """A server with the sandbox, as an address or as a process to talk with."""
    if way == "http":
        with serving(folder=folder, words=["--sandbox"]) as server:
            yield f"{server.url()}/mcp"
        return
    words = ["-m", "dogubako", "stdio", "--sandbox"]
    process = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment(folder), cwd=folder)
    with (folder / "stderr").open("w") as errors:
        yield mcp.stdio_client(process, errlog=errors)


def in_readme(name: str) -> list[dict[str, Any]]:
    """The parameters with which the README calls a tool."""
    calls = re.findall(r"-d '(\{.*\})'$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [call["parameters"] for call in map(json.loads, calls) if call["name"] == name]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "mode"), WAYS)
async def test_the_n8n_tour(way: str, mode: str, tmp_path: Path) -> None:
    async with an_agent(way, mode, tmp_path) as agent:
        assert await agent.sees() == {"search_tools", "describe_tool", "call_tool", "read_more"}

        failed = await agent.do("which workflow runs failed", "list_executions", *in_readme("list_executions"))
        await agent.do("summary of one execution", "get_execution", *in_readme("get_execution"))
        node = await agent.do(
            "what did one node receive and give out", "get_execution_by_node", *in_readme("get_execution_by_node")
        )
        cause = await agent.do("why did it go wrong", "diagnose_execution", *in_readme("diagnose_execution"))
        changed = await agent.do("change a node of a workflow", "edit_workflow", *in_readme("edit_workflow"))
        undone = await agent.do("bring back a workflow as it was", "restore_workflow", *in_readme("restore_workflow"))

    assert '"id":"23"' in failed
    assert "Normalise email" in node and "email is null" in cause
    assert json.loads(changed)["success"] and json.loads(undone)["success"]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "mode"), WAYS)
async def test_the_redmine_tour(way: str, mode: str, tmp_path: Path) -> None:
    change, impossible = in_readme("update_issue")
    async with an_agent(way, mode, tmp_path) as agent:
        urgent = await agent.do("list issues of a project, most urgent first", "list_issues", *in_readme("list_issues"))
        story = await agent.do("show an issue with its history", "show_issue", *in_readme("show_issue"))
        done = await agent.do("change the status of an issue and add a comment", "update_issue", change)
        logged = await agent.do("log time on an issue", "create_time_entry", *in_readme("create_time_entry"))
        refused = await agent.do("update an issue's progress", "update_issue", impossible)

    assert "The pay button is hidden on small screens" in urgent
    assert "Checkout fails for addresses with umlauts" in story
    assert '<status id="3">Resolved</status>' in done and "<hours>1.5</hours>" in logged
    assert refused.endswith("done_ratio: it comes from the issue's children")


@pytest.mark.slow
async def test_a_wrong_first_try_leads_to_a_right_second_one(tmp_path: Path) -> None:
    async with an_agent("stdio", "2026-07-28", tmp_path) as agent:
        wrong = await agent.client.call_tool("call_tool", {"name": "show_issue", "arguments": {"issue": 1}})
        hint = wrong.content[1]
        assert wrong.is_error and isinstance(hint, TextContent)
        [required] = json.loads(hint.text.split("The arguments of show_issue: ")[1])["required"]

        right = await agent.client.call_tool("call_tool", {"name": "show_issue", "arguments": {required: 1}})

        assert not right.is_error
