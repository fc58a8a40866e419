"""An index that tools came to and went from answers like one that was made anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.engine.search.lexical import LexicalIndex
from dogubako.engine.search.text import Document
from tests.engine.search.documents import a_tool, index_of, names_found
from tests.hypothesis_profiles import examples

_WORDS = ("list", "lists", "issue", "issues", "search", "web", "weather", "create", "課題", "作成", "n8n", "run2")
_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join)
_documents = st.builds(
    a_tool,
    _texts.map(lambda text: text.replace(" ", "_")),
    _texts,
    key=st.sampled_from("abcdef"),
    group=st.sampled_from(("", "one", "two")),
    parameters=_texts,
)
_queries = st.one_of(_texts, st.sampled_from(("lisst isue", "create. Then search the web!", "list_issue", "weathre")))


@settings(deadline=None, max_examples=examples(150))
@given(changes=st.lists(st.one_of(_documents, st.sampled_from("abcdef")), max_size=14), query=_queries)
def test_any_coming_and_going_leaves_an_index_like_a_fresh_one(changes: list[Document | str], query: str) -> None:
    index, kept = LexicalIndex(), dict[str, Document]()
    for change in changes:
        if isinstance(change, str):
            index.drop(change)
            kept.pop(change, None)
        else:
            index.put(change)
            kept[change.key] = change
        # Asked in between, so that everything that is kept for the next query has been made.
        index.find(query)

    fresh = index_of(*sorted(kept.values(), key=lambda one: one.key))

    assert len(index) == len(kept)
    assert index.find(query) == fresh.find(query)
    assert index.explain(query) == fresh.explain(query)
    assert index.find(query, {"a", "b"}) == fresh.find(query, {"a", "b"})


@settings(deadline=None, max_examples=examples(100))
@given(documents=st.lists(_documents, max_size=8), query=st.one_of(_queries, st.text(max_size=60)))
def test_scores_lie_between_0_and_1_and_are_in_order(documents: list[Document], query: str) -> None:
    scores = [score for _, score in index_of(*documents).find(query)]

    assert all(0 < score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_a_changed_tool_is_found_by_its_new_words_only() -> None:
    index = index_of(a_tool("report", "About elephants."), a_tool("other", "About nothing."))

    index.put(a_tool("report", "About giraffes."))

    assert names_found(index, "giraffes") == ["report"]
    assert index.find("elephants") == []


def test_a_filter_is_looked_at_again_after_a_change() -> None:
    index, allowed = index_of(a_tool("one", "A report.")), {"one", "two"}
    assert [key for key, _ in index.find("report", allowed)] == ["one"]

    index.put(a_tool("two", "A report."))

    assert [key for key, _ in index.find("report", allowed)] == ["one", "two"]
