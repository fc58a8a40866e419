"""When a tool is switched, comes or goes, every client hears of it and sees it, whatever its era and door."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp
import mcp_types
import pytest

from .processes import HERE, PATIENCE, WORKBENCH, environment, serving, tool_words
from .waiting import until

_MOVING = HERE / "moving_pack.py"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(WORKBENCH, _MOVING, folder=tmp_path_factory.mktemp("serve")) as server:
        yield server.url()


@pytest.fixture
def echo_is_on_again(url: str) -> Iterator[None]:
    yield
    _switch(url, enabled=True)


def _switch(url: str, *, enabled: bool) -> None:
    answer = httpx2.patch(f"{url}/v1/tools/echo", json={"enabled": enabled}, timeout=PATIENCE)
    assert answer.status_code == 200 and answer.json()["enabled"] is enabled


def _switched_off(url: str) -> bool:
    _switch(url, enabled=False)
    return True


class Ear:
    """A client's message handler: remembers what it was told."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    async def __call__(self, message: object) -> None:
        self.heard.append(message)

    async def tools_changed(self) -> None:
        changed = mcp_types.ToolListChangedNotification
        await until(lambda: any(isinstance(one, changed) for one in self.heard), "notifications/tools/list_changed")


async def _names(client: mcp.Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


async def _code(client: mcp.Client) -> str:
    result = await client.call_tool("echo", {"text": "a"})
    return str(result.meta["code"]) if result.is_error and result.meta else "OK"


def _call(url: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = httpx2.post(f"{url}/v1/tools/call", json=body, timeout=PATIENCE).json()
    return answer


def _shown(url: str) -> dict[str, object]:
    shown = httpx2.get(f"{url}/v1/tools/echo", timeout=PATIENCE).json()
    return {key: shown.get(key) for key in ("enabled", "reason")}


@pytest.mark.usefixtures("echo_is_on_again")
async def test_a_client_of_the_handshake_era_hears_of_a_switch(url: str) -> None:
    ear = Ear()
    async with mcp.Client(f"{url}/mcp", mode="legacy", message_handler=ear, read_timeout_seconds=PATIENCE) as client:
        before = await _names(client)
        assert client.server_capabilities.tools and client.server_capabilities.tools.list_changed
        # The client opens its stream for news in the background; a switch before that would go unheard.
        await until(lambda: _switched_off(url) and bool(ear.heard), "the client hears of a switch")
        await ear.tools_changed()
        after, code = await _names(client), await _code(client)

    assert before - after == {"echo"} and code == "TOOL_DISABLED"
    assert _shown(url) == {"enabled": False, "reason": "It was switched off; an administrator can enable it."}


@pytest.mark.usefixtures("echo_is_on_again")
async def test_a_modern_subscription_hears_of_a_switch(url: str) -> None:
    async with mcp.Client(f"{url}/mcp", mode="2026-07-28", read_timeout_seconds=PATIENCE) as client:
        before = await _names(client)
        async with client.listen(tools_list_changed=True) as subscription:
            _switch(url, enabled=False)
            with anyio.fail_after(PATIENCE):
                event = await anext(aiter(subscription))
        after, code = await _names(client), await _code(client)

    assert type(event).__name__ == "ToolsListChanged"
    assert before - after == {"echo"} and code == "TOOL_DISABLED"


async def test_a_tool_that_came_can_be_called_at_once_by_every_http_door(url: str) -> None:
    call = {"name": "newcomer", "parameters": {"text": "hello"}}
    async with mcp.Client(f"{url}/mcp", mode="2026-07-28", read_timeout_seconds=PATIENCE) as client:
        await client.call_tool("come", {})
        over_mcp = await client.call_tool("newcomer", {"text": "hello"})
        listed = await _names(client)
        over_rest, wrong = _call(url, call), _call(url, {**call, "parameters": {}})
        await client.call_tool("go", {})
        gone = _call(url, call)

    assert "newcomer" in listed
    assert over_mcp.content[0].text == over_rest["result"] == "newcomer says hello"  # type: ignore[union-attr]
    assert (wrong["code"], wrong["error"]) == ("VALIDATION_ERROR", "Required parameter missing: text")
    assert gone["code"] == "TOOL_NOT_FOUND"


@pytest.mark.slow
async def test_over_stdio_a_client_hears_of_every_change_from_the_first_on(tmp_path: Path) -> None:
    ear = Ear()
    words = ["-m", "dogubako", "stdio", *tool_words(_MOVING)]
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment(tmp_path), cwd=tmp_path)
    with (tmp_path / "stderr").open("w") as errors:
        transport = mcp.stdio_client(server, errlog=errors)
        async with mcp.Client(transport, mode="legacy", message_handler=ear, read_timeout_seconds=PATIENCE) as client:
            before = await _names(client)
            await client.call_tool("come", {})
            await ear.tools_changed()
            after = await _names(client)
            # From here on the SDK is loaded, and tells the changes itself.
            await client.list_prompts()
            ear.heard.clear()
            await client.call_tool("go", {})
            await ear.tools_changed()
            at_last = await _names(client)

    assert after - before == {"newcomer"}
    assert at_last == before
