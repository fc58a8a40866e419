"""A search says when nothing fits, does no harm, and means what it says at any size."""

from collections.abc import Iterable

import pytest

from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.index import ToolIndex, is_known_script
from dogubako.engine.search.text import Document, document_of
from dogubako.packs import PACKS


def own_documents() -> list[Document]:
    registry = ToolRegistry()
    for pack in PACKS:
        for one in pack.tools:
            registry.register(one() if isinstance(one, type) else one, RegisterOptions(pack=pack.name))
    return [document_of(entry) for entry in registry.list()]


def index_of(documents: Iterable[Document]) -> ToolIndex:
    index = ToolIndex()
    index.put(*documents)
    return index


def a_document(name: str, description: str, *, destroys: bool = False) -> Document:
    fields = {"name": name, "description": description}
    return Document(key=name, name=name, group="", fields=fields, destroys=destroys)


@pytest.fixture(scope="module")
def own() -> ToolIndex:
    return index_of(own_documents())


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("close a ticket", "update_issue"),
        ("which automation broke", "list_executions"),
        ("look up on the internet", "web_search"),
        ("turn the flow off for now", "deactivate_workflow"),
        ("昨日の処理がなぜ失敗したか調べて", "diagnose_execution"),
        ("今日の作業時間をつけたい", "create_time_entry"),
    ],
)
def test_everyday_words_find_the_right_tool_first(own: ToolIndex, question: str, right: str) -> None:
    ranked = own.find(question)

    assert ranked.hits[0][0] == right
    assert not ranked.is_doubtful


@pytest.mark.parametrize(
    "question", ["transcribe this audio recording", "play some jazz", "タクシーを呼んで", "xyzzy", "!?"]
)
def test_where_nothing_fits_the_search_is_doubtful(own: ToolIndex, question: str) -> None:
    assert own.find(question).is_doubtful


@pytest.mark.parametrize(
    "question", ["the record of a run", "実行の記録", "a project with everything", "a user's account"]
)
def test_a_destructive_tool_is_not_first_unless_that_was_asked(own: ToolIndex, question: str) -> None:
    destroying = {one.key for one in own_documents() if one.destroys}

    assert own.find(question).hits[0][0] not in destroying


def test_destruction_that_was_asked_for_or_named_is_found(own: ToolIndex) -> None:
    assert own.find("erase the record of that run").hits[0][0] == "delete_execution"
    assert own.find("delete_execution").hits[0] == ("delete_execution", 1.0)


def test_only_destructive_tools_are_offered_with_doubt() -> None:
    index = index_of([a_document("purge_queue", "Purge a queue of messages.", destroys=True)])

    assert index.find("the messages of a queue").is_doubtful
    assert not index.find("purge the queue of messages").is_doubtful


@pytest.mark.parametrize("count", [10, 2_000])
def test_doubt_does_not_depend_on_how_many_tools_there_are(count: int) -> None:
    others = [
        a_document(f"rotate_valve_{number}", f"Rotate valve {number} of plant {number % 37} by some degrees.")
        for number in range(count)
    ]
    ticket = a_document("create_ticket", "Create a ticket: report a bug or a problem.")
    index = index_of([*others, ticket])

    assert index.find("I want to report a problem").hits[0][0] == "create_ticket"
    assert not index.find("I want to report a problem").is_doubtful
    assert index.find("sing me a lullaby").is_doubtful


def test_scores_fall_and_are_probabilities(own: ToolIndex) -> None:
    scores = [score for _, score in own.find("log two hours on the ticket").hits]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score < 0.9 for score in scores)


@pytest.mark.parametrize(
    ("text", "known"),
    [("list my tickets", True), ("이슈 목록을 보여줘", False), ("покажи задачи", False), ("42", False)],
)
def test_scripts_that_the_table_knows(text: str, known: bool) -> None:
    assert is_known_script(text) is known


def test_other_scripts_are_searched_by_words_alone() -> None:
    index = index_of(
        [a_document("weather", "오늘 날씨를 알려주는 도구"), a_document("stocks", "Show the price of shares.")]
    )

    ranked = index.find("오늘 서울 날씨를 보는 도구 price")

    assert ranked.hits[0][0] == "weather"


def test_the_order_of_insertion_does_not_matter() -> None:
    documents = own_documents()
    forward, backward = index_of(documents), index_of(reversed(documents))

    for question in ("who is in the team", "チケットを閉じて", "stop that run"):
        assert forward.find(question).hits == backward.find(question).hits


def test_what_is_not_allowed_is_not_found_and_changes_no_score(own: ToolIndex) -> None:
    few = {"list_issues", "show_issue", "list_projects"}
    alone = index_of(one for one in own_documents() if one.key in few)

    found = own.find("which bugs are open", few)

    assert {key for key, _ in found.hits} <= few
    assert [key for key, _ in found.hits][:1] == [key for key, _ in alone.find("which bugs are open").hits][:1]
