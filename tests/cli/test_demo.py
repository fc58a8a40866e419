"""`dogubako demo`: every step of the tour answers as it says, in both languages."""

from pathlib import Path

import pytest

from dogubako.cli.demo import STEPS
from tests.doors.shell import at_a_terminal, dogubako


@pytest.mark.parametrize(
    ("lang", "start", "end"), [("en", "A tour of", "That was the tour"), ("ja", "ツアー", "以上です")]
)
def test_the_tour_plays_to_its_end(lang: str, start: str, end: str, tmp_path: Path) -> None:
    # Real services of this shell must not be touched.
    real = {"N8N_URL": "http://127.0.0.1:9", "REDMINE_URL": "http://127.0.0.1:9", "N8N_API_KEY": "x" * 20}
    said = dogubako("demo", "--play", "--lang", lang, folder=tmp_path, tools=(), settings=real)

    assert said.code == 0, said.err
    assert start in said.out and end in said.out and f"{len(STEPS)}/{len(STEPS)}" in said.out
    assert all(step.text("ja" if lang == "ja" else "en") in said.out for step in STEPS)
    assert "email is null" in said.out and "CONFIRMATION_REQUIRED" in said.out and said.err == ""


def test_a_tour_that_would_wait_for_nobody_says_so(tmp_path: Path) -> None:
    said = dogubako("demo", folder=tmp_path, tools=())
    assert said.code == 2 and "--play" in said.err


@pytest.mark.slow
def test_a_person_goes_on_with_enter(tmp_path: Path) -> None:
    screen = at_a_terminal("demo", folder=tmp_path, typed="\n" * len(STEPS))
    assert "Press Enter to go on" in screen and "That was the tour" in screen


@pytest.mark.slow
def test_the_bare_command_tells_a_person_what_to_type(tmp_path: Path) -> None:
    screen = at_a_terminal(folder=tmp_path)
    assert "dogubako demo" in screen and "dogubako connect" in screen and "jsonrpc" not in screen
