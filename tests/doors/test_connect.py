"""`dogubako connect`: what it prints is what a client needs, and what it writes spoils nothing."""

import json
from pathlib import Path
from typing import Any

import mcp
import pytest
import tomlkit

from dogubako.cli.clients import CLIENTS as KNOWN_CLIENTS

from .processes import PATIENCE, WORKBENCH, environment
from .shell import Said, dogubako

CLIENTS = [
    pytest.param("claude-code", ".mcp.json", "mcpServers", "stdio", id="Claude Code"),
    pytest.param(
        "claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", None, id="Claude Desktop"
    ),
    pytest.param("cursor", ".cursor/mcp.json", "mcpServers", None, id="Cursor"),
    pytest.param("vscode", ".vscode/mcp.json", "servers", "stdio", id="VS Code"),
    pytest.param("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", None, id="Windsurf"),
    pytest.param("zed", ".config/zed/settings.json", "context_servers", None, id="Zed"),
    pytest.param("gemini-cli", ".gemini/settings.json", "mcpServers", None, id="Gemini CLI"),
    pytest.param("jetbrains", ".junie/mcp/mcp.json", "mcpServers", None, id="JetBrains"),
]


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")


def _written(client: str, *words: str, folder: Path, **others: Any) -> Said:
    """Write a client's file without starting the entry first."""
    return dogubako("connect", client, "--write", "--no-check", *words, folder=folder, **others)


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
    said = _written(client, folder=tmp_path)
    after = json.loads(path.read_text(encoding="utf-8"))

    assert said.code == 0 and file in said.out
    assert (after["theme"], after[key]["other"]) == ("道具", {"command": "x"})
    assert after[key]["dogubako"]["args"][0] == "stdio"
    assert json.loads(path.with_name(f"{path.name}.backup").read_text(encoding="utf-8")) == before


@pytest.mark.parametrize(("client", "file", "key", "kind"), CLIENTS)
def test_a_file_that_is_not_there_is_made(client: str, file: str, key: str, kind: str | None, tmp_path: Path) -> None:
    assert _written(client, folder=tmp_path).code == 0
    assert json.loads((tmp_path / file).read_text())[key].keys() == {"dogubako"}


@pytest.mark.parametrize("content", ["{not json", "[]", '{"mcpServers": []}', '"words"'])
def test_a_file_that_cannot_be_understood_is_left_alone(content: str, tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(content)
    said = _written("claude-code", folder=tmp_path)

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


def test_opencode_gets_the_command_and_its_arguments_as_one_list(tmp_path: Path) -> None:
    entry = dogubako("connect", "opencode", folder=tmp_path).json["mcp"]["dogubako"]

    assert entry["type"] == "local" and entry["enabled"] is True
    assert Path(entry["command"][0]).name == "dogubako" and entry["command"][1] == "stdio"


def test_the_comments_and_tables_of_codex_stay(tmp_path: Path) -> None:
    file = tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('# 私の設定\nmodel = "x"  # keep\n\n[mcp_servers.other]\ncommand = "y"\n', encoding="utf-8")
    assert _written("codex", folder=tmp_path).code == 0
    text = file.read_text(encoding="utf-8")
    after = tomlkit.parse(text).unwrap()

    assert "# 私の設定" in text and "# keep" in text
    assert after["model"] == "x" and after["mcp_servers"]["other"] == {"command": "y"}
    assert after["mcp_servers"]["dogubako"]["args"][0] == "stdio"


def test_a_broken_toml_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text("[mcp_servers")
    said = _written("codex", folder=tmp_path)

    assert said.code == 2 and "not valid TOML; nothing was changed" in said.err and file.read_text() == "[mcp_servers"


@pytest.mark.parametrize("client", KNOWN_CLIENTS)
def test_every_client_is_connected_and_disconnected(client: str, tmp_path: Path) -> None:
    path = tmp_path / KNOWN_CLIENTS[client].path  # type: ignore[index]
    assert _written(client, "--name", "first", folder=tmp_path).code == 0
    before = path.read_text()
    assert _written(client, "--name", "second", folder=tmp_path).code == 0
    removed = dogubako("disconnect", client, "--name", "second", folder=tmp_path, tools=())
    again = dogubako("disconnect", client, "--name", "second", folder=tmp_path, tools=())

    assert removed.code == 0 and f"{path.name}.backup" in removed.out
    assert path.read_text().split() == before.split()
    assert again.code == 2 and "has no entry 'second'; nothing was changed" in again.err


def test_what_was_replaced_is_shown_without_its_secrets(tmp_path: Path) -> None:
    old = {"command": "old", "env": {"KEY": "hush-hush"}, "headers": {"A": "hush-hush"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"dogubako": old}}))
    said = _written("claude-code", folder=tmp_path)

    assert 'It replaces {"command": "old"}.' in said.out and ".mcp.json.backup" in said.out
    assert "hush-hush" not in said.out + said.err


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        pytest.param("localhost:3000", "http://localhost:3000/mcp", id="nothing but host and port"),
        pytest.param("127.0.0.1:3000/", "http://127.0.0.1:3000/mcp", id="loopback"),
        pytest.param("tools.example.com", "https://tools.example.com/mcp", id="another machine"),
        pytest.param("https://tools.example.com/", "https://tools.example.com/mcp", id="without the path"),
        pytest.param("http://[::1]:3000/box/mcp", "http://[::1]:3000/box/mcp", id="a path of its own"),
    ],
)
def test_a_short_address_is_completed(typed: str, written: str, tmp_path: Path) -> None:
    said = dogubako("connect", "cursor", "--url", typed, folder=tmp_path, tools=())
    assert said.json["mcpServers"]["dogubako"] == {"url": written}


@pytest.mark.parametrize("typed", ["ftp://x/mcp", "", "http://", "http://[::1", "https://x/mcp?key=1", "https://x/#a"])
def test_what_is_no_address_of_a_server_is_refused(typed: str, tmp_path: Path) -> None:
    said = _written("cursor", "--url", typed, folder=tmp_path, tools=())
    assert said.code == 2 and "--url takes the address" in said.err and not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("gemini-cli", {"httpUrl": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${TOOLBOX_KEY}"}}),
        (
            "windsurf",
            {"serverUrl": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${env:TOOLBOX_KEY}"}},
        ),
        ("codex", {"url": "http://127.0.0.1:9/mcp", "bearer_token_env_var": "TOOLBOX_KEY"}),
    ],
)
def test_a_key_is_a_reference_in_the_words_of_the_client(client: str, entry: dict[str, Any], tmp_path: Path) -> None:
    said = dogubako("connect", client, "--url", "127.0.0.1:9", "--key-env", "TOOLBOX_KEY", folder=tmp_path, tools=())
    document = tomlkit.parse(said.out).unwrap() if client == "codex" else said.json
    assert next(iter(document.values()))["dogubako"] == entry and "Set TOOLBOX_KEY to the key" in said.err


@pytest.mark.parametrize("client", ["zed", "jetbrains", "claude-desktop"])
def test_a_client_without_references_never_gets_a_key(client: str, tmp_path: Path) -> None:
    said = _written(client, "--url", "127.0.0.1:9", "--key-env", "TOOLBOX_KEY", folder=tmp_path, tools=())
    assert said.code == 2 and said.out == ""


def test_the_settings_of_the_folder_come_along(tmp_path: Path) -> None:
    (tmp_path / "dogubako.toml").write_text('[redmine]\nurl = "http://127.0.0.1:9"\n')
    (tmp_path / ".env").write_text("N8N_API_KEY=in-the-file-1234\n")
    shell = {"REDMINE_API_KEY": "in-the-shell-1234", "N8N_URL": "http://127.0.0.1:9", "N8N_API_KEY": "the-same-1234"}
    cursor = dogubako("connect", "cursor", folder=tmp_path, settings=shell)
    zed = dogubako("connect", "zed", folder=tmp_path, settings=shell)
    entry = cursor.json["mcpServers"]["dogubako"]

    assert entry["args"][:3] == ["stdio", "--directory", str(tmp_path)]
    assert entry["env"] == {"N8N_URL": "http://127.0.0.1:9", "REDMINE_API_KEY": "${env:REDMINE_API_KEY}"}
    assert zed.json["context_servers"]["dogubako"]["env"] == {"N8N_URL": "http://127.0.0.1:9"}
    assert "REDMINE_API_KEY: set in this shell only" in zed.err
    assert "1234" not in cursor.out + cursor.err + zed.out + zed.err


@pytest.mark.slow
def test_an_entry_is_started_before_it_is_written(tmp_path: Path) -> None:
    said = dogubako("connect", "cursor", "--write", "--packs", "core", folder=tmp_path)
    (tmp_path / "dogubako.toml").write_text("no_such_key = 1\n")
    (tmp_path / ".cursor" / "mcp.json").unlink()
    broken = dogubako("connect", "cursor", "--write", folder=tmp_path)
    assert not (tmp_path / ".cursor" / "mcp.json").exists()
    (tmp_path / "dogubako.toml").write_text('discovery = "search"\n')
    few = dogubako("connect", "cursor", "--write", "--sandbox", folder=tmp_path)

    assert "with which agents find the others." in few.err
    assert "find the others" not in said.err
    assert said.code == 0 and "The entry works: it starts, and lists" in said.err
    assert broken.code == 2 and "nothing was written" in broken.err and "no_such_key" in broken.err


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = dogubako("stdio", "--directory", str(tmp_path / "gone"), folder=tmp_path, tools=())
    assert said.code == 2 and "--directory" in said.err and "No such file or directory" in said.err
