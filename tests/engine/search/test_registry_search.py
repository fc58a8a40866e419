"""The registry's search: what it tells the index, what it filters, and that it does nothing before it is asked."""

from collections.abc import Set
from typing import Annotated, Any

import pytest

from dogubako import tool
from dogubako.engine.registration import ListFilter, RegisterOptions, ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import IndexedSearch, Match, SearchResult


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


def found(registry: ToolRegistry, query: str, wanted: ListFilter | None = None) -> list[str]:
    return [match.entry.name for match in registry.search(query, wanted or ListFilter())]


@pytest.mark.parametrize(
    ("query", "best", "field"),
    [
        pytest.param("issues", "list_issues", "name", id="by name"),
        pytest.param("redmine", "list_issues", "category", id="by category"),
        pytest.param("automation", "list_executions", "tags", id="by tag"),
        pytest.param("workflow", "list_executions", "description", id="by description"),
        pytest.param("show", "list_executions", "parameter descriptions", id="by what a parameter means"),
        pytest.param("limit", "list_executions", "parameters", id="by a parameter"),
        pytest.param("実行を一覧", "list_executions", "everyday ja", id="by a keyword in Japanese"),
        pytest.param("ＷＥＢ", "web_search", "name", id="wide letters"),
    ],
)
def test_the_best_fit_comes_first_and_says_why(registry: ToolRegistry, query: str, best: str, field: str) -> None:
    first = registry.search(query, explain=True)[0]

    assert first.entry.name == best
    assert field in {reason.field for reason in first.why}
    assert 0 < first.score <= 1


def test_why_is_only_said_when_it_is_asked(registry: ToolRegistry) -> None:
    assert [match.why for match in registry.search("web")] == [()]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param(ListFilter(category="n8n"), ["list_executions"], id="category"),
        pytest.param(ListFilter(tags=("tracker",)), ["list_issues"], id="tag"),
        pytest.param(ListFilter(tags=("tracker", "automation")), [], id="several tags mean all of them"),
        pytest.param(ListFilter(enabled=False), [], id="disabled"),
        pytest.param(ListFilter(enabled=True), ["list_executions", "list_issues"], id="enabled"),
        pytest.param(ListFilter(category="nowhere"), [], id="an unknown category"),
    ],
)
def test_a_search_can_be_narrowed(registry: ToolRegistry, wanted: ListFilter, names: list[str]) -> None:
    assert sorted(found(registry, "list", wanted)) == names


def test_what_a_caller_may_not_see_is_not_found(registry: ToolRegistry) -> None:
    matches = registry.search("list", may_see=lambda entry: entry.pack == "redmine")

    assert [match.entry.name for match in matches] == ["list_issues"]


def test_a_switched_tool_leaves_and_comes_back(registry: ToolRegistry) -> None:
    enabled = ListFilter(enabled=True)
    assert found(registry, "web", enabled) == ["web_search"]

    registry.disable("web_search")
    assert found(registry, "web", enabled) == []
    assert found(registry, "web") == ["web_search"]

    registry.enable("web_search")
    assert found(registry, "web", enabled) == ["web_search"]


def test_a_tool_that_went_is_not_found_and_a_new_one_is(registry: ToolRegistry) -> None:
    assert found(registry, "web") == ["web_search"]

    registry.unregister("web_search")
    assert found(registry, "web") == []

    registry.register(web_search, RegisterOptions(pack="internet"))
    assert found(registry, "internet") == ["web_search"]


def test_the_version_that_answers_is_the_one_that_is_found(registry: ToolRegistry) -> None:
    registry.register(list_issues, RegisterOptions(pack="redmine", version="2.0", tags=("newest",)))
    assert found(registry, "newest") == ["list_issues"]

    registry.disable("list_issues", "2.0")
    assert found(registry, "newest") == []
    assert registry.search("tracker")[0].entry.version == "1.0.0"


def test_nothing_is_indexed_before_somebody_searches() -> None:
    class Told(IndexedSearch):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def put(self, entry: ToolRegistryEntry) -> None:
            self.names.append(entry.name)
            super().put(entry)

    told = Told()
    registry = ToolRegistry(search=told)
    registry.register(list_issues)
    registry.register(web_search)
    assert told.names == []

    registry.search("web")
    registry.search("list")
    assert sorted(told.names) == ["list_issues", "web_search"]

    registry.disable("web_search")
    registry.search("list")
    assert sorted(told.names) == ["list_issues", "web_search", "web_search"]


def test_another_search_can_take_its_place() -> None:
    class Backwards:
        def __init__(self) -> None:
            self.entries: list[ToolRegistryEntry] = []

        def put(self, entry: ToolRegistryEntry) -> None:
            self.entries = sorted([*self.entries, entry], key=lambda one: one.name, reverse=True)

        def drop(self, name: str) -> None:
            self.entries = [entry for entry in self.entries if entry.name != name]

        def prepare(self) -> None:
            """It is ready."""

        def find(
            self, query: str, allowed: Set[str] | None, *, explain: bool, learner: str | None = None
        ) -> SearchResult:
            fit = [one for one in self.entries if allowed is None or one.name in allowed]
            return SearchResult(ranked=[Match(entry=entry, score=1) for entry in fit])

    registry = ToolRegistry(search=Backwards())
    registry.register(list_issues)
    registry.register(web_search)

    assert found(registry, "x") == ["web_search", "list_issues"]
