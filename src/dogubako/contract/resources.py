"""Resources, resource templates and prompts of a pack."""

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

import msgspec

from dogubako.contract.context import Context
from dogubako.contract.errors import ApiError
from dogubako.contract.output import Content

# Anything but a text or bytes is data, and is shown as JSON.
Body = Any
ReadResource = Callable[[Context[Any], Mapping[str, str]], Awaitable[Body]]
Complete = Callable[[Context[Any], str, Mapping[str, str]], Awaitable[list[str]]]

_VARIABLE = re.compile(r"\{(\w+)\}")
# What ends a part of an address, and so cannot be inside a variable.
_RESERVED = re.compile(r"[/?#]")


def variables_of(uri_template: str) -> list[str]:
    """The variable names in a template, in order."""
    return _VARIABLE.findall(uri_template)


class ResourceBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a read answers that knows more than its text or bytes."""

    content: str | bytes
    mime_type: str | None = None
    # `_meta` of the contents, for clients.
    meta: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "ResourceBody":
        """One of the `contents` of `resources/read`. ApiError if it holds neither text nor base64."""
        text, blob, kind = item.get("text"), item.get("blob"), item.get("mimeType")
        try:
            content = text if isinstance(text, str) else base64.b64decode(blob if isinstance(blob, str) else "!")
        except binascii.Error:
            raise ApiError("The server answered with neither text nor base64.") from None
        return cls(content=content, mime_type=kind if isinstance(kind, str) else None)


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill (`io.modelcontextprotocol/skills`): the address of its SKILL.md, and its entry as clients see it."""

    uri: str
    entry: Mapping[str, Any]


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource with a fixed URI. `@resource` makes it from a function."""

    uri: str
    name: str
    read: ReadResource
    title: str | None = None
    description: str | None = None
    mime_type: str = "text/plain"
    # The instance of the service that it belongs to, where there are several.
    instance: str | None = None
    # Told that a client wants to hear of changes of this address.
    watch: Callable[[str], None] | None = None


class ResourceTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Resources whose URIs have variables: `redmine://issues/{id}`. `completions` suggests values of variables."""

    uri_template: str
    name: str
    read: ReadResource
    title: str | None = None
    description: str | None = None
    mime_type: str = "text/plain"
    completions: Mapping[str, Complete] | None = None
    instance: str | None = None
    # Told that a client wants to hear of changes of this address.
    watch: Callable[[str], None] | None = None

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables in `uri`, or None if it does not fit the template."""
        texts = _VARIABLE.split(self.uri_template)
        literals, names = texts[::2], texts[1::2]
        head, tail = literals[0], literals[-1]
        if not names:
            return {} if uri == head else None
        if not (uri.startswith(head) and uri.endswith(tail)):
            return None
        # From the end, each variable as short as it can be: one look at each place. A regular expression would try all
        # ways to divide the text between the variables.
        values, end = list[str](), len(uri) - len(tail)
        for literal in reversed(literals[1:-1]):
            start = uri.rfind(literal, len(head) + 1, max(end - 1, 0))
            if start < 0:
                return None
            values.insert(0, uri[start + len(literal) : end])
            end = start
        values.insert(0, uri[len(head) : max(end, 0)])
        if any(not value or _RESERVED.search(value) for value in values):
            return None
        return dict(zip(names, map(unquote, values), strict=True))


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a prompt. The user fills it in; its value is text."""

    name: str
    description: str
    required: bool = False
    complete: Complete | None = None


class PromptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a prompt."""

    content: Content | str
    role: Literal["user", "assistant"] = "user"


Render = Callable[[Context[Any], Mapping[str, str]], Awaitable[Sequence[PromptMessage]]]


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A template of messages that a user picks and fills in. `@prompt` makes it from a function."""

    name: str
    description: str
    render: Render
    title: str | None = None
    arguments: tuple[PromptArgument, ...] = ()
