"""Instant answers, whose types change from query to query."""

from typing import Any

import msgspec
import pytest

from dogubako.contract.errors import JsonParseError
from dogubako.packs.web.models import InstantAnswer, Topic
from dogubako.packs.web.providers.duckduckgo import read_instant_answer

STRINGS = (
    "Abstract AbstractSource AbstractText AbstractURL Answer AnswerType Definition DefinitionSource DefinitionURL "
    "Entity Heading Image ImageHeight ImageIsLogo ImageWidth Infobox Redirect Type"
)
NOTHING: dict[str, Any] = dict.fromkeys(STRINGS.split(), "") | {
    "RelatedTopics": [],
    "Results": [],
    "meta": {"id": "just_another_test", "name": "Just Another Test", "status": None},
}


def read(**fields: Any) -> InstantAnswer:
    return read_instant_answer(msgspec.json.encode(NOTHING | fields))


def topic(name: str, size: int | str = "") -> dict[str, Any]:
    icon = {"Height": size, "URL": "", "Width": size}
    return {"FirstURL": f"https://duckduckgo.com/{name}", "Icon": icon, "Result": f"<a>{name}</a>", "Text": name}


def test_an_answer_without_content_is_empty() -> None:
    assert read().empty


def test_fewer_keys_are_an_answer_too() -> None:
    assert read_instant_answer(b'{"Heading": "Thing", "AbstractText": "A thing."}').abstract == "A thing."


def test_a_heading_alone_answers_nothing() -> None:
    assert read(Heading="Thing", AbstractSource="Encyclopedia").empty


def test_the_abstract_names_its_source() -> None:
    answer = read(Heading="Thing", AbstractText="A  thing.\n", AbstractSource="Books", AbstractURL="https://b.test/")

    assert (answer.abstract, answer.abstract_source, answer.abstract_url) == ("A thing.", "Books", "https://b.test/")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param("42", "42", id="text"),
        pytest.param(42, "42", id="number"),
        pytest.param({"result": "42 km", "from": "calculator"}, "42 km", id="object"),
        pytest.param({"id": "calculator", "signal": "high"}, "", id="object for a script"),
        pytest.param("", "", id="nothing"),
        pytest.param(None, "", id="null"),
        pytest.param(True, "", id="a truth"),
        pytest.param(["42"], "", id="list"),
    ],
)
def test_the_answer_may_have_any_type(given: Any, text: str) -> None:
    assert read(Answer=given).answer == text


def test_a_definition_names_its_source() -> None:
    answer = read(Definition="thing: a thing", DefinitionSource="Words", DefinitionURL="https://w.test/")

    assert (answer.definition, answer.definition_source) == ("thing: a thing", "Words")


def test_related_topics_are_single_or_grouped() -> None:
    grouped = {"Name": "In music", "Topics": [topic("Band", 16), topic("Song")]}
    answer = read(RelatedTopics=[topic("Single"), grouped, {"Name": "Unused", "Topics": []}])

    assert answer.topics == (
        Topic(text="Single", url="https://duckduckgo.com/Single"),
        Topic(text="Band", url="https://duckduckgo.com/Band", group="In music"),
        Topic(text="Song", url="https://duckduckgo.com/Song", group="In music"),
    )


@pytest.mark.parametrize("given", ["", {}, None, [None, 3, "x", {}, {"Text": ""}, {"Topics": "none"}]])
def test_odd_topics_are_left_out(given: Any) -> None:
    assert read(RelatedTopics=given).topics == ()


def test_an_infobox_is_a_list_of_facts() -> None:
    content = [
        {"data_type": "string", "label": "Born", "value": "1815"},
        {"data_type": "instance", "label": "Site", "value": {"entity-type": "item", "value": "London"}},
        {"data_type": "number", "label": "Works", "value": 3},
        {"data_type": "odd", "label": "Odd", "value": {"id": "Q7259"}},
        {"label": "", "value": "nameless"},
        "odd",
    ]
    answer = read(Infobox={"content": content, "meta": [{"label": "article_title", "value": "Thing"}]})

    assert answer.facts == (("Born", "1815"), ("Site", "London"), ("Works", "3"))


@pytest.mark.parametrize("given", ["", {}, [], None, {"content": "none"}, {"content": None}])
def test_an_infobox_may_be_anything_else(given: Any) -> None:
    assert read(Infobox=given).facts == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html></html>", id="a page"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"Heading": ', id="half"),
        pytest.param(b"\xff\xfe{}", id="other bytes"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_what_is_no_object_cannot_be_read(body: bytes) -> None:
    with pytest.raises(JsonParseError):
        read_instant_answer(body)
