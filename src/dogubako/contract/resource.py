"""Resources that a pack brings: things to read, by address or by a family of addresses."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from dogubako.contract.context import ToolContext

Body = str | bytes
ReadResource = Callable[[ToolContext[Any], Mapping[str, str]], Awaitable[Body]]
Complete = Callable[[ToolContext[Any], str, Mapping[str, str]], Awaitable[list[str]]]

_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """One thing with one address."""

    uri: str
    name: str
    read: ReadResource
    title: str | None = None
    description: str | None = None
    mime_type: str = "text/plain"


@dataclass(frozen=True, kw_only=True)
class ResourceTemplate:
    """A family of things: `redmine://issues/{id}`. `completions` helps to fill in a variable."""

    uri_template: str
    name: str
    read: ReadResource
    title: str | None = None
    description: str | None = None
    mime_type: str = "text/plain"
    completions: Mapping[str, Complete] | None = None

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables in `uri`, or nothing when it is not of this family."""
        literal = _VARIABLE.split(self.uri_template)
        pattern = "".join(
            re.escape(part) if index % 2 == 0 else f"(?P<{part}>[^/?#]+)" for index, part in enumerate(literal)
        )
        match = re.fullmatch(pattern, uri)
        return {name: unquote(value) for name, value in match.groupdict().items()} if match else None
