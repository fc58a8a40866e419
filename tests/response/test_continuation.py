"""`read_more`: whatever an answer leaves out can be read, part by part, until nothing is missing."""

import html
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

from dogubako import Effect, tool
from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolResult
from dogubako.output import Blocks, Image, Json, Markdown, Mixed, Xml, XmlElement
from dogubako.packs import PACKS
from dogubako.settings import Sources
from dogubako.testing import parse_call
from dogubako.tools import ToolPack


@tool(effect=Effect.READ)
async def rows(count: int) -> dict[str, Any]:
    """Many rows in a field."""
    return {"kind": "rows", "rows": [{"number": number, "text": "blue " * 8} for number in range(count)]}


@tool(effect=Effect.READ)
async def lines(count: int) -> str:
    """Many lines."""
    return "\n".join(f"line {number}" for number in range(count))


@tool(effect=Effect.READ)
async def one_line(count: int) -> str:
    """One very long line."""
    return "".join(f"<{number}>" for number in range(count))


@tool(effect=Effect.READ)
async def chapters(count: int) -> Markdown:
    """Many blocks."""
    return Markdown(blocks=[f"## Chapter {number}\n\nOnce upon a time." for number in range(count)])


@tool(effect=Effect.READ)
async def issues(count: int) -> Xml:
    """Many elements."""
    children = [XmlElement("issue", {"id": number}, "A & B <C>") for number in range(count)]
    return Xml(root=XmlElement("issues", {"total": count}, children))


@tool(effect=Effect.READ)
async def long_field(count: int) -> Json:
    """A long text deep inside."""
    return Json(data={"a": {"log": "".join(f"[{number}]" for number in range(count))}, "b": 1})


class Table(BaseModel):
    rows: list[str]


@dataclass
class Record:
    rows: list[str]


def _names(count: int) -> list[str]:
    return [f"row {number}" for number in range(count)]


@tool(effect=Effect.READ)
async def model(count: int) -> Table:
    """Many rows in a model, with a declared schema."""
    return Table(rows=_names(count))


@tool(effect=Effect.READ)
async def record(count: int) -> Record:
    """Many rows in a dataclass, with a declared schema."""
    return Record(rows=_names(count))


@tool(effect=Effect.READ)
async def row_tuple(count: int) -> tuple[Any, ...]:
    """Many rows in a tuple."""
    return tuple(_names(count))


@tool(effect=Effect.READ)
async def structured(count: int) -> Blocks:
    """Structured data of another server, without any block."""
    return Blocks(content=[], structured={"rows": _names(count)})


@tool(effect=Effect.READ)
async def with_picture(count: int) -> Mixed:
    """Many lines and a picture."""
    return Mixed(parts=["\n".join(_names(count)), Image(data=b"png", mime_type="image/png")])


@tool(effect=Effect.READ)
async def two_texts(count: int) -> Mixed:
    """Two long texts."""
    return Mixed(parts=["\n".join(_names(count)), "\n".join(_names(count))])


@tool(effect=Effect.WRITE)
async def write_rows(count: int) -> dict[str, Any]:
    """Writes, and answers a lot."""
    return {"rows": list(range(count))}


TYPED = (model, record, row_tuple, structured)
TOOLS = (rows, lines, one_line, chapters, issues, long_field, write_rows, *TYPED, with_picture, two_texts)


@pytest.fixture
async def box() -> AsyncIterator[Toolbox]:
    packs = [*PACKS, ToolPack("long", TOOLS)]
    sources = Sources(environ={"DOGUBAKO_MAX_RESPONSE_TOKENS": "2000"}, env_file=None)
    async with build(sources, packs=packs).running() as running:
        yield running


def _next_call(text: str) -> str | None:
    if text.startswith("{"):
        call = json.loads(text).get("_truncated", {}).get("next")
        return str(call) if call else None
    match = re.search(r' next="([^"]*)"', text) or re.search(r" Next: (.*)\]$", text)
    return html.unescape(match[1]) if match else None


async def _read_all(box: Toolbox, name: str, count: int) -> list[str]:
    """Follow the calls that the answers name, as an agent would."""
    result = await box.call(name, {"count": count})
    texts = [_text(result)]
    while call := _next_call(texts[-1]):
        tool_name, arguments = parse_call(call)
        assert tool_name == "read_more"
        texts.append(_text(await box.call(tool_name, arguments)))
        assert len(texts) < 200
    assert len(texts) > 2
    return texts


def _text(result: ToolResult) -> str:
    assert not result.is_error, result.content
    assert result.tokens <= 2000
    return str(result.content[0]["text"])


async def test_every_row_of_a_json_answer_is_read_once(box: Toolbox) -> None:
    texts = await _read_all(box, "rows", 500)

    answers = [json.loads(text)["data"] for text in texts]
    numbers = [row["number"] for row in answers[0]["rows"]] + [row["number"] for rest in answers[1:] for row in rest]
    assert numbers == list(range(500))


@pytest.mark.parametrize("name", [one.name for one in TYPED])
async def test_every_row_of_a_typed_answer_is_read_once(box: Toolbox, name: str) -> None:
    texts = await _read_all(box, name, 800)

    assert re.findall(r'"row (\d+)"', "".join(texts)) == [str(number) for number in range(800)]


async def test_the_text_beside_a_picture_is_read_to_its_end(box: Toolbox) -> None:
    texts = await _read_all(box, "with_picture", 2000)

    assert re.findall(r"^row (\d+)$", "\n".join(texts), re.MULTILINE) == [str(number) for number in range(2000)]


async def test_of_two_texts_in_one_answer_no_call_claims_to_read_on(box: Toolbox) -> None:
    result = await box.call("two_texts", {"count": 2000})

    assert result.trimmed
    assert "read_more" not in result.text


@pytest.mark.parametrize(
    ("name", "path", "size"),
    [
        pytest.param("lines", "", "20 characters", id="text"),
        pytest.param("chapters", "", "97 characters", id="Markdown"),
        pytest.param("rows", "", "2 fields", id="fields"),
        pytest.param("rows", "rows", "3 items", id="a list"),
        pytest.param("rows", "kind", "4 characters", id="a text in JSON"),
        pytest.param("model", "", "1 field", id="a model"),
        pytest.param("issues", "", "3 elements", id="XML"),
        pytest.param("issues", "issue[1]", "9 characters", id="a text in XML"),
        pytest.param("structured", "rows", "3 items", id="structured data of another server"),
    ],
)
@pytest.mark.parametrize("offset", [100, 10**9, 10**30])
async def test_beyond_the_end_the_answer_says_how_much_there_is(
    box: Toolbox, name: str, path: str, size: str, offset: int
) -> None:
    arguments = {"tool": name, "arguments": {"count": 3}, "path": path, "offset": offset}
    result = await box.call("read_more", arguments)

    assert result.error is not None
    assert result.error.message == f"Invalid value for parameter offset: there is nothing more, it has {size}"


async def test_every_line_of_a_text_is_read_once(box: Toolbox) -> None:
    texts = await _read_all(box, "lines", 3000)

    assert re.findall(r"^line (\d+)$", "\n".join(texts), re.MULTILINE) == [str(number) for number in range(3000)]


async def test_a_line_without_end_is_read_character_by_character(box: Toolbox) -> None:
    texts = await _read_all(box, "one_line", 3000)

    joined = "".join(text.split("… [")[0] for text in texts)
    assert joined == "".join(f"<{number}>" for number in range(3000))


async def test_every_block_of_markdown_is_read_once(box: Toolbox) -> None:
    texts = await _read_all(box, "chapters", 400)

    assert re.findall(r"^## Chapter (\d+)$", "\n".join(texts), re.MULTILINE) == [str(n) for n in range(400)]


async def test_every_element_of_an_xml_answer_is_read_once(box: Toolbox) -> None:
    texts = await _read_all(box, "issues", 400)

    found = [issue.get("id") for text in texts for issue in ElementTree.fromstring(text).findall("issue")]
    assert found == [str(number) for number in range(400)]


async def test_a_long_text_deep_inside_is_read_to_its_end(box: Toolbox) -> None:
    texts = await _read_all(box, "long_field", 3000)

    answers = [json.loads(text)["data"] for text in texts]
    parts = [answers[0]["a"]["log"], *answers[1:]]
    assert "".join(part.split("… [")[0] for part in parts) == "".join(f"[{number}]" for number in range(3000))


async def test_an_answer_of_a_writing_tool_names_what_is_missing_and_no_second_run(box: Toolbox) -> None:
    answer = json.loads(_text(await box.call("write_rows", {"count": 5000})))

    assert answer["_truncated"]["leftOut"][0]["total"] == 5000
    assert "next" not in answer["_truncated"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"tool": "write_rows", "arguments": {"count": 5}},
            "Invalid value for parameter tool: only a tool that reads can be read on",
            id="a tool that writes",
        ),
        pytest.param(
            {"tool": "read_more"}, "Invalid value for parameter tool: it must be the tool that was cut", id="itself"
        ),
        pytest.param(
            {"tool": "rows", "arguments": {"count": 5}, "path": "nowhere.at.all"},
            "Invalid value for parameter path: the answer has no such place",
            id="a place that is not in the JSON",
        ),
        pytest.param(
            {"tool": "issues", "arguments": {"count": 5}, "path": "note[3]"},
            "Invalid value for parameter path: the answer has no such place",
            id="a place that is not in the XML",
        ),
        pytest.param(
            {"tool": "rows", "arguments": {"count": 5}, "path": "rows.²"},
            "Invalid value for parameter path: the answer has no such place",
            id="a digit that is no number",
        ),
        pytest.param(
            {"tool": "issues", "arguments": {"count": 5}, "path": f"note[{'9' * 5_000}]"},
            "Invalid value for parameter path: the answer has no such place",
            id="a number without an end",
        ),
        pytest.param({"tool": "rows"}, "Required parameter missing: count", id="arguments that do not fit"),
        pytest.param({"tool": "nothing"}, "Tool not found: nothing", id="a tool that does not exist"),
    ],
)
async def test_a_wrong_call_is_refused_with_a_reason(box: Toolbox, arguments: dict[str, Any], message: str) -> None:
    result = await box.call("read_more", arguments)

    assert result.is_error
    assert result.content[0]["text"] == message
