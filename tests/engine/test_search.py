"""Which tool fits these words: enough for a few tools, behind the interface that stays."""

from collections.abc import Sequence
from typing import Annotated, Any

import pytest

from dogubako import tool
from dogubako.engine.entry import ListFilter, RegisterOptions, ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import Match


@tool(tags=("automation",), keywords={"ja": "実行を一覧する"})
async def list_executions(limit: Annotated[int, "How many runs to show."] = 5) -> Any:
    """List the runs of a workflow."""


@tool(tags=("tracker",))
async def list_issues() -> Any:
    """List the issues of a project."""


@tool
async def web_search() -> Any:
    """Search the web."""


@pytest.fixture
def registry() -> ToolRegistry:
    made = ToolRegistry()
    made.register(list_executions, RegisterOptions(pack="n8n"))
    made.register(list_issues, RegisterOptions(pack="redmine"))
    made.register(web_search, RegisterOptions(pack="web"))
    return made


@pytest.mark.parametrize(
    ("query", "best", "why"),
    [
        pytest.param("list_issues", "list_issues", ("name", "description"), id="by name"),
        pytest.param("redmine", "list_issues", ("category",), id="by category"),
        pytest.param("automation", "list_executions", ("tags",), id="by tag"),
        pytest.param("runs", "list_executions", ("description", "parameters"), id="by description"),
        pytest.param("実行を一覧する", "list_executions", ("description",), id="by a keyword in Japanese"),
        pytest.param("ＷＥＢ", "web_search", ("name", "category", "description"), id="wide letters"),
        pytest.param("sear", "web_search", ("name", "description"), id="the beginning of a word"),
    ],
)
def test_the_best_fit_comes_first_and_says_why(
    registry: ToolRegistry, query: str, best: str, why: tuple[str, ...]
) -> None:
    first = registry.search(query)[0]

    assert (first.entry.name, first.why) == (best, why)
    assert 0 < first.score <= 1


def test_a_whole_word_counts_more_than_a_part_of_one(registry: ToolRegistry) -> None:
    scores = {match.entry.name: match.score for match in registry.search("list issues")}

    assert scores["list_issues"] > scores["list_executions"]


@pytest.mark.parametrize("query", [pytest.param("", id="nothing"), pytest.param("?!", id="no words")])
def test_no_words_find_nothing(registry: ToolRegistry, query: str) -> None:
    assert registry.search(query) == []


def test_what_fits_nobody_finds_nothing(registry: ToolRegistry) -> None:
    assert registry.search("zebra") == []


def test_a_search_can_be_narrowed(registry: ToolRegistry) -> None:
    found = registry.search("list", ListFilter(category="n8n"))

    assert [match.entry.name for match in found] == ["list_executions"]


def test_another_search_can_take_its_place() -> None:
    class Backwards:
        def search(self, query: str, entries: Sequence[ToolRegistryEntry]) -> list[Match]:
            return [Match(entry=entry, score=1, why=()) for entry in reversed(entries)]

    registry = ToolRegistry(search=Backwards())
    registry.register(list_issues)
    registry.register(web_search)

    assert [match.entry.name for match in registry.search("x")] == ["web_search", "list_issues"]
