"""Where the next answer begins: any place that a note can name can be read on from."""

from typing import Any

import pytest

from dogubako.contract.call import Resume
from dogubako.contract.errors import ValidationError
from dogubako.output import Image, Json, Markdown, Text, Xml, XmlElement
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.continuation import Continuation
from dogubako.response.truncation import Cut
from dogubako.testing import parse_call

LONG = "".join(f"<{number}>" for number in range(3_000))


def begun(answer: Any, path: str = "", offset: int = 0) -> Any:
    return Continuation("read", {}, Resume(path=path, offset=offset)).begin(answer)


def read_all(answer: Any, path_of: str) -> str:
    """Follow `next` for one long text inside of JSON until nothing of it is missing."""
    shown = ""
    resume: Resume | None = None
    for _ in range(100):
        builder = ToolResponseBuilder(max_tokens=1_500).for_call(None, None, Continuation("read", {"id": 1}, resume))
        body = builder.success(answer).value
        data = body["data"]
        for key in path_of.split("|") if resume is None else ():
            data = data[int(key) if isinstance(data, list) else key]
        shown += str(data).split("… [")[0]
        call = body.get("_truncated", {}).get("next")
        if call is None:
            return shown
        name, arguments = parse_call(call)
        assert (name, arguments["tool"], arguments["arguments"]) == ("read_more", "read", {"id": 1})
        resume = Resume(path=arguments["path"], offset=arguments["offset"])
    raise AssertionError("next leads nowhere")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        pytest.param({"log": LONG}, "log", id="a field"),
        pytest.param({"a/b": {"c": LONG}}, "a/b|c", id="a key with a slash"),
        pytest.param({"a.b": {"c.d.e": LONG}}, "a.b|c.d.e", id="keys with dots"),
        pytest.param({"data": {"text": LONG}}, "data|text", id="a field that is called data"),
        pytest.param({"rows": [{"text": LONG}]}, "rows|0|text", id="an item of a list"),
        pytest.param([LONG], "0", id="the first of a list"),
    ],
)
def test_a_long_text_anywhere_can_be_read_to_its_end(data: Any, path: str) -> None:
    assert read_all(Json(data=data), path) == LONG


@pytest.mark.parametrize(
    ("answer", "path", "offset", "rest"),
    [
        pytest.param("abcdef", "", 2, Text(text="cdef"), id="text"),
        pytest.param(Text(text="abcdef"), "", 2, Text(text="cdef"), id="a text"),
        pytest.param(Markdown(blocks=["a", "b"]), "", 1, Text(text="\n\nb"), id="Markdown, by characters"),
        pytest.param({"a": [1, 2, 3]}, "a", 1, Json(data=[2, 3]), id="a list in a dict"),
        pytest.param({"a": [1, 2, 3]}, "data.a", 1, Json(data=[2, 3]), id="as the note calls it"),
        pytest.param([1, 2, 3], "", 1, Json(data=[2, 3]), id="a list"),
        pytest.param({"a": 1, "b": 2}, "", 1, Json(data={"b": 2}), id="fields"),
        pytest.param(Json(data={"a": 7}, message="m"), "a", 1, Json(data=7, message="m"), id="a number is whole"),
        pytest.param(
            Xml(root=XmlElement("r", {}, [XmlElement("a", {}, "xy"), XmlElement("a", {}, "zw")])),
            "a[1]",
            1,
            Xml(root=XmlElement("a", {}, "w")),
            id="the second of two elements",
        ),
    ],
)
def test_an_answer_begins_where_it_is_asked_to(answer: Any, path: str, offset: int, rest: Any) -> None:
    assert begun(answer, path, offset) == rest


def test_from_the_beginning_nothing_changes() -> None:
    answer = Json(data=[1], count=1)

    assert begun(answer) is answer


def test_a_picture_cannot_be_read_on() -> None:
    picture = Image(data=b"", mime_type="image/png")

    assert begun(picture, offset=5) is picture


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        pytest.param({"a": 1}, "b", id="no such field"),
        pytest.param({"a": 1}, "a.b", id="no field of a number"),
        pytest.param([1], "1", id="no such item"),
        pytest.param([1], "-1", id="not a number of an item"),
        pytest.param(Xml(root=XmlElement("r", {}, [XmlElement("a")])), "b", id="no such element"),
        pytest.param(Xml(root=XmlElement("r", {}, [XmlElement("a")])), "a[1]", id="no second element"),
        pytest.param(Xml(root=XmlElement("r", {}, "text")), "a", id="no element of a text"),
        pytest.param(Xml(root=XmlElement("r", {}, [XmlElement("a")])), "a[", id="not a path"),
    ],
)
def test_a_place_that_is_not_there_is_an_error_that_says_so(answer: Any, path: str) -> None:
    with pytest.raises(ValidationError, match="the answer has no such place"):
        begun(answer, path, 1)


def test_where_nothing_could_be_shown_the_same_call_is_not_offered_again() -> None:
    nothing = Cut(path="data", shown=0, total=3, unit="fields")

    assert Continuation("read", {}, None).next_call(nothing) is None


def test_a_call_with_very_long_arguments_is_not_repeated() -> None:
    cut = Cut(path="", shown=5, total=9, unit="lines", characters=50)

    assert Continuation("read", {"text": "x" * 2_000}, None).next_call(cut) is None
    assert Continuation("read", {}, None).next_call(cut) == "read_more(tool: 'read', arguments: {}, offset: 50)"
