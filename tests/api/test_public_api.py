"""The public API is as it was reviewed. A tool author's code depends on it, so a change must be seen."""

import importlib
import inspect
import os
from difflib import unified_diff
from pathlib import Path

import pytest

from scripts.public_api import MODULES, describe_module, public_names, snapshot

SNAPSHOT = Path(__file__).with_name("public_api.txt")
ACCEPT = "UPDATE_SNAPSHOTS=1 .venv/bin/python -m pytest tests/api/test_public_api.py"

if os.environ.get("UPDATE_SNAPSHOTS"):
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")


def difference(reviewed: str, now: str) -> str:
    """A diff and how to accept it; empty when nothing changed."""
    lines = list(unified_diff(reviewed.splitlines(), now.splitlines(), "reviewed", "now", lineterm="", n=4))
    if not lines:
        return ""
    advice = f"The public API changed. If this is meant, accept it with\n  {ACCEPT}\nand add a line to CHANGELOG.md."
    return "\n".join([advice, "", *lines])


def test_the_public_api_is_as_it_was_reviewed() -> None:
    reviewed = SNAPSHOT.read_text(encoding="utf-8") if SNAPSHOT.exists() else ""

    if changed := difference(reviewed, snapshot()):
        pytest.fail(changed, pytrace=False)


def test_a_change_is_shown_as_a_diff_with_the_command_that_accepts_it() -> None:
    now = snapshot()

    shown = difference(now.replace("def tables(description: str)", "def tables(description: str, more: bool)"), now)

    assert "-def tables(description: str, more: bool) -> Any" in shown
    assert "+def tables(description: str) -> Any" in shown
    assert ACCEPT in shown
    assert difference(now, now) == ""


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists_and_says_what_it_is(name: str) -> None:
    module = importlib.import_module(name)
    named = [one.name for one in describe_module(name)]

    assert named == module.__all__ == public_names(name)
    assert [one for one in named if not hasattr(module, one)] == []
    undocumented = [one for one in describe_module(name) if not one.text and one.name != "__version__"]
    assert [one.name for one in undocumented] == []


def test_every_base_of_ours_is_public_as_well() -> None:
    public = {getattr(importlib.import_module(module), name) for module in MODULES for name in public_names(module)}
    bases = {base for one in public if inspect.isclass(one) for base in one.__mro__}

    assert [base for base in bases if base.__module__.startswith("dogubako") and base not in public] == []
