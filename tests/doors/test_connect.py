"""`dogubako connect`: what it prints is what a client needs, and what it writes spoils nothing."""

import json
from pathlib import Path
from typing import Any

import mcp
import pytest

from .processes import PATIENCE, WORKBENCH, environment
from .shell import dogubako

CLIENTS = [
    pytest.param("claude-code", ".mcp.json", "mcpServers", "stdio", id="Claude Code"),
    pytest.param(
        "claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", None, id="Claude Desktop"
    ),
    pytest.param("cursor", ".cursor/mcp.json", "mcpServers", None, id="Cursor"),
    pytest.param("vscode", ".vscode/mcp.json", "servers", "stdio", id="VS Code"),
]


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")


@pytest.mark.parametrize(("client", "file", "key", "kind"), CLIENTS)
def test_the_configuration_is_printed_as_json(
    client: str, file: str, key: str, kind: str | None, tmp_path: Path
) -> None:
    said = dogubako("connect", client, "--read-only", folder=tmp_path)
    entry = said.json[key]["dogubako"]

    assert said.code == 0 and said.json.keys() == {key}
    assert Path(entry["command"]).name == "dogubako" and entry.get("type") == kind
    assert entry["args"] == ["stdio", "--tools", str(WORKBENCH), "--read-only"]
    assert file in said.err and not (tmp_path / file).exists()


@pytest.mark.parametrize(("client", "file", "key", "kind"), CLIENTS)
def test_writing_keeps_other_entries_and_a_copy_of_the_file(
    client: str, file: str, key: str, kind: str | None, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    before: dict[str, Any] = {"theme": "道具", key: {"other": {"command": "x"}, "dogubako": {"command": "old"}}}
    path.write_text(json.dumps(before, ensure_ascii=False), encoding="utf-8")
    said = dogubako("connect", client, "--write", folder=tmp_path)
    after = json.loads(path.read_text(encoding="utf-8"))

    assert said.code == 0 and file in said.out
    assert (after["theme"], after[key]["other"]) == ("道具", {"command": "x"})
    assert after[key]["dogubako"]["args"][0] == "stdio"
    assert json.loads(path.with_name(f"{path.name}.backup").read_text(encoding="utf-8")) == before


@pytest.mark.parametrize(("client", "file", "key", "kind"), CLIENTS)
def test_a_file_that_is_not_there_is_made(client: str, file: str, key: str, kind: str | None, tmp_path: Path) -> None:
    assert dogubako("connect", client, "--write", folder=tmp_path).code == 0
    assert json.loads((tmp_path / file).read_text())[key].keys() == {"dogubako"}


@pytest.mark.parametrize("content", ["{not json", "[]", '{"mcpServers": []}', '"words"'])
def test_a_file_that_cannot_be_understood_is_left_alone(content: str, tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(content)
    said = dogubako("connect", "claude-code", "--write", folder=tmp_path)

    assert said.code == 2 and "nothing was changed" in said.err
    assert (tmp_path / ".mcp.json").read_text() == content


@pytest.mark.parametrize(
    ("client", "key", "kind"), [("claude-code", "mcpServers", "http"), ("cursor", "mcpServers", None)]
)
def test_a_running_server_is_named_by_its_address(client: str, key: str, kind: str | None, tmp_path: Path) -> None:
    said = dogubako("connect", client, "--url", "http://127.0.0.1:3000/mcp", folder=tmp_path, tools=())
    entry = said.json[key]["dogubako"]

    assert entry == ({"type": kind} if kind else {}) | {"url": "http://127.0.0.1:3000/mcp"}


async def test_what_is_printed_really_starts_the_toolbox(tmp_path: Path) -> None:
    entry = dogubako("connect", "cursor", folder=tmp_path).json["mcpServers"]["dogubako"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = mcp.StdioServerParameters(
        command=entry["command"], args=entry["args"], env=environment(elsewhere), cwd=elsewhere
    )
    with (tmp_path / "stderr").open("w") as errors:
        async with mcp.Client(mcp.stdio_client(server, errlog=errors), read_timeout_seconds=PATIENCE) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}

    assert {"echo", "big"} <= names
