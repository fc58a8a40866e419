"""What a tool may answer. Tools return whole things, best first; `response` decides what fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from dogubako.contract.guidance import Guidance

Language = Literal["en", "ja"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One sentence about a success, in the languages that we speak."""

    en: str
    ja: str

    def text(self, language: Language) -> str:
        return self.ja if language == "ja" else self.en


DONE = Message(en="Done", ja="完了しました")


@dataclass(frozen=True, slots=True)
class Page:
    """How to get what did not fit: what may be cut, and the call that continues after so many parts.

    `after` is the call that continues after all of them, where the service has more than it was asked for.
    """

    path: str
    next_call: Callable[[int], str]
    after: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What all answers share.

    `cacheable` promises that the same call will always get the same answer; the tool must declare `caches` as well.
    """

    page: Page | None = None
    cacheable: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """An answer that is built from much data: `build` is called in a worker thread, and what it returns is answered."""

    build: Callable[[], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Output(Content):
    """A JSON answer: `{"success": true, "message": …, "data": …}`."""

    data: Any
    message: Message | str = DONE
    guidance: Guidance | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Text(Content):
    """Plain text, cut between lines when it must be."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Markdown(Content):
    """Markdown in blocks; a block is shown whole or not at all."""

    blocks: Sequence[str]


class XmlElement(msgspec.Struct, frozen=True, gc=False):
    """One element: attributes, then either text or children.

    A document has tens of thousands of them and no cycles: the garbage collector does not have to look at each.
    """

    tag: str
    attributes: Mapping[str, str | int | float | bool | None] = {}
    children: "Sequence[XmlElement] | str" = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Xml(Content):
    """An XML document. `page.path` names the element whose children may be cut."""

    root: XmlElement


@dataclass(frozen=True, kw_only=True, slots=True)
class Image(Content):
    """A picture, as bytes. One that is too large becomes a link to `uri`, or an error where there is none."""

    data: bytes
    mime_type: str
    uri: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Audio(Content):
    """A sound, as bytes. One that is too large becomes a link to `uri`, or an error where there is none."""

    data: bytes
    mime_type: str
    uri: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedded(Content):
    """A resource carried inside the answer: text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Link(Content):
    """A resource that the client may read later."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mixed(Content):
    """Several parts in one answer."""

    parts: Sequence[Content | str]


@dataclass(frozen=True, slots=True)
class Blocks(Content):
    """MCP content blocks that come from elsewhere: from another MCP server, or from another tool.

    Every block is checked. One that is not valid is replaced by a text that names it and the reason. `structured` is
    kept where the tool declares an output schema; where there are no blocks at all, it becomes the answer.
    """

    content: Sequence[Mapping[str, Any]]
    structured: Any = None
