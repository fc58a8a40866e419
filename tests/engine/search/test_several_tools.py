"""What a question wants: to see or to change something, in one act or in several, and with which values."""

import pytest
from msgspec.structs import replace

from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.acts import acts
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.intent import asked_act
from dogubako.engine.search.values import without_values
from dogubako.packs import PACKS

from .documents import a_tool


@pytest.fixture(scope="module")
def own() -> ToolRegistry:
    registry = ToolRegistry()
    for pack in PACKS:
        for one in pack.tools:
            options = RegisterOptions(pack=pack.name, words=pack.search_words)
            registry.register(one() if isinstance(one, type) else one, options)
    return registry


@pytest.mark.parametrize(
    ("question", "act"),
    [
        ("which logins are stored", "read"),
        ("please show me the runs", "read"),
        ("how do I create a ticket", "change"),
        ("could you assign it to Bob", "change"),
        ("give me the list", "read"),
        ("give ticket 5 to Bob", "change"),
        ("the printer is broken", None),
        ("誰が直したか知りたい", "read"),
        ("どんな自動化がある？", "read"),
        ("消したフローを復活させて", "change"),
        ("シート名を変えて", "change"),
    ],
)
def test_the_form_of_a_question_tells_what_it_wants(question: str, act: str | None) -> None:
    assert asked_act(question) == act


def test_a_question_that_wants_to_see_something_finds_the_tool_that_shows_it(own: ToolRegistry) -> None:
    assert own.search("which logins are stored in n8n")[0].entry.name == "list_credentials"
    assert own.search("store a login in n8n")[0].entry.name == "create_credential"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("read ticket 12, then close it", ["read ticket 12", "close it"]),
        ("open a ticket and book an hour", ["open a ticket", "book an hour"]),
        ("list apples, pears and plums", ["list apples, pears and plums"]),
        ("thanks. show the runs", ["thanks.", "show the runs"]),
        ("フローを開いて、宛先を変えて", ["フローを開いて", "宛先を変えて"]),
    ],
)
def test_a_question_is_taken_apart_where_another_act_begins(question: str, parts: list[str]) -> None:
    assert list(acts(question)) == parts


def test_all_tools_of_a_question_with_several_acts_are_among_the_first_eight(own: ToolRegistry) -> None:
    found = [
        one.entry.name for one in own.search("create a project, add Tom as developer and log two hours of work")[:8]
    ]

    assert {"create_project", "create_membership", "create_time_entry"} <= set(found)


def test_the_tool_that_lists_what_the_best_one_needs_is_among_the_first_eight() -> None:
    index = ToolIndex()
    others = [a_tool(f"paint_{thing}", f"Paint a {thing}.", group="home") for thing in "abcdefghijkl"]
    paint = replace(a_tool("paint_lamp", "Paint a lamp.", group="home"), requires=("lamp_id",))
    index.put(paint, a_tool("list_lamps", "Names and places.", group="home"), *others)

    keys = [key for key, _ in index.find("paint_lamp").hits[:8]]
    assert keys[0] == "paint_lamp" and "list_lamps" in keys


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("PROJ-7にコメントして", "issue"),
        ("who commented on #12", "issue"),
        ("open https://example.com/a?b=1", "web page url"),
        ("rename a.txt", "file"),
        ("mail anna@example.com", "email address"),
        ("木村さんを外して", "さん"),
    ],
)
def test_values_are_read_as_what_they_are(question: str, read: str) -> None:
    assert read in without_values(question)
    assert without_values("4711") == "4711"
    assert without_values("base64 of tool-2") == "base64 of tool-2"


def test_what_a_server_says_of_its_tools_is_searched() -> None:
    index = ToolIndex()
    index.put(
        a_tool("apply", "Apply it.", server="Payroll of the staff."), a_tool("submit", "Submit it.", server="Beer.")
    )

    assert index.find("payroll").hits[0][0] == "apply"
