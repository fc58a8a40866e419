"""Every tool and every fact has a case, and no case is one-sided without need."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dogubako.packs.n8n.tools import TOOLS
from tests.n8n_contract.facts import FACTS
from tests.n8n_contract.one_sided import ONE_SIDED
from tests.n8n_contract.place import Place

FILES = sorted(Path(__file__).parent.glob("test_*.py"))
ASKING = ("call", "refused")


def tools_called(file: Path) -> Iterator[str]:
    """Tools that are called by their name, not through a variable."""
    for found in ast.walk(ast.parse(file.read_text())):
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute) and found.func.attr in ASKING:
            first = next(iter(found.args), None)
            if isinstance(first, ast.Constant):
                yield str(first.value)


def marked(module: ModuleType, marker: str) -> Iterator[Any]:
    """What the tests of a module say with this marker."""
    for name, case in vars(module).items():
        if name.startswith("test_"):
            yield from (mark.args for mark in getattr(case, "pytestmark", ()) if mark.name == marker)


def said_anywhere(marker: str) -> list[Any]:
    modules = [importlib.import_module(f"tests.n8n_contract.{file.stem}") for file in FILES]
    return [args for module in modules for args in marked(module, marker)]


def test_every_tool_has_a_case() -> None:
    called = {name for file in FILES for name in tools_called(file)}

    assert called == {tool.name for tool in TOOLS}


def test_every_fact_has_a_case() -> None:
    proved = {fact for facts in said_anywhere("proves") for fact in facts}

    assert proved == set(FACTS)


def test_every_one_sided_case_is_on_the_list_and_used() -> None:
    used = dict(said_anywhere("one_sided"))

    assert used == {kind: case.side for kind, case in ONE_SIDED.items()}
    assert all(case.reason.endswith(".") for case in ONE_SIDED.values())


@pytest.mark.parametrize("kind", ONE_SIDED)
async def test_a_case_is_one_sided_only_where_the_other_side_has_none(place: Place, kind: str) -> None:
    shown = kind in place.shows or (kind == "g-10000-whole" and await gives_all_to_who_insists(place))

    assert shown is (place.side == ONE_SIDED[kind].side)


async def gives_all_to_who_insists(place: Place) -> bool:
    execution = await place.execution("g-10000-oversized", ignoreDataSizeLimit="true")
    return bool(execution["data"]["resultData"]["runData"])


async def test_both_sides_show_every_other_kind(place: Place) -> None:
    recorded = {path.stem for path in (Path(__file__).parents[2] / "src/dogubako_sandbox/n8n/recordings").glob("*")}

    # What is running now cannot be kept; it is started when it is needed.
    assert recorded - set(ONE_SIDED) - place.shows <= {"l-slow-running"}
