"""The types that a tool may return. Tools return everything, best first; `response` decides what fits."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

import msgspec

from dogubako.contract.credentials import INSTANCE

_CALL = re.compile(r"^\s*(?P<name>[A-Za-z0-9_][A-Za-z0-9_-]*)\((?P<arguments>.*)\)\s*$", re.DOTALL)
_ARGUMENT_NAME = re.compile(r"\s*([\w$@][\w.$@-]*)\s*:\s*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)


class Guidance(msgspec.Struct, frozen=True, kw_only=True):
    """Advice on what to do next, and an example of the call that does it."""

    message: str
    example: str


# The instance of a service that the running tool works with, where there are several. Examples must name it too.
example_instance: ContextVar[str | None] = ContextVar("dogubako_example_instance", default=None)


def example_call(name: str, /, **arguments: Any) -> str:
    """Write a call as text, for hints and pages: `example_call("get", id=17)` is `get(id: 17)`.

    Inside a tool of a service with several instances, the call names the same instance.
    """
    if (instance := example_instance.get()) is not None:
        arguments = {**arguments, INSTANCE: arguments.get(INSTANCE, instance)}
    return call_text(name, arguments)


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call with exactly these arguments."""
    return f"{name}({', '.join(f'{key}: {_write(value)}' for key, value in arguments.items())})"


def parse_call(example: str) -> tuple[str, dict[str, Any]]:
    """Read the name and the arguments of a call that `example_call` wrote. ValueError if it is not one."""
    match = _CALL.match(example)
    if match is None:
        raise ValueError("expected a call like get_execution(id: '17')")
    return match["name"], _parse_arguments(match["arguments"])


def _write(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return msgspec.json.encode(value).decode()


def _parse_arguments(written: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    position = 0
    while position < len(written.rstrip()):
        key = _ARGUMENT_NAME.match(written, position)
        if key is None:
            raise ValueError(f"expected an argument name at position {position}")
        value, position = _read_value(written, key.end())
        arguments[key[1]] = value
        position = _after_comma(written, position)
    return arguments


def _read_value(written: str, position: int) -> tuple[Any, int]:
    if quoted := _QUOTED.match(written, position):
        text = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], quoted[1], flags=re.DOTALL)
        return text, quoted.end()
    end = _end_of_json(written, position)
    try:
        return msgspec.json.decode(written[position:end].strip()), end
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ValueError(f"expected a value at position {position}") from None


def _end_of_json(written: str, position: int) -> int:
    """The end of a JSON value: the first comma outside brackets and quotes."""
    depth, in_string, escaped = 0, False, False
    for index in range(position, len(written)):
        character = written[index]
        if escaped:
            escaped = False
        elif in_string:
            in_string, escaped = character != '"', character == "\\"
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            return index
    return len(written)


def _after_comma(written: str, position: int) -> int:
    rest = written[position:].lstrip()
    if not rest:
        return len(written)
    if not rest.startswith(","):
        raise ValueError(f"expected a comma at position {position}")
    return len(written) - len(rest) + 1


Language = Literal["en", "ja"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A success message in English and Japanese."""

    en: str
    ja: str


DONE = Message(en="Done", ja="完了しました")


class NextPage(msgspec.Struct, frozen=True):
    """Pagination of an answer: which list may be truncated, and which call shows the rest."""

    # Where the list is in the data, such as `items`.
    path: str
    # Gets the number of items that were shown, and returns the call that shows the next ones.
    next_call: Callable[[int], str]
    # The call that continues after all items, if the service has more of them.
    after: str | None = None


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of all answers, with the options that they share."""

    # How to get the rest, if the answer is truncated.
    page: NextPage | None = None
    # Promises that the same call always has the same answer. The tool must declare `caches=True` as well.
    cacheable: bool = False
    # How many things were found, for the server's log.
    count: int | None = None


class Deferred(msgspec.Struct, frozen=True):
    """An answer from much data: `build` is called in a worker thread and returns the answer."""

    build: Callable[[], Any]


class Json(Content, frozen=True, kw_only=True):
    """A JSON answer: `{"success": true, "message": …, "data": …}`."""

    data: Any
    message: Message | str = DONE
    guidance: Guidance | None = None


class Text(Content, frozen=True, kw_only=True):
    """Plain text. It is truncated between lines."""

    text: str


class Markdown(Content, frozen=True, kw_only=True):
    """Markdown in blocks. A block is shown whole or not at all."""

    blocks: Sequence[str]


# `gc=False`: a document has tens of thousands of elements and no cycles, so the garbage collector can skip them.
class XmlElement(msgspec.Struct, frozen=True, gc=False):
    """An XML element with attributes, and with either text or children."""

    tag: str
    attributes: Mapping[str, str | int | float | bool | None] = {}
    children: "Sequence[XmlElement] | str" = ()


class Xml(Content, frozen=True, kw_only=True):
    """An XML document. `page.path` names the element whose children may be left out."""

    root: XmlElement


class Image(Content, frozen=True, kw_only=True):
    """An image, as bytes. If it is too large, it becomes a link to `uri`, or an error without a `uri`."""

    data: bytes
    mime_type: str
    uri: str | None = None


class Audio(Content, frozen=True, kw_only=True):
    """Audio, as bytes. If it is too large, it becomes a link to `uri`, or an error without a `uri`."""

    data: bytes
    mime_type: str
    uri: str | None = None


class Embedded(Content, frozen=True, kw_only=True):
    """A resource inside the answer: text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None


class Link(Content, frozen=True, kw_only=True):
    """A link to a resource that the client may read later."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


class Mixed(Content, frozen=True, kw_only=True):
    """Several parts in one answer."""

    parts: Sequence[Content | str]


class Blocks(Content, frozen=True):
    """MCP content blocks of another MCP server or of another tool.

    Every block is checked. A text that names the block and the reason replaces a block that is not valid. `structured`
    is kept if the tool declares an output schema; if there are no blocks at all, it becomes the answer.
    """

    content: Sequence[Mapping[str, Any]]
    structured: Any = None
