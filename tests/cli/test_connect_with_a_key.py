"""`dogubako connect --url --key-env`: a client is told where the key is, and no file ever holds the key."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import PATIENCE, WORKBENCH, serving
from tests.doors.shell import Said, dogubako

_URL = "https://tools.example/mcp"
_QUESTION = {"type": "promptString", "id": "TOOLBOX_KEY", "description": "API key of Dogubako", "password": True}


def _bearer(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def connect(folder: Path, *words: str) -> Said:
    return dogubako("connect", *words, folder=folder, tools=())


CLIENTS = [
    pytest.param(
        "claude-code",
        {"mcpServers": {"dogubako": {"type": "http", "url": _URL, "headers": _bearer("${TOOLBOX_KEY}")}}},
        "Set TOOLBOX_KEY to the key where you start Claude Code.",
        id="Claude Code",
    ),
    pytest.param(
        "cursor",
        {"mcpServers": {"dogubako": {"url": _URL, "headers": _bearer("${env:TOOLBOX_KEY}")}}},
        "Set TOOLBOX_KEY to the key where you start Cursor.",
        id="Cursor",
    ),
    pytest.param(
        "vscode",
        {
            "servers": {"dogubako": {"type": "http", "url": _URL, "headers": _bearer("${input:TOOLBOX_KEY}")}},
            "inputs": [_QUESTION],
        },
        "VS Code will ask for the key once and keep it; no variable has to be set.",
        id="VS Code",
    ),
]


@pytest.mark.parametrize(("client", "document", "advice"), CLIENTS)
def test_the_entry_names_the_key_in_the_words_of_the_client(
    client: str, document: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    said = connect(tmp_path, client, "--url", _URL, "--key-env", "TOOLBOX_KEY")

    assert (said.code, said.json) == (0, document)
    assert said.err.splitlines()[-1] == advice


@pytest.mark.parametrize(("client", "document", "advice"), CLIENTS)
def test_what_is_written_is_what_is_printed(client: str, document: dict[str, Any], advice: str, tmp_path: Path) -> None:
    said = connect(tmp_path, client, "--url", _URL, "--key-env", "TOOLBOX_KEY", "--write", "--no-check")
    path = Path(said.out.removeprefix("Wrote 'dogubako' to ").partition(". Restart")[0])

    assert json.loads(path.read_text()) == document
    assert said.err == f"{advice}\n"


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode"])
def test_without_a_key_the_entry_has_no_headers_and_needs_no_advice(client: str, tmp_path: Path) -> None:
    said = connect(tmp_path, client, "--url", _URL)

    assert "headers" not in said.out and "inputs" not in said.out
    assert said.err.endswith(":\n\n")


def test_vs_code_keeps_its_other_questions_and_asks_ours_once(tmp_path: Path) -> None:
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    other, own = {"id": "other"}, {**_QUESTION, "description": "My own words"}
    for before, after in (([other], [other, _QUESTION]), ([other, own], [other, own])):
        path.write_text(json.dumps({"inputs": before}))
        for _ in range(2):
            assert connect(tmp_path, "vscode", "--url", _URL, "--key-env", "TOOLBOX_KEY", "--write").code == 0

        assert json.loads(path.read_text())["inputs"] == after


def test_questions_of_an_unexpected_form_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"inputs": {}}')
    said = connect(tmp_path, "vscode", "--url", _URL, "--key-env", "TOOLBOX_KEY", "--write")

    assert said.code == 2 and "nothing was changed" in said.err
    assert path.read_text() == '{"inputs": {}}'


REFUSALS = [
    pytest.param(["cursor", "--key-env", "TOOLBOX_KEY"], "--key-env goes with --url;", id="no address"),
    pytest.param(["cursor", "--url", _URL, "--key-env", ""], "--key-env takes the name of a variable", id="no name"),
    pytest.param(
        ["cursor", "--url", _URL, "--key-env", "A}B"], "--key-env takes the name of a variable", id="a strange name"
    ),
    pytest.param(
        ["cursor", "--url", _URL, "--key-env", "DOGUBAKO_KEY"],
        "Names that begin with DOGUBAKO_ are settings.",
        id="a setting",
    ),
    pytest.param(
        ["claude-desktop", "--url", _URL, "--key-env", "TOOLBOX_KEY"],
        "Claude Desktop starts servers itself and has no place for an address.",
        id="a client that sends none",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSALS)
def test_what_cannot_work_is_one_sentence_and_writes_nothing(words: list[str], sentence: str, tmp_path: Path) -> None:
    said = connect(tmp_path, *words, "--write")

    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1 and sentence in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]


def test_a_key_in_place_of_its_name_is_refused_and_not_repeated(tmp_path: Path) -> None:
    secret, _ = KeyStore(tmp_path / "data").create("agent", ["read"])
    said = connect(tmp_path, "claude-code", "--url", _URL, "--key-env", secret, "--write")

    assert said.code == 2 and "never the key itself" in said.err
    assert secret not in said.out + said.err and not (tmp_path / ".mcp.json").exists()


@pytest.mark.slow
def test_what_is_written_opens_a_guarded_server_once_the_variable_is_filled_in(tmp_path: Path) -> None:
    secret, _ = KeyStore(tmp_path / "data").create("agent", ["read"])
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with serving(WORKBENCH, folder=tmp_path, settings=settings) as server:
        connect(tmp_path, "claude-code", "--url", f"{server.url()}/v1/tools", "--key-env", "TOOLBOX_KEY", "--write")
        entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["dogubako"]
        filled_in = {name: value.replace("${TOOLBOX_KEY}", secret) for name, value in entry["headers"].items()}
        statuses = [
            httpx2.get(entry["url"], headers=headers, timeout=PATIENCE).status_code
            for headers in (entry["headers"], filled_in)
        ]

    assert statuses == [401, 200]
