"""Commands are made from typed functions, and tables fit the terminal."""

import os
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner

from dogubako.cli import app
from dogubako.cli.commands import Commands, argument, option
from dogubako.cli.terminal import print_table


@pytest.fixture
def box() -> Commands:
    box = Commands("box", context_settings={"help_option_names": ["-h", "--help"]})

    @box.register()
    def turn_on(
        what: Annotated[Literal["lamp", "radio"], argument(help="What.")],
        rooms: Annotated[list[str] | None, argument(help="Where.")] = None,
        level: Annotated[int, option(min=1, max=9, help="How much.")] = 3,
        tag: Annotated[list[Path] | None, option(metavar="FILE", help="Files.")] = None,
        dark_mode: Annotated[bool | None, option(help="In the dark.")] = None,
        ask: Annotated[bool, option("--ask/--no-ask", help="Ask first.")] = True,
    ) -> None:
        """Turn something on. It stays on."""
        click.echo(repr((what, rooms, level, tag, dark_mode, ask)))

    @box.register("list")
    def everything() -> None:
        """List everything, however long the sentence is that says so in the help of the whole group."""

    return box


@pytest.mark.parametrize(
    ("words", "got"),
    [
        (["lamp"], ("lamp", None, 3, None, None, True)),
        (["radio", "a", "b", "--level", "9"], ("radio", ["a", "b"], 9, None, None, True)),
        (["lamp", "--tag", "x", "--tag", "y"], ("lamp", None, 3, [Path("x"), Path("y")], None, True)),
        (["lamp", "--dark-mode", "--no-ask"], ("lamp", None, 3, None, True, False)),
    ],
)
def test_the_annotations_say_what_is_parsed(box: Commands, words: list[str], got: tuple[object, ...]) -> None:
    said = CliRunner().invoke(box, ["turn-on", *words])

    assert (said.exit_code, said.stdout) == (0, f"{got!r}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing argument"),
        (["oven"], "'oven' is not one of 'lamp', 'radio'"),
        (["lamp", "--level", "10"], "10 is not in the range 1<=x<=9"),
        (["lamp", "--loud"], "No such option '--loud'"),
    ],
)
def test_a_wrong_word_is_a_sentence_and_exit_code_2(box: Commands, words: list[str], sentence: str) -> None:
    said = CliRunner().invoke(box, ["turn-on", *words])

    assert said.exit_code == 2
    assert sentence in said.stderr


def test_the_help_keeps_the_order_and_whole_sentences(box: Commands) -> None:
    text = " ".join(CliRunner().invoke(box, ["-h"]).stdout.split())

    assert "turn-on Turn something on list List everything, however long the sentence is that says so in" in text


def test_every_command_has_a_sentence_and_every_parameter_has_one() -> None:
    def walked(command: click.Command, path: str) -> list[str]:
        missing = [path] if not command.help else []
        missing += [f"{path} {one.name}" for one in command.params if not one.help]
        below = command.commands if isinstance(command, click.Group) else {}
        return [*missing, *(line for name, one in below.items() for line in walked(one, f"{path} {name}"))]

    assert walked(app, "dogubako") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell: str) -> None:
    said = CliRunner().invoke(app, ["completion", shell])

    assert said.exit_code == 0
    assert "_DOGUBAKO_COMPLETE" in said.stdout


def test_the_completion_knows_the_commands() -> None:
    asked = {"_DOGUBAKO_COMPLETE": "zsh_complete", "COMP_WORDS": "dogubako tools se", "COMP_CWORD": "2"}
    said = CliRunner().invoke(app, [], env=asked, prog_name="dogubako")

    assert said.stdout.splitlines()[:2] == ["plain", "search"]


def _table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, *row: str) -> list[str]:
    """The lines of a table on a terminal of this width; 0 is a pipe."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    monkeypatch.setattr("sys.stdout.isatty", lambda: bool(width))
    print_table(("Name", "Meaning"), [row], empty="")
    return click.unstyle(capsys.readouterr().out).splitlines()


def test_a_table_fits_the_terminal_and_breaks_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _table(capsys, monkeypatch, 22, "echo", "Say it once [or] twice")

    assert lines == ["Name  Meaning", "echo  Say it once [or]", "      twice"]


def test_a_wide_character_takes_two_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _table(capsys, monkeypatch, 16, "道具", "課題を検索します")

    assert lines == ["Name  Meaning", "道具  課題を検索", "      します"]


def test_a_pipe_gets_one_line_for_each_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert _table(capsys, monkeypatch, 0, "echo", "word " * 90) == ["Name  Meaning", f"echo  {'word ' * 90}".rstrip()]
