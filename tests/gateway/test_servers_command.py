"""`dogubako servers` and `dogubako import` with real processes: what they print, change, and exit with."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.doors.shell import Said, dogubako

from .upstreams import FAKE

pytestmark = pytest.mark.slow

WORDS = [sys.executable, "-I", "-S", str(FAKE), "legacy"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def servers(folder: Path, *words: str) -> Said:
    return dogubako(*words, folder=folder, tools=(), settings={"DOGUBAKO_DATA_DIR": str(folder / "data")})


def tables(folder: Path) -> dict[str, Any]:
    path = folder / "dogubako.toml"
    return dict(tomllib.loads(path.read_text()).get("servers", {})) if path.exists() else {}


def listed(folder: Path) -> list[str]:
    found = servers(folder, "tools", "list", "--json").json
    return [one["name"] for one in found if one["category"] == "fake"]


def test_a_server_is_added_with_one_command_and_its_tools_are_called_by_the_shown_names(folder: Path) -> None:
    added = servers(folder, "servers", "add", "--yes", "fake", *WORDS)
    shown = servers(folder, "servers", "show", "fake", "--json").json
    called = servers(folder, "tools", "call", "echo", "text=hello")
    checked = servers(folder, "servers", "check", "--json")

    assert (added.code, added.err.startswith("Connecting")) == (0, True)
    assert tables(folder) == {"fake": {"command": WORDS[0], "args": WORDS[1:]}}
    assert "echo" in [one["name"] for one in shown["served"]]
    assert (called.code, called.out.strip()) == (0, "hello")
    assert (checked.code, checked.json[0]["works"], checked.json[0]["held"]) == (0, True, 0)


def test_without_a_yes_nothing_is_changed(folder: Path) -> None:
    said = servers(folder, "servers", "add", "fake", *WORDS)

    assert (said.code, "echo" in said.out, "--yes" in said.err) == (1, True, True)
    assert tables(folder) == {}
    assert listed(folder) == []


@pytest.mark.parametrize(
    ("words", "code", "word"),
    [
        pytest.param(["fake", "/no/such/program"], 1, "does not work", id="no program"),
        pytest.param(["fake", sys.executable, "-c", "import sys; sys.exit('broken')"], 1, "broken", id="it ends"),
        pytest.param(["--env", "A=${NO_SUCH}", "fake", *WORDS], 2, "NO_SUCH", id="a missing variable"),
        pytest.param(["--env", "A", "fake", *WORDS], 2, "NAME=VALUE", id="half a variable"),
        pytest.param(["web", *WORDS], 2, "name of a pack", id="the name of a pack"),
        pytest.param(["Fake", *WORDS], 2, "a server's name", id="no name"),
    ],
)
def test_what_does_not_work_is_said_and_not_entered(folder: Path, words: list[str], code: int, word: str) -> None:
    said = servers(folder, "servers", "add", "--yes", *words)

    assert (said.code, word in said.err) == (code, True), said
    assert tables(folder) == {}


def test_a_table_that_was_written_by_hand_is_approved_by_a_command(folder: Path) -> None:
    command = ", ".join(map(json.dumps, WORDS[1:]))
    (folder / "dogubako.toml").write_text(f'[servers.fake]\ncommand = "{WORDS[0]}"\nargs = [{command}]\n')
    before = listed(folder)
    checked = servers(folder, "servers", "check")
    asked = servers(folder, "servers", "approve", "fake")
    one = servers(folder, "servers", "approve", "--yes", "fake", "echo")
    after_one = listed(folder)
    everything = servers(folder, "servers", "approve", "--yes", "fake")
    again = servers(folder, "servers", "approve", "fake")

    assert (before, checked.code, asked.code, one.code) == ([], 3, 1, 0)
    assert "echo: new" in asked.out
    assert after_one == ["echo"]
    assert (everything.code, len(listed(folder)) > 5) == (0, True)
    assert (again.code, again.out.strip()) == (0, "Everything of fake is approved.")


def test_a_server_is_removed_and_unknown_ones_are_named(folder: Path) -> None:
    servers(folder, "servers", "add", "--yes", "fake", *WORDS)
    removed = servers(folder, "servers", "remove", "fake")
    unknown = servers(folder, "servers", "show", "fake")

    assert (removed.code, tables(folder), listed(folder)) == (0, {}, [])
    assert (unknown.code, "There is no server 'fake'" in unknown.err) == (2, True)


def test_an_import_shows_asks_enters_approves_and_is_taken_back(folder: Path) -> None:
    (folder / "mcp.json").write_text(
        json.dumps(
            {
                "mcpServers": {
                    "Fake": {"command": WORDS[0], "args": WORDS[1:], "env": {"A_KEY": "very-secret", "B": "${HOME}"}},
                    "gone": {"command": "/no/such/program"},
                }
            }
        )
    )
    looked = servers(folder, "import", "mcp.json", "--dry-run")
    asked = servers(folder, "import", "mcp.json")
    nothing = tables(folder)
    done = servers(folder, "import", "mcp.json", "--yes")
    entered, names = tables(folder), listed(folder)
    twice = servers(folder, "import", "mcp.json", "--yes")
    undone = servers(folder, "import", "--undo")

    assert (looked.code, "fake" in looked.out, asked.code, nothing) == (0, True, 1, {})
    assert ("Written as it is: A_KEY." in looked.out, "very-secret" in looked.out + done.out) == (True, False)
    assert (done.code, sorted(entered), "echo" in names) == (0, ["fake", "gone"], True)
    assert "gone does not work now" in done.out
    assert (twice.code, "Nothing is to be done." in twice.out) == (0, True)
    assert (undone.code, tables(folder), listed(folder)) == (0, {}, [])


def test_a_restart_is_asked_for_and_secrets_are_shown_nowhere(folder: Path) -> None:
    servers(folder, "servers", "add", "--yes", "--env", "TOKEN=very-secret-value", "fake", *WORDS)
    said = [
        servers(folder, *words)
        for words in (
            ["servers", "restart", "fake"],
            ["servers", "list", "--json"],
            ["servers", "show", "fake", "--json"],
            ["config"],
            ["config", "--json"],
            ["doctor"],
        )
    ]

    assert [one.code for one in said[:-1]] == [0] * 5
    assert all("very-secret-value" not in one.out + one.err for one in said)
    assert said[2].json["environment"] == ["TOKEN"]
