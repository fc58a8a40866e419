"""Which tool comes first, and what its score means."""

import pytest

from dogubako.engine.search.constants import FIELD_RULES, MOST_MATCHES
from dogubako.engine.search.lexical import LexicalIndex
from tests.engine.search.documents import a_tool, index_of, names_found


@pytest.fixture
def tracker() -> LexicalIndex:
    return index_of(
        a_tool("list_issues", "List the issues of a project, page by page."),
        a_tool("create_issue", "Create an issue.", keywords="課題を作成する 새 일감 만들기 创建问题"),
        a_tool("delete_issue", "Delete an issue for good."),
        a_tool("list_executions", "List the runs of a workflow, newest first."),
        a_tool("web_search", "Search the web.", parameter_descriptions="What to look for."),
        a_tool("get_weather", "Current weather of a city.", examples="Will it rain in Kyoto tomorrow?"),
        a_tool("calendar_event_create", "Put an appointment into the calendar."),
    )


@pytest.mark.parametrize(
    ("query", "best"),
    [
        pytest.param("list_issues", "list_issues", id="a name"),
        pytest.param("ListIssues", "list_issues", id="a name in camel case"),
        pytest.param("list issues", "list_issues", id="a name in words"),
        pytest.param("what does delete_issue do to my project?", "delete_issue", id="a name inside a question"),
        pytest.param("list_isues", "list_issues", id="a letter is missing"),
        pytest.param("lsit_executions", "list_executions", id="two letters are swapped"),
        pytest.param("craete isseu", "create_issue", id="every word has a slip"),
        pytest.param("executing", "list_executions", id="another form of a word"),
        pytest.param("sear", "web_search", id="the beginning of a word"),
        pytest.param("scheduled appointments", "calendar_event_create", id="a plural"),
        pytest.param("rain in Kyoto", "get_weather", id="an example"),
        pytest.param("課題を作成したい", "create_issue", id="Japanese"),
        pytest.param("일감을 만들어 주세요", "create_issue", id="Korean"),
        pytest.param("我想创建一个问题", "create_issue", id="Chinese"),
    ],
)
def test_the_best_fit_comes_first(tracker: LexicalIndex, query: str, best: str) -> None:
    assert names_found(tracker, query)[0] == best


@pytest.mark.parametrize("field", [pytest.param(field, id=field) for field in FIELD_RULES])
def test_every_field_is_searched(field: str) -> None:
    others = [a_tool(f"tool_{number}", "It does something.") for number in range(5)]
    fields = {"name": "wanted", "description": "", field: "marmalade"}
    wanted = a_tool(
        fields.pop("name"), fields.pop("description"), **{key.replace(" ", "_"): fields[key] for key in fields}
    )

    assert names_found(index_of(*others, wanted), "marmalade") == [wanted.key]


def test_only_a_tool_that_was_named_scores_one(tracker: LexicalIndex) -> None:
    assert tracker.find("list_issues")[0] == ("list_issues", 1.0)
    assert tracker.find("issues list")[0][1] < 1
    assert all(score < 1 for _, score in tracker.find("please list all the issues of my project"))


def test_nearly_named_is_above_what_only_fits(tracker: LexicalIndex) -> None:
    (first, first_score), (_, second_score), *_ = tracker.find("list_isues")

    assert first == "list_issues"
    assert first_score >= 0.9 > second_score


def test_the_more_of_a_query_a_tool_holds_the_higher_its_score(tracker: LexicalIndex) -> None:
    def score(query: str) -> float:
        return dict(tracker.find(query))["get_weather"]

    assert (
        score("current weather of a city") > score("weather in some zoo") > score("weather zebra llama alpaca vicuna")
    )
    assert score("weather zebra llama alpaca vicuna") < 0.3


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("", id="nothing"),
        pytest.param("   \n", id="only spaces"),
        pytest.param("?!()[]{}*'\"\\", id="only symbols"),
        pytest.param("what is this and how do I", id="only words that say nothing"),
        pytest.param("zebra xylophone", id="nobody's words"),
        pytest.param("\ud800\udfff\x00", id="no text at all"),
    ],
)
def test_what_fits_nobody_finds_nothing(tracker: LexicalIndex, query: str) -> None:
    assert tracker.find(query) == []


def test_nothing_is_found_where_nothing_is() -> None:
    assert LexicalIndex().find("list issues") == []


def test_each_sentence_of_a_query_finds_its_tool() -> None:
    crowd = [a_tool(f"get_weather_{place}", f"Weather of {place} for the week.") for place in "abcdefghijkl"]
    index = index_of(*crowd, a_tool("send_email", "Send an email."), a_tool("get_weather", "Weather of a place."))
    query = "I travel next week and the weather of the week matters. How is the weather? Send an email to Bob."

    assert {"send_email", "get_weather"} <= set(names_found(index, query)[:5])
    assert names_found(index, "Send an email to Bob.")[0] == "send_email"


def test_a_good_tool_lifts_its_neighbours() -> None:
    texts = ("one", "two")
    index = index_of(
        *(a_tool("details", "Details by id.", key=f"{group}/details", group=group) for group in texts),
        a_tool("find_movies", "Find movies by genre.", key="two/find", group="two"),
    )

    assert names_found(index, "find movies by genre and their details") == ["two/find", "two/details", "one/details"]


def test_equally_good_tools_are_in_the_order_of_their_names() -> None:
    index = index_of(*(a_tool("echo", "Say it again.", key=key) for key in ("c", "a", "b")))

    assert names_found(index, "say again") == ["a", "b", "c"]


def test_what_is_not_allowed_takes_no_place_from_what_is() -> None:
    crowd = [a_tool(f"report_{number}", "Make a report about sales.") for number in range(3 * MOST_MATCHES)]
    index = index_of(*crowd, a_tool("lone", "It has a report somewhere in a long text about other things and sales."))

    assert "lone" not in names_found(index, "sales report")
    assert [key for key, _ in index.find("sales report", {"lone", "unknown"})] == ["lone"]
    assert index.find("report_1", {"lone"})[0][0] == "lone"
    assert index.find("sales report", set()) == []


def test_more_matches_than_anybody_reads_are_not_given() -> None:
    crowd = [
        a_tool(f"report_{number}", f"Report {'dull ' * (number % 40)}short.") for number in range(3 * MOST_MATCHES)
    ]

    assert len(index_of(*crowd).find("report")) < 2 * MOST_MATCHES
