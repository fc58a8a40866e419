"""A served toolbox with a server of each era behind it: REST, MCP, and commands in other processes."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest

from tests.doors.processes import PATIENCE, running
from tests.doors.shell import dogubako
from tests.doors.waiting import until

from .upstreams import FAKE

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = [
        f'[servers.{era}]\ncommand = "{sys.executable}"\nargs = ["-I", "-S", "{FAKE}", "{era}"]\n'
        for era in ("legacy", "modern")
    ]
    (tmp_path / "dogubako.toml").write_text("".join(tables))
    return tmp_path


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    settings = {"DOGUBAKO_DATA_DIR": str(folder / "data"), "DOGUBAKO_PACKS": "core"}
    with running("serve", "--port", "0", folder=folder, settings=settings) as server:
        yield server.url()


def call(url: str, name: str, **arguments: Any) -> dict[str, Any]:
    body = {"name": name, "parameters": arguments}
    answer: dict[str, Any] = httpx2.post(f"{url}/v1/tools/call", json=body, timeout=PATIENCE).json()
    return answer


def servers(url: str) -> dict[str, dict[str, Any]]:
    found = httpx2.get(f"{url}/v1/servers", timeout=PATIENCE).json()["servers"]
    return {one["name"]: one for one in found}


async def test_an_approval_in_another_process_opens_a_running_toolbox(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await until(lambda: all(one["held"] for one in servers(url).values()), "both servers are held back")
    before = call(url, "echo", text="hello")
    monkeypatch.chdir(folder)
    for name in ("legacy", "modern"):
        data = {"DOGUBAKO_DATA_DIR": str(folder / "data"), "DOGUBAKO_PACKS": "core"}
        said = dogubako("servers", "approve", "--yes", name, folder=folder, tools=(), settings=data)
        assert said.code == 0, said
    await until(lambda: all(one["tools"] for one in servers(url).values()), "both servers are served")
    both = call(url, "echo", text="hello"), call(url, "modern_echo", text="hello")
    async with mcp.Client(f"{url}/mcp") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("modern_echo", {"text": "hello"})

    assert (before["success"], before["code"]) == (False, "TOOL_NOT_FOUND")
    assert [one["result"] for one in both] == [[{"type": "text", "text": "hello"}]] * 2
    assert {"echo", "modern_echo"} <= listed
    assert answer.content[0].text == "hello"  # type: ignore[union-attr]
