"""Every tool and every fact has a case, and no case is one-sided without need."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dogubako.contract.metadata import Effect
from dogubako.packs.redmine.tools import TOOLS
from tests.redmine_contract.facts import FACTS
from tests.redmine_contract.one_sided import ONE_SIDED
from tests.redmine_contract.place import Place
from tests.redmine_contract.seeded import PROJECTS
from tests.redmine_contract.services import Real

FILES = sorted(Path(__file__).parent.glob("test_*.py"))


def tools_named(file: Path, *asking: str) -> Iterator[str]:
    """Tools that are called by their name, not through a variable."""
    for found in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute) and found.func.attr in asking:
            first = next(iter(found.args), None)
            if isinstance(first, ast.Constant):
                yield str(first.value)


def named_anywhere(*asking: str) -> set[str]:
    """Tools of the cases in both worlds."""
    return {name for file in sorted(Path(__file__).parent.rglob("test_*.py")) for name in tools_named(file, *asking)}


def marked(module: ModuleType, marker: str) -> Iterator[Any]:
    """What the tests of a module, and the rows of their tables, say with this marker."""
    for name, case in vars(module).items():
        if name.startswith("test_"):
            for mark in getattr(case, "pytestmark", ()):
                rows = mark.args[1] if mark.name == "parametrize" else ()
                own = [each for row in rows for each in getattr(row, "marks", ())]
                yield from (each.args for each in (mark, *own) if each.name == marker)


def said_anywhere(marker: str) -> list[Any]:
    modules = [importlib.import_module(f"tests.redmine_contract.{file.stem}") for file in FILES]
    return [args for module in modules for args in marked(module, marker)]


def test_every_tool_is_seen_to_work() -> None:
    assert named_anywhere("call", "outcome") == {tool.name for tool in TOOLS}


def test_every_tool_that_writes_is_seen_refused_or_ignored() -> None:
    assert {tool.name for tool in TOOLS if tool.effect is not Effect.READ} <= named_anywhere("refused")


def test_every_fact_has_a_case() -> None:
    proved = {fact for facts in said_anywhere("proves") for fact in facts}

    assert proved == set(FACTS)


def test_every_one_sided_case_is_on_the_list_and_used() -> None:
    used = dict(said_anywhere("one_sided"))

    assert used == {kind: case.side for kind, case in ONE_SIDED.items()}
    assert all(case.reason.endswith(".") for case in ONE_SIDED.values())


async def speaks_xml(place: Place) -> bool:
    answer = await (await place.who("admin")).answer("GET", "/trackers.xml", headers={"Accept": "application/xml"})
    return answer.status == 200


async def speaks_japanese(place: Place) -> bool:
    body, japanese = {"issue": {"project_id": PROJECTS["webshop"]}}, {"Accept-Language": "ja"}
    _, answer = await (await place.who("admin")).ask("POST", "/issues.json", body, headers=japanese)
    return bool(answer["errors"] != ["Subject cannot be blank"])


async def gives_cookies(place: Place) -> bool:
    answer = await (await place.who("admin")).answer("GET", "/users.json?sort=login")
    return "set-cookie" in answer.headers


async def has_a_database(place: Place) -> bool:
    return isinstance(place.service, Real)


SHOWN = {"xml": speaks_xml, "languages": speaks_japanese, "cookies": gives_cookies, "recorded": has_a_database}


@pytest.mark.parametrize("kind", ONE_SIDED)
async def test_a_case_is_one_sided_only_where_the_other_side_has_none(place: Place, kind: str) -> None:
    assert await SHOWN[kind](place) is (place.side == ONE_SIDED[kind].side)
