"""The command line: tables for people, JSON for scripts, and exit codes for both."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox

from . import messages
from .answers import from_mcp, from_result
from .processes import HERE, WORKBENCH, run, tool_words
from .shell import at_a_terminal, dogubako

_CLOSED = HERE / "closed_pack.py"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_list_is_a_table_for_people_and_json_for_scripts(tmp_path: Path) -> None:
    table = dogubako("tools", "list", folder=tmp_path, tools=(WORKBENCH, _CLOSED))
    document = dogubako("tools", "list", "--json", folder=tmp_path, tools=(WORKBENCH, _CLOSED))
    rows = {line.split()[0]: line for line in table.out.splitlines()}
    listed = {one["name"]: one for one in document.json}

    assert (table.code, document.code) == (0, 0)
    assert rows["Name"].split() == ["Name", "Category", "State", "What", "it", "does"]
    assert rows.keys() - {"Name"} == listed.keys() >= {"echo", "big", "locked"}
    assert "disabled: The closed service is not configured. Set CLOSED_URL." in rows["locked"]
    assert listed["echo"]["enabled"] is True and listed["locked"]["enabled"] is False


def test_a_list_can_be_narrowed(tmp_path: Path) -> None:
    said = dogubako("tools", "list", "--json", "--category", "closed", folder=tmp_path, tools=(WORKBENCH, _CLOSED))
    none = dogubako("tools", "list", "--tag", "nothing", folder=tmp_path)

    assert [one["name"] for one in said.json] == ["locked"]
    assert none.out.startswith("No tools.")


def test_what_was_learned_is_shown_and_forgotten(tmp_path: Path) -> None:
    kept = tmp_path / "data" / "learned-phrases.jsonl"
    kept.parent.mkdir()
    kept.write_text('{"caller":"anna","tool":"picture","question":"draw it"}\n', encoding="utf-8")
    settings = {"DOGUBAKO_DATA_DIR": str(kept.parent)}

    shown = dogubako("tools", "learned", "--json", folder=tmp_path, tools=(), settings=settings)
    unsaid = dogubako("tools", "forget", folder=tmp_path, tools=(), settings=settings)
    gone = dogubako("tools", "forget", "--tool", "picture", folder=tmp_path, tools=(), settings=settings)
    empty = dogubako("tools", "learned", folder=tmp_path, tools=(), settings=settings)

    assert shown.json == [{"caller": "anna", "tool": "picture", "question": "draw it"}]
    assert unsaid.code != 0 and "Say what to forget" in unsaid.err
    assert gone.out == "1 phrase forgotten.\n"
    assert empty.out == "Nothing was learned.\n"


def test_a_search_shows_tools_that_can_be_called_first(tmp_path: Path) -> None:
    found = dogubako("tools", "search", "show a picture of a ticket", "--json", folder=tmp_path).json

    callable_ones = [one["enabled"] for one in found]
    scores = [one["score"] for one in found]
    assert callable_ones == sorted(callable_ones, reverse=True) and set(callable_ones) == {True, False}
    # One that needs a setting fits better, and comes later all the same.
    assert max(scores) > scores[0]


def test_a_search_finds_and_explains(tmp_path: Path) -> None:
    table = dogubako("tools", "search", "picture", "--explain", folder=tmp_path)
    document = dogubako("tools", "search", "picture", "--json", "--explain", folder=tmp_path)
    nothing = dogubako("tools", "search", "xyzzy", folder=tmp_path)
    empty = dogubako("tools", "search", " ", folder=tmp_path)

    assert table.out.splitlines()[1].split()[0] == "picture" and "picture in name 0." in table.out
    assert document.json[0]["name"] == "picture" and 0 < document.json[0]["score"] <= 1
    assert sum(one["share"] for one in document.json[0]["why"]) == pytest.approx(document.json[0]["score"], abs=0.001)
    assert nothing.code == 0 and nothing.out.startswith("Nothing here does that. Nearest:\n")
    assert len(nothing.out.splitlines()) == 4
    assert (empty.code, empty.err) == (1, "dogubako: Query is required\n")


def test_one_tool_is_shown_with_its_arguments(tmp_path: Path) -> None:
    page = dogubako("tools", "show", "big", folder=tmp_path)
    document = dogubako("tools", "show", "big", "--json", folder=tmp_path)
    unknown = dogubako("tools", "show", "ecco", folder=tmp_path)

    assert page.out.startswith("big 1.0.0 (workbench, read, enabled)\n")
    assert "items     integer  yes       How many items there are." in page.out
    assert document.json["inputSchema"]["required"] == ["items"]
    assert (unknown.code, unknown.err) == (1, "dogubako: Tool not found: ecco Did you mean echo?\n")


SPELLINGS = [
    pytest.param(["big(items: 3)"], id="as an agent writes it"),
    pytest.param(["big( items: 3, offset: 0 )"], id="with blanks"),
    pytest.param(["big", "items=3"], id="name=value"),
    pytest.param(["big", '{"items": 3}'], id="JSON"),
]


@pytest.mark.parametrize("words", SPELLINGS)
def test_a_call_can_be_written_in_several_ways(words: list[str], tmp_path: Path) -> None:
    said = dogubako("tools", "call", *words, "--json", folder=tmp_path)
    plain = dogubako("tools", "call", *words, folder=tmp_path)

    envelope = json.loads(said.json["content"][0]["text"])
    assert (said.code, said.json["isError"]) == (0, False)
    assert [item["id"] for item in envelope["data"]["items"]] == [0, 1, 2]
    assert json.loads(plain.out) == envelope


VALUES = [
    pytest.param("text=123", "123", id="a number stays text"),
    pytest.param("text=true", "true", id="a word stays text"),
    pytest.param('text={"a": 1}', '{"a": 1}', id="JSON stays text"),
    pytest.param("text=", "", id="nothing"),
    pytest.param("text=a=b=c", "a=b=c", id="more equals signs"),
    pytest.param("text=道具箱 🧰", "道具箱 🧰", id="Unicode"),
]


@pytest.mark.parametrize(("word", "text"), VALUES)
def test_a_value_has_the_type_of_its_argument(word: str, text: str, tmp_path: Path) -> None:
    assert dogubako("tools", "call", "echo", word, folder=tmp_path).out == f"{text}\n"


# Newer versions of Python read deeper, and then it is too deep for us.
TOO_DEEP = "nested too deeply" if sys.version_info >= (3, 13) else "not a JSON object."
BAD_CALLS: list[Any] = [
    pytest.param(["echo", "text"], "Arguments are written name=value.", id="no value"),
    pytest.param(["echo", "txt=a"], "Required parameter missing: text", id="misspelt"),
    pytest.param(["big", "items=many"], "Invalid type for parameter items: expected integer", id="mistyped"),
    pytest.param(["echo", "{bad"], "The arguments are not a JSON object.", id="no JSON"),
    pytest.param(["echo", '{"text": ' + "[" * 5000 + "]" * 5000 + "}"], TOO_DEEP, id="bottomless JSON"),
    pytest.param(["big(["], "Cannot read the call", id="half a call"),
    pytest.param(["big(items: " + "[" * 5000 + "])"], "Cannot read the call", id="bottomless call"),
    pytest.param(["ecco", "text=a"], "Tool not found: ecco", id="unknown tool"),
    pytest.param(["echo", "text=a", "--timeout", "0"], "parameter options.timeout", id="no time"),
    pytest.param(["echo", "text=a", "--max-tokens", "999999"], "must be at most 25000", id="a greedy budget"),
    pytest.param(["echo", "text=a", "--version", "9.9.9"], "Tool not found: echo 9.9.9", id="unknown version"),
    pytest.param(["fail", "kind=API_ERROR"], "Failed to update workflow: name is required", id="a failing service"),
    pytest.param(["fail", "kind=unexpected"], "Tool execution failed: fail", id="a broken tool"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD_CALLS)
def test_a_failed_call_says_why_on_stderr_and_ends_with_one(words: list[str], sentence: str, tmp_path: Path) -> None:
    said = dogubako("tools", "call", *words, folder=tmp_path)
    document = dogubako("tools", "call", *words, "--json", folder=tmp_path)

    assert (said.code, said.out) == (1, "") and sentence in said.err
    assert document.code == 1 and document.json["isError"] is True and sentence in document.json["content"][0]["text"]


def test_a_broken_tool_names_the_file_with_its_stack_trace(tmp_path: Path) -> None:
    settings = {"LOG_DIR": str(tmp_path / "logs")}
    said = dogubako("tools", "call", "fail", "kind=unexpected", folder=tmp_path, settings=settings)

    [sentence] = [line for line in said.err.splitlines() if line.startswith("The stack trace is in ")]
    log = Path(sentence.removeprefix("The stack trace is in ").removesuffix("."))
    assert "Traceback (most recent call last)" in log.read_text()


def test_a_lifespan_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "notes.py"
    file.write_text(
        "from dogubako import lifespan, tool\n\n@lifespan\nasync def notebook():\n    raise OSError('no disk')\n"
        "    yield\n\n@tool\nasync def hello() -> str:\n    'x'\n    return ''\n"
    )
    said = dogubako("tools", "call", "hello", folder=tmp_path, tools=(file,))

    assert (said.code, said.out) == (2, "")
    assert said.err == f"dogubako: {file}, line 5, could not be opened: OSError: no disk\n"


def test_a_picture_is_described_or_saved(tmp_path: Path) -> None:
    described = dogubako("tools", "call", "picture", folder=tmp_path)
    saved = dogubako("tools", "call", "picture", "--save", str(tmp_path / "new" / "folder"), folder=tmp_path)
    blocked = dogubako("tools", "call", "picture", "--save", str(tmp_path / "a file"), folder=tmp_path)

    assert described.out == "[image image/png, 70 bytes; --save FOLDER keeps it]\n"
    assert saved.code == 0
    assert (tmp_path / "new" / "folder" / "image-1.png").read_bytes().startswith(b"\x89PNG")
    assert blocked.code == 2 and blocked.err.startswith("dogubako: Cannot save to ")


def test_a_real_process_answers_as_python_does(box: Toolbox, tmp_path: Path) -> None:
    for name, arguments in (("echo", {"text": "道具箱 🧰 \u0001"}), ("fail", {"kind": "unexpected"})):
        words = ["tools", "call", name, json.dumps(arguments), "--json", *tool_words(WORKBENCH)]
        ended = run(*words, folder=tmp_path)
        answer = from_mcp(json.loads(ended.stdout))
        assert answer.comparable() == from_result(asyncio.run(box.call(name, arguments))).comparable()
        assert ended.returncode == (1 if answer.is_error else 0)


def test_without_a_command_it_speaks_mcp(tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text(messages.line(messages.request("initialize", messages.initialize())))
    with requests.open("rb") as opened:
        ended = run(folder=tmp_path, stdin=opened)

    assert ended.returncode == 0
    assert [one["result"]["serverInfo"]["name"] for one in messages.lines(ended.stdout)] == ["dogubako"]


@pytest.mark.slow
def test_a_real_process_prints_no_colours_into_a_pipe(tmp_path: Path) -> None:
    for words in (["tools", "list"], ["tools", "call", "slow", "seconds=0.1"]):
        ended = run(*words, *tool_words(WORKBENCH), folder=tmp_path, settings={"FORCE_COLOR": "", "TERM": "xterm"})
        assert ended.returncode == 0 and ended.stdout
        assert "\x1b" not in ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_terminal_gets_colours_and_progress(tmp_path: Path) -> None:
    doctor = at_a_terminal("doctor", *tool_words(WORKBENCH), folder=tmp_path)
    slow = at_a_terminal("tools", "call", "slow", "seconds=0.3", *tool_words(WORKBENCH), folder=tmp_path)

    assert "\x1b[32mok" in doctor
    assert "\x1b[K" in slow and "step" in slow and slow.endswith("Took 0.3 s.\r\n")


def test_a_person_at_a_terminal_can_be_asked(tmp_path: Path) -> None:
    words = ["tools", "call", "ask", "question=Which colour?", *tool_words(WORKBENCH)]
    screen = at_a_terminal(*words, folder=tmp_path, typed="green\n")

    assert "Which colour?" in screen and screen.rstrip().endswith("green")
