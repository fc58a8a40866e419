"""The form of a tool: a field for every argument, its call through the pipeline, and its answer."""

from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from selectolax.lexbor import LexborHTMLParser

from dogubako import Effect, tool
from dogubako.app import Toolbox
from dogubako.output import Image, Json
from dogubako.transports.console.page import Form
from dogubako.transports.console.tool_form import arguments_of, fields_of
from tests.gate.guarded import guarded_box

from .browser import Browser, browsing, text_of

_PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")


class Place(BaseModel):
    """A place."""

    city: str
    zip: int = 0


@tool(effect=Effect.READ)
async def everything(
    title: Annotated[str, Field(description="What it is called.")],
    count: Annotated[int, Field(ge=1, le=9)],
    kind: Literal["small", "large"] = "small",
    exact: bool = False,
    day: date | None = None,
    tags: list[str] | None = None,
    sizes: list[int] | None = None,
    colours: list[Literal["red", "blue"]] | None = None,
    place: Place | None = None,
    reference: int | str | None = None,
    body: str | None = None,
) -> Json:
    """Show every kind of argument."""
    said = {"title": title, "count": count, "kind": kind, "exact": exact, "day": str(day), "tags": tags}
    said |= {"sizes": sizes, "colours": colours, "place": place.model_dump() if place else None, "body": body}
    return Json(data={**said, "reference": reference})


@tool(effect=Effect.READ)
async def picture() -> Image:
    """Show a picture."""
    return Image(data=_PNG, mime_type="image/png")


@tool(effect=Effect.READ)
async def page() -> str:
    """Show XML."""
    return '<?xml version="1.0" encoding="UTF-8"?><issues><issue id="8"/></issues>'


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return guarded_box(tmp_path, everything, picture, page, DOGUBAKO_AUTH="off")


@pytest.fixture
async def browser(box: Toolbox) -> AsyncIterator[Browser]:
    async with browsing(box) as one:
        yield one


def test_every_argument_gets_the_control_of_its_kind() -> None:
    fields = fields_of(everything.metadata.input_schema)

    assert {field.name: field.control for field in fields} == {
        "title": "text",
        "count": "number",
        "kind": "select",
        "exact": "checkbox",
        "day": "date",
        "tags": "lines",
        "sizes": "lines",
        "colours": "choices",
        "place": "json",
        "reference": "text",
        "body": "area",
    }
    assert [field.name for field in fields if field.required] == ["title", "count"]
    assert [field.name for field in fields][:2] == ["title", "count"]


def test_a_filled_form_becomes_arguments() -> None:
    form = Form({
        "arg.title": ["a"], "arg.count": ["3"], "arg.kind": ["large"], "arg.exact": ["true"], "arg.day": ["2026-11-17"],
        "arg.tags": ["one\ntwo\n"], "arg.sizes": ["1\n2"], "arg.colours": ["red", "blue"],
        "arg.place": ['{"city": "Kyoto"}'], "arg.reference": ["8"], "arg.body": [""],
    })  # fmt: skip

    arguments, wrong = arguments_of(fields_of(everything.metadata.input_schema), form)

    assert wrong == {}
    assert arguments == {
        "title": "a", "count": 3, "kind": "large", "exact": True, "day": "2026-11-17", "tags": ["one", "two"],
        "sizes": [1, 2], "colours": ["red", "blue"], "place": {"city": "Kyoto"}, "reference": 8,
    }  # fmt: skip


async def test_a_call_goes_through_the_pipeline_and_its_answer_is_a_tree(browser: Browser, box: Toolbox) -> None:
    await browser.get("/console/tools/everything")

    fields = {"arg.title": "道具", "arg.count": "3", "arg.place": '{"city": "Kyoto"}', "arg.tags": "a\nb"}
    visit = await browser.post("/console/tools/everything", fields)

    said = text_of(visit)
    assert visit.status == 200
    assert "道具" in said
    assert "Kyoto" in said
    tree = LexborHTMLParser(visit.body.decode()).css_first(".tree details summary")
    assert tree is not None
    # The same call, ready to be copied.
    assert '"name": "everything", "parameters": {"title": "道具", "count": 3' in said.replace("\\", "")


async def test_wrong_values_are_answered_beside_their_field_in_the_words_of_the_pipeline(browser: Browser) -> None:
    await browser.get("/console/tools/everything")

    visit = await browser.post("/console/tools/everything", {"arg.count": "many", "arg.place": "{"})
    again = await browser.post("/console/tools/everything", {"arg.count": "many"})

    assert (visit.status, "This is not valid JSON." in text_of(visit)) == (400, True)
    assert again.status == 400
    complaints = [one.text() for one in LexborHTMLParser(again.body.decode()).css(".field.wrong .complaint")]
    assert any("Required parameter missing: title" in one for one in complaints)
    assert any("expected integer" in one for one in complaints)
    assert 'value="many"' in again.body.decode()


@pytest.mark.parametrize("sent", ["[1]", "{", '"x"'])
async def test_arguments_as_json_must_be_an_object(browser: Browser, sent: str) -> None:
    await browser.get("/console/tools/everything")

    assert (await browser.post("/console/tools/everything", {"json": sent})).status == 400


async def test_pictures_and_xml_are_shown(browser: Browser) -> None:
    await browser.get("/console/tools/picture")

    seen = (await browser.post("/console/tools/picture")).body.decode()
    formatted = text_of(await browser.post("/console/tools/page"))

    assert '<img class="picture" alt="" src="data:image/png;base64,' in seen
    assert '<issue id="8"/>' in formatted


async def test_a_tool_that_deletes_asks_first(browser: Browser, box: Toolbox) -> None:
    await browser.get("/console/tools/destroy_redmine")

    asked = await browser.post("/console/tools/destroy_redmine", {"arg.number": "7"})
    done = await browser.post("/console/tools/destroy_redmine", {"json": '{"number": 7}', "confirm": "yes"})

    assert (asked.status, "Are you sure?" in text_of(asked)) == (400, True)
    assert "{&#34;number&#34;: 7}" in asked.body.decode() or "{&#34;number&#34;:7}" in asked.body.decode()
    assert (done.status, "done" in text_of(done)) == (200, True)


async def test_an_administrator_switches_a_tool_off_and_on(browser: Browser, box: Toolbox) -> None:
    await browser.get("/console/tools/echo")
    await browser.post("/console/tools/echo/switch", {"enabled": "no"})
    off = await browser.get("/console/tools/echo")
    refused = await browser.post("/console/tools/echo", {"arg.text": "x"})
    await browser.post("/console/tools/echo/switch", {"enabled": "yes"})

    assert "This tool is disabled" in text_of(off)
    assert (refused.status, "Tool is disabled: echo" in text_of(refused)) == (403, True)
    assert box.registry.get("echo").enabled


async def test_search_shows_scores_and_reasons_as_agents_would_get_them(browser: Browser) -> None:
    found = LexborHTMLParser((await browser.get("/console?q=say+it+again")).body.decode())

    first = found.css_first(".tools li")
    assert first is not None
    assert first.css_first("a").text() == "echo"  # type: ignore[union-attr]
    assert first.css_first(".why") is not None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("pack=redmine&effect=read", ["read_redmine"]),
        ("state=disabled", []),
        ("page=99&pack=n8n&effect=write", ["write_n8n"]),
    ],
)
async def test_filters_narrow_the_list(browser: Browser, query: str, names: list[str]) -> None:
    shown = LexborHTMLParser((await browser.get(f"/console?{query}")).body.decode())

    assert [one.text() for one in shown.css(".tools .title a")] == names


def test_unusual_schemas_make_a_form_all_the_same() -> None:
    odd: dict[str, Any] = {
        "a": True, "b": {}, "c": {"type": ["string", "null"]}, "d": {"enum": [1, None, "x"]}, "e": {"type": "array"},
        "f": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "g": {"oneOf": [{"type": "string"}]},
        "h": {"type": "string", "pattern": 5, "maxLength": "x"}, "i": {"type": "array", "items": True},
    }  # fmt: skip
    fields = fields_of({"properties": {name: one for name, one in odd.items() if isinstance(one, dict)}})

    assert {field.name: field.control for field in fields} == {
        "b": "json", "c": "text", "d": "select", "e": "json", "f": "json", "g": "text", "h": "text", "i": "json",
    }  # fmt: skip
