"""Normalisation is that of Unicode, and its time grows in step with the text."""

import ast
import re
import time
import unicodedata
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.normalization import nfc, nfkc
from dogubako.response.tokens import count_tokens

SOURCE: Final = Path(__file__).parents[2] / "src" / "dogubako"
_NORMALIZE: Final = "normalize"
# In step with the text it would be 4, with its square 16.
TOO_MUCH_GROWTH: Final = 8

# Marks of several classes, marks that appear only when they are normalised, letters that join others, and large ones.
PARTS: Final = "aeか日한\u0300\u0323\u0327\u3099ﾞ\u0f73\u0344\u1100\u1161\u11a8\u09c7\u09be\ufdfa①\u1e9b \n"
HOSTILE: Final = {
    "marks in the wrong order": "\u0300\u0323",
    "marks of three classes": "\u0300\u0327\u0323",
    "letters that become two marks each": "\u0f73",
    "halfwidth marks": "ﾞ\u0300",
    "letters with marks": "\u1e9b\u0323",
    "ligatures": "\ufdfa",
    "Korean letters": "\u1100\u1161\u11a8",
}


@given(st.text(st.sampled_from(PARTS) | st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(0, 60))
def test_ordinary_text_is_normalised_as_unicode_says(text: str, times: int) -> None:
    # The blank ends every run of marks, wherever a piece happens to end.
    whole = "".join(part + " " for part in re.findall(r".{1,20}", text, re.DOTALL)) * times

    assert nfkc(whole) == unicodedata.normalize("NFKC", whole)
    assert nfc(whole) == unicodedata.normalize("NFC", whole)


@pytest.mark.parametrize("marks", range(1, 31))
def test_marks_are_put_into_order_as_long_as_a_language_could_write_them(marks: int) -> None:
    text = ("a" + ("\u0300\u0323" * 15)[:marks]) * 100

    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("run", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("work", [nfkc, count_tokens])
def test_the_time_grows_in_step_with_the_text(run: str, work: object) -> None:
    assert callable(work)

    def seconds(size: int) -> float:
        text, taken = "a" + run * (size // len(run)), []
        for _ in range(3):
            started = time.thread_time()
            work(text)
            taken.append(time.thread_time() - started)
        return min(taken)

    # On a busy machine the small text may happen to be fast; it does not happen every time.
    assert any(seconds(16_000) < TOO_MUCH_GROWTH * seconds(4_000) for _ in range(3))


def _name(one: ast.alias) -> str:
    return one.name


def test_nobody_else_normalises() -> None:
    """A text of any length must not reach `unicodedata.normalize`."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) == "unicodedata.normalize")
        or (isinstance(node, ast.ImportFrom) and node.module == "unicodedata" and _NORMALIZE in map(_name, node.names))
    }

    assert found == {"contract/normalization.py"}
