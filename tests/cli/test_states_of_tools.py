"""`dogubako tools list|show`: the state of a tool is what a call of it would meet."""

from pathlib import Path

import pytest

from tests.doors.shell import dogubako
from tests.gate.sheds import SHED

READ_ONLY = {"DOGUBAKO_READ_ONLY": "true"}
NOTHING_DESTROYED = {"DOGUBAKO_CONFIRM": "deny"}

STATES = [
    pytest.param({}, "look", "enabled", id="reads"),
    pytest.param({}, "wipe", "enabled", id="destroys"),
    pytest.param(READ_ONLY, "look", "enabled", id="read-only, reads"),
    pytest.param(READ_ONLY, "put", "refused: The server is read-only", id="read-only, writes"),
    pytest.param(READ_ONLY, "wipe", "refused: The server is read-only", id="read-only, destroys"),
    pytest.param(NOTHING_DESTROYED, "put", "enabled", id="nothing is destroyed, writes"),
    pytest.param(
        NOTHING_DESTROYED,
        "wipe",
        "refused: Destructive tools are switched off on this server",
        id="nothing is destroyed, destroys",
    ),
    pytest.param({}, "list_issues", "disabled: Redmine is not configured. Set REDMINE_URL.", id="not configured"),
]


@pytest.mark.parametrize(("settings", "tool", "state"), STATES)
def test_a_list_shows_what_a_call_would_meet(tmp_path: Path, settings: dict[str, str], tool: str, state: str) -> None:
    table = dogubako("tools", "list", folder=tmp_path, tools=(SHED,), settings=settings)
    document = dogubako("tools", "list", "--json", folder=tmp_path, tools=(SHED,), settings=settings).json

    (row,) = (line for line in table.out.splitlines() if line.split()[0] == tool)
    (shown,) = (one for one in document if one["name"] == tool)
    assert f"  {state}  " in row
    assert (shown["enabled"], shown.get("reason")) == (state == "enabled", state.partition(": ")[2] or None)


@pytest.mark.parametrize(("settings", "tool", "state"), STATES)
def test_one_tool_shows_it_too(tmp_path: Path, settings: dict[str, str], tool: str, state: str) -> None:
    page = dogubako("tools", "show", tool, folder=tmp_path, tools=(SHED,), settings=settings)
    shown = dogubako("tools", "show", tool, "--json", folder=tmp_path, tools=(SHED,), settings=settings).json

    assert page.out.splitlines()[0].endswith(f", {state})")
    assert (shown["enabled"], shown.get("reason")) == (state == "enabled", state.partition(": ")[2] or None)
