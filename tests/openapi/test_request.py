"""Requests are written as the styles of OpenAPI say: the examples of the specification, and what breaks URLs."""

import json
from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from dogubako.openapi.definitions import RequestPlan, SentArgument
from dogubako.openapi.request import File, Request, write_request

LIST = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def written(
    value: Any, place: str = "query", path: str = "/x", files: dict[str, File] | None = None, **how: Any
) -> Request:
    sent = SentArgument(name="color", place=place, **how)
    plan = RequestPlan(method="get", path=path, arguments={"color": sent})
    return write_request(plan, {"color": value}, files or {})


# The table of styles in the specification.
@pytest.mark.parametrize(
    ("value", "style", "explode", "expected"),
    [
        ("blue", "form", True, "color=blue"),
        (LIST, "form", True, "color=blue&color=black&color=brown"),
        (LIST, "form", False, "color=blue,black,brown"),
        (OBJECT, "form", True, "R=100&G=200&B=150"),
        (OBJECT, "form", False, "color=R,100,G,200,B,150"),
        (LIST, "spaceDelimited", False, "color=blue%20black%20brown"),
        (LIST, "pipeDelimited", False, "color=blue%7Cblack%7Cbrown"),
        (OBJECT, "deepObject", True, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        (True, "form", True, "color=true"),
        (3.0, "form", True, "color=3"),
        ("a&b=c d/ü", "form", True, "color=a%26b%3Dc%20d%2F%C3%BC"),
        ([], "form", True, ""),
    ],
)
def test_queries(value: Any, style: str, explode: bool, expected: str) -> None:
    assert "&".join(written(value, style=style, explode=explode).query) == expected


@pytest.mark.parametrize(
    ("value", "style", "explode", "expected"),
    [
        ("blue", "simple", False, "/x/blue"),
        (LIST, "simple", False, "/x/blue,black,brown"),
        (OBJECT, "simple", True, "/x/R=100,G=200,B=150"),
        (LIST, "label", True, "/x/.blue.black.brown"),
        (LIST, "label", False, "/x/.blue,black,brown"),
        (LIST, "matrix", True, "/x/;color=blue;color=black;color=brown"),
        (LIST, "matrix", False, "/x/;color=blue,black,brown"),
        (OBJECT, "matrix", True, "/x/;R=100;G=200;B=150"),
        ("../admin", "simple", False, "/x/..%2Fadmin"),
        ("..", "simple", False, "/x/%2E%2E"),
    ],
)
def test_paths(value: Any, style: str, explode: bool, expected: str) -> None:
    assert written(value, "path", "/x/{color}", style=style, explode=explode).path == expected


def test_an_empty_part_of_a_path_is_refused() -> None:
    with pytest.raises(ValidationError, match="must not be empty"):
        written("", "path", "/x/{color}", style="simple")


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "日本", "\x00"])
def test_a_header_cannot_be_broken(value: str) -> None:
    with pytest.raises(ValidationError, match="plain characters"):
        written(value, "header", style="simple")


def test_a_body_of_fields_leaves_out_what_was_not_given() -> None:
    arguments = {name: SentArgument(name=name, place="field") for name in ("a", "b", "c")}
    plan = RequestPlan(method="post", path="/x", arguments=arguments, body="json", media_type="application/json")
    request = write_request(plan, {"a": 1, "b": None}, {})

    assert json.loads(request.content or b"") == {"a": 1, "b": None}
    assert request.headers == {"Content-Type": "application/json"}
    assert write_request(plan, {}, {}).content is None


def test_forms_and_files() -> None:
    arguments = {
        "note": SentArgument(name="note", place="field"),
        "file": SentArgument(name="file", place="field", is_file=True),
    }
    form = RequestPlan(
        method="post", path="/x", arguments=arguments, body="form", media_type="application/x-www-form-urlencoded"
    )
    assert write_request(form, {"note": "a b&c"}, {}).content == b"note=a%20b%26c"

    plan = RequestPlan(
        method="post", path="/x", arguments=arguments, body="multipart", media_type="multipart/form-data"
    )
    request = write_request(plan, {"note": "日本", "file": "q.txt"}, {"file": File(name='q".txt', content=b"\x00\x01")})
    body = request.content or b""
    assert b'name="file"; filename="q%22.txt"' in body and b"\x00\x01" in body and "日本".encode() in body
    boundary = request.headers["Content-Type"].partition("boundary=")[2]
    assert body.endswith(f"--{boundary}--\r\n".encode())


def test_a_fixed_argument_is_sent_and_a_caller_cannot_see_it() -> None:
    plan = RequestPlan(method="get", path="/x", arguments={"v": SentArgument(name="v", place="query", fixed="2")})
    assert write_request(plan, {}, {}).query == ["v=2"]
