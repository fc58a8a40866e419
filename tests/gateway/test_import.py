"""The configurations that people already have: read, entered with comments kept, and taken back."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dogubako.gateway.config_file import drop_servers, enter_servers, import_servers, undo_import
from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.import_config import PROGRAMS, found_in_file, place_of
from dogubako.gateway.settings import read_server
from dogubako.settings import SettingsError

FILES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Claude Desktop": (
        "claude_desktop_config.json",
        '{"theme": "x", "mcpServers": {"Git Hub": {"command": "npx", "args": ["-y", "gh"], "env": {"T": "1"}}}}',
        {"git-hub": {"command": "npx", "args": ["-y", "gh"], "env": {"T": "1"}}},
    ),
    "Claude Code": (
        ".mcp.json",
        '{"mcpServers": {"api": {"type": "http", "url": "${URL:-https://x.example}/mcp", "headers": {"A": "B ${K}"}}}}',
        {"api": {"url": "${URL:-https://x.example}/mcp", "transport": "http", "headers": {"A": "B ${K}"}}},
    ),
    "Claude Code with projects": (
        ".claude.json",
        '{"projects": {"/a": {"mcpServers": {"one": {"type": "stdio", "command": "one"}}}}, "mcpServers": {}}',
        {"one": {"command": "one"}},
    ),
    "Cursor": (
        "mcp.json",
        '{"mcpServers": {"s": {"url": "https://x.example/sse", "type": "sse", "headers": {"A": "${env:K}"}}}}',
        {"s": {"url": "https://x.example/sse", "transport": "sse", "headers": {"A": "${env:K}"}}},
    ),
    "VS Code with comments and inputs": (
        "mcp.json",
        """{
          // the servers
          "inputs": [{"type": "promptString", "id": "gh-token", "password": true,},],
          "servers": {"gh": {"type": "stdio", "command": "gh", "env": {"T": "${input:gh-token}", "U": "https://x//y"}},},
        }""",
        {"gh": {"command": "gh", "env": {"T": "${GH_TOKEN}", "U": "https://x//y"}}},
    ),
    "Windsurf": (
        "mcp_config.json",
        '{"mcpServers": {"w": {"serverUrl": "https://x.example/mcp", "disabledTools": ["drop"], "disabled": true}}}',
        {"w": {"url": "https://x.example/mcp", "exclude": ["drop"], "disabled": True}},
    ),
    "Zed": (
        "settings.json",
        '{"context_servers": {"z": {"source": "custom", "command": {"path": "z", "args": ["a"], "env": {"B": "c"}}}}}',
        {"z": {"command": "z", "args": ["a"], "env": {"B": "c"}}},
    ),
    "Gemini": (
        "settings.json",
        '{"mcpServers": {"g": {"httpUrl": "https://x.example/mcp", "includeTools": ["a"], "timeout": 5000}}}',
        {"g": {"url": "https://x.example/mcp", "include": ["a"]}},
    ),
    "Codex": (
        "config.toml",
        '[mcp_servers.c]\ncommand = "c"\nargs = ["x"]\n[mcp_servers.r]\nurl = "https://x.example/mcp"\n'
        'bearer_token_env_var = "C_TOKEN"\n',
        {"c": {"command": "c", "args": ["x"]}, "r": {"url": "https://x.example/mcp", "api_key": "${C_TOKEN}"}},
    ),
    "a package of the registry": (
        "server.json",
        json.dumps(
            {
                "name": "io.example/files",
                "description": "Files.",
                "packages": [
                    {
                        "registryType": "npm",
                        "identifier": "@x/files",
                        "version": "1.2.0",
                        "transport": {"type": "stdio"},
                        "packageArguments": [
                            {"type": "positional", "valueHint": "folder", "isRequired": True},
                            {"type": "named", "name": "--mode", "default": "fast"},
                        ],
                        "environmentVariables": [
                            {"name": "FILES_KEY", "isRequired": True, "isSecret": True},
                            {"name": "UNUSED"},
                        ],
                    }
                ],
            }
        ),
        {
            "files": {
                "command": "npx",
                "args": ["-y", "@x/files@1.2.0", "${FOLDER}", "--mode", "${MODE:-fast}"],
                "env": {"FILES_KEY": "${FILES_KEY}"},
                "about": "Files.",
            }
        },
    ),
    "an address of the registry": (
        "server.json",
        json.dumps(
            {
                "name": "com.example/analytics",
                "remotes": [
                    {
                        "type": "streamable-http",
                        "url": "https://{tenant}.example.com/mcp",
                        "variables": {"tenant": {"default": "eu"}},
                        "headers": [{"name": "X-Key", "value": "k {key}", "variables": {"key": {"isSecret": True}}}],
                    }
                ],
            }
        ),
        {"analytics": {"url": "https://${TENANT:-eu}.example.com/mcp", "headers": {"X-Key": "k ${KEY}"}}},
    ),
}


@pytest.mark.parametrize(("name", "text", "tables"), FILES.values(), ids=FILES.keys())
def test_every_known_form_becomes_a_valid_table(tmp_path: Path, name: str, text: str, tables: dict[str, Any]) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = found_in_file(path)

    assert {one.name: one.table for one in found} == tables
    for one in found:
        read_server(one.name, one.table)


def test_what_is_left_out_and_what_has_to_be_done_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"servers": {"A B": {"command": "a", "args": ["${input:my key}"], "autoApprove": ["x"]}}}')

    assert found_in_file(path)[0].notes == (
        "It is called a-b here.",
        "Left out: autoApprove.",
        "Set the variable MY_KEY, which the other program asked for.",
    )


def test_this_program_itself_is_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"dogubako": {"command": "x"}, "d": {"command": "/a/dogubako"}, "e": {"command": "e"}}}'
    )

    assert [one.name for one in found_in_file(path)] == ["e"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": 3}}', "\x00"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(SettingsError):
        found_in_file(path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_file_of_each_program_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="Looked for") as refused:
        place_of(program)
    place = str(refused.value).split("Looked for: ")[1].split(", ")[-1].rstrip(".")
    file = Path(place).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")

    assert place_of(program).absolute() == file


BEFORE = '# my box\nread_only = true  # careful\n\n[redmine]\nurl = "https://r.example"\n'


def test_servers_are_entered_and_dropped_and_comments_stay(tmp_path: Path) -> None:
    path = tmp_path / "dogubako.toml"
    path.write_text(BEFORE)
    path.chmod(0o640)
    table = {"command": "x", "args": ['a"b', "ü"], "env": {"K": "${K}"}, "read_only": True}
    enter_servers(path, {"one": table, "two": {"url": "https://x.example"}})
    entered = path.read_text()
    drop_servers(path, ["two"])
    dropped = tomllib.loads(path.read_text())

    assert entered.startswith(BEFORE)
    assert tomllib.loads(entered)["servers"] == {"one": table, "two": {"url": "https://x.example"}}
    assert dropped["servers"] == {"one": table}
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "dogubako.toml"
    enter_servers(path, {"one": {"command": "x"}})

    assert path.stat().st_mode & 0o777 == 0o600


def test_an_import_is_taken_back_to_the_byte(tmp_path: Path) -> None:
    path, store = tmp_path / "dogubako.toml", DefinitionStore(tmp_path)
    path.write_text(BEFORE)
    import_servers(path, store, {"one": {"command": "x"}})

    assert undo_import(path, store) == ["one"]
    assert path.read_text() == BEFORE
    with pytest.raises(SettingsError, match="no import"):
        undo_import(path, store)


def test_an_import_into_no_file_is_taken_back_to_no_file(tmp_path: Path) -> None:
    path, store = tmp_path / "dogubako.toml", DefinitionStore(tmp_path)
    import_servers(path, store, {"one": {"command": "x"}})
    undo_import(path, store)

    assert not path.exists()


def test_taking_an_import_back_keeps_what_was_changed_since(tmp_path: Path) -> None:
    path, store = tmp_path / "dogubako.toml", DefinitionStore(tmp_path)
    path.write_text(BEFORE)
    import_servers(path, store, {"one": {"command": "x"}})
    enter_servers(path, {"mine": {"command": "m"}})
    undo_import(path, store)

    assert tomllib.loads(path.read_text())["servers"] == {"mine": {"command": "m"}}


def test_a_broken_settings_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "dogubako.toml"
    path.write_text("[servers\n")
    with pytest.raises(SettingsError, match="nothing was changed"):
        enter_servers(path, {"one": {"command": "x"}})

    assert path.read_text() == "[servers\n"
