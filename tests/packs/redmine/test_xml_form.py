"""Plain data as XML: ids as attributes, references as text, lists by their singular, never anything ill-formed."""

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.packs.redmine.formatters import element, has_texts, replaced_characters
from dogubako.response.xml import render

from .made import DECLARATION


def written(tag: str, value: Any) -> str:
    return render(element(tag, value)).removeprefix(DECLARATION)


@pytest.mark.parametrize(
    ("tag", "value", "expected"),
    [
        pytest.param("status", {"id": 2, "name": "In Progress"}, '<status id="2">In Progress</status>', id="reference"),
        pytest.param(
            "status",
            {"id": 5, "name": "Closed", "is_closed": True},
            '<status id="5" is_closed="true">Closed</status>',
            id="a reference with a fact",
        ),
        pytest.param(
            "user",
            {"id": 3, "name": "Mari", "login": "mari"},
            '<user id="3"><name>Mari</name><login>mari</login></user>',
            id="more than a reference",
        ),
        pytest.param("parent", {"id": 7}, '<parent id="7"/>', id="only an id"),
        pytest.param("hours", 2.0, "<hours>2</hours>", id="a whole number"),
        pytest.param("hours", 0.25, "<hours>0.25</hours>", id="a broken number"),
        pytest.param("is_public", False, "<is_public>false</is_public>", id="a boolean"),
        pytest.param("permissions", ["a", "b"], "<permissions>a, b</permissions>", id="short words"),
        pytest.param("issues", [], "<issues/>", id="an empty list"),
        pytest.param(
            "children",
            [{"id": 3, "tracker": {"id": 1, "name": "Bug"}, "subject": "Deep"}],
            '<children><issue id="3"><tracker id="1">Bug</tracker><subject>Deep</subject></issue></children>',
            id="children",
        ),
        pytest.param(
            "description",
            'a < b & "c" ]]>',
            '<description untrusted="true">a &lt; b &amp; "c" ]]&gt;</description>',
            id="a text by people",
        ),
    ],
)
def test_plain_data_has_one_form(tag: str, value: Any, expected: str) -> None:
    assert written(tag, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("ACME", "<value>ACME</value>", id="one value"),
        pytest.param(["Cart", "Shipping, fast"], "<value>Cart</value><value>Shipping, fast</value>", id="several"),
        pytest.param(["Cart"], "<value>Cart</value>", id="one of several"),
        pytest.param("", "<value/>", id="empty"),
        pytest.param(None, "<value/>", id="none"),
        pytest.param(True, "<value>true</value>", id="a boolean"),
    ],
)
def test_a_custom_field_has_one_element_per_value(value: Any, expected: str) -> None:
    fields = [{"id": 4, "name": "Areas & more", "value": value}]

    assert written("custom_fields", fields) == (
        f"<custom_fields><field><id>4</id><name>Areas &amp; more</name>{expected}</field></custom_fields>"
    )


@pytest.mark.parametrize(
    ("many", "one"),
    [
        pytest.param("issues", "issue", id="issues"),
        pytest.param("time_entries", "time_entry", id="time entries"),
        pytest.param("issue_statuses", "issue_status", id="statuses"),
        pytest.param("issue_categories", "issue_category", id="categories"),
        pytest.param("issue_priorities", "issue_priority", id="priorities"),
        pytest.param("time_entry_activities", "time_entry_activity", id="activities"),
        pytest.param("news", "news_item", id="news"),
        pytest.param("queries", "query", id="queries"),
        pytest.param("watchers", "user", id="watchers"),
        pytest.param("allowed_statuses", "status", id="allowed statuses"),
        pytest.param("also_changed", "change", id="changes nobody asked for"),
        pytest.param("wiki_pages", "wiki_page", id="wiki pages"),
    ],
)
def test_one_of_several_has_the_singular(many: str, one: str) -> None:
    assert written(many, [{"id": 1, "name": "x"}]) == f'<{many}><{one} id="1">x</{one}></{many}>'


def test_a_change_tells_from_what_to_what() -> None:
    change = {"field": "status_id", "from": {"id": "1", "name": "New"}, "to": {"id": "2", "name": "In Progress"}}

    assert written("changes", [change]) == (
        '<changes><change field="status_id"><from id="1">New</from><to id="2">In Progress</to></change></changes>'
    )


@pytest.mark.parametrize(
    ("value", "marked"),
    [
        pytest.param({"status": {"id": 1, "name": "New"}}, False, id="names only"),
        pytest.param({"subject": "x"}, True, id="a subject"),
        pytest.param({"journals": [{"notes": "x"}]}, True, id="a note deep inside"),
        pytest.param({"custom_fields": [{"id": 1, "name": "n", "value": "v"}]}, True, id="a custom value"),
    ],
)
def test_texts_by_people_are_found_wherever_they_are(value: Any, marked: bool) -> None:
    assert has_texts(element("issue", value)) is marked


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(ANY_TEXT, VALUES)
def test_any_keys_and_any_values_make_a_document_that_parses(tag: str, value: Any) -> None:
    ElementTree.fromstring(render(element(tag, value)))


@given(ANY_TEXT)
def test_what_cannot_be_written_is_counted(text: str) -> None:
    root = element("issue", {"subject": text})
    [shown] = [one.text or "" for one in ElementTree.fromstring(render(root))]

    assert shown.count("\ufffd") == text.count("\ufffd") + replaced_characters(root)
