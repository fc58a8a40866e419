"""Registry entries: what the registry keeps of a tool, and the checks before a tool is registered."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import InvalidVersion, Version

from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.metadata import ToolExample, ToolMetadata
from dogubako.contract.schema import RESULT_KEY
from dogubako.contract.stored_tool import StoredTool
from dogubako.contract.tool import BaseTool, PassingTool
from dogubako.engine.validation import ArgumentValidator, compiled
from dogubako.response.jsonable import encode
from dogubako.response.tokens import count_tokens, most_tokens

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
# What MCP allows and every language model's API takes; tools of other servers have names like `API-get-self`.
_FOREIGN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_HEADER_ANNOTATION = "x-mcp-header"


class RegistrationError(ValueError):
    """This tool cannot be registered; the message is for its author."""


def admit(metadata: ToolMetadata, *, derived: bool, foreign: bool = False) -> None:
    """Raise RegistrationError with the first reason to refuse. A schema that we derived needs no proof."""
    _check_name(metadata.name, foreign=foreign)
    if not metadata.description.strip():
        raise RegistrationError(f'Tool description is required: "{metadata.name}"')
    if not _is_version(metadata.version):
        raise RegistrationError(f'Tool "{metadata.name}" has version "{metadata.version}", which is not like 1.0.0')
    if not derived:
        _check_schema(metadata.name, "inputSchema", metadata.input_schema)
    if not derived and metadata.output_schema is not None:
        _check_schema(metadata.name, "outputSchema", metadata.output_schema)


@lru_cache(maxsize=64)
def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _check_name(name: str, *, foreign: bool) -> None:
    if not name or not name.strip():
        raise RegistrationError("Tool name is required")
    if foreign and not _FOREIGN_NAME.fullmatch(name):
        raise RegistrationError(
            f'Tool name "{name}" must start with a letter, a number or an underscore, and contain only letters, '
            "numbers, hyphens and underscores (at most 64 characters)"
        )
    if not foreign and not _NAME.fullmatch(name):
        raise RegistrationError(
            f'Tool name "{name}" must start with a lowercase letter and contain only lowercase letters, numbers, '
            "hyphens and underscores (at most 64 characters)"
        )


def _check_schema(name: str, which: str, schema: Any) -> None:
    if schema.get("type") != "object":
        raise RegistrationError(f'Tool "{name}": {which} must have "type": "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(prop, dict) for prop in properties.values()):
        raise RegistrationError(f'Tool "{name}": every property of {which} must be an object')
    try:
        compiled(schema)
    except ValueError as error:
        reason = str(error).split("\n", 1)[0]
        raise RegistrationError(f'Tool "{name}": {which} is not valid JSON Schema: {reason}') from None
    if _HEADER_ANNOTATION in msgspec.json.encode(schema).decode():
        _check_header_annotations(name, schema)


def _check_header_annotations(name: str, schema: Any) -> None:
    # The SDK is heavy, and hardly a tool has such annotations.
    from mcp.shared.inbound import find_invalid_x_mcp_header  # noqa: PLC0415

    if (reason := find_invalid_x_mcp_header(schema)) is not None:
        raise RegistrationError(f'Tool "{name}": {reason}')


class RegisterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that override what a tool declares itself.

    `proven` says that a test has derived its schemas; they are then left for the first who looks at them. `pinned`
    keeps the tool in sight of agents that search for all others. `words` is what its server says of all its tools, for
    example its instructions; it is searched, not shown. `everyday_words` is a file with more words of single tools.
    """

    version: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    pack: str | None = None
    overwrite: bool = False
    enabled: bool = True
    unavailable: str | None = None
    proven: bool = False
    pinned: bool = False
    words: str = ""
    everyday_words: Path | None = None


class ListFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools to list. Several tags mean all of them."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    enabled: bool | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a tool answers now, and if not, why."""

    enabled: bool
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolRegistryEntry:
    """One version of one tool. `status_of` is called, not stored: a status depends on other tools."""

    metadata: ToolMetadata
    implementation: BaseTool[Any, Any]
    pack: str
    switched_on: bool = True
    unavailable: str | None = None
    pinned: bool = False
    words: str = ""
    everyday_words: Path | None = None
    status_of: Callable[["ToolRegistryEntry"], Status]
    registered_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def version(self) -> str:
        return self.metadata.version

    @cached_property
    def writes(self) -> bool:
        """Whether the tool itself changes something. Cached, because every call needs it."""
        return self.metadata.writes

    @cached_property
    def repeatable(self) -> bool:
        """Whether running it twice does no more than running it once."""
        return self.metadata.repeatable

    @cached_property
    def load(self) -> Callable[[], Awaitable[None]] | None:
        """Imports a tool that is only described so far; None for all others. To be awaited before the tool is used."""
        return self._import if isinstance(self.implementation, StoredTool) else None

    async def _import(self) -> None:
        if isinstance(stored := self.implementation, StoredTool):
            await stored.load()
            # From now on it is a tool like any other.
            self.__dict__.update(implementation=stored.tool, load=None)

    @cached_property
    def passes_on(self) -> bool:
        """Whether it only passes calls on to other tools."""
        return isinstance(self.implementation, PassingTool)

    def for_call(self, parameters: Any) -> "ToolRegistryEntry":
        """This entry, or for a tool whose effect depends on its arguments, the entry with the effect of this call."""
        if not isinstance(self.implementation, EffectByCall):
            return self
        tool = self.implementation.for_call(parameters)
        if tool not in self._by_tool:
            self._by_tool[tool] = replace(self, metadata=tool.metadata, implementation=tool)
        return self._by_tool[tool]

    @cached_property
    def _by_tool(self) -> dict[BaseTool[Any, Any], "ToolRegistryEntry"]:
        # Kept, because a validator is slow to make.
        return {}

    @property
    def tags(self) -> tuple[str, ...]:
        return self.metadata.tags

    @property
    def category(self) -> str:
        return self.metadata.category or self.pack

    @property
    def dependencies(self) -> tuple[str, ...]:
        return self.metadata.dependencies

    @property
    def author(self) -> str | None:
        return self.metadata.author

    @property
    def examples(self) -> tuple[ToolExample, ...]:
        return self.metadata.examples

    @property
    def status(self) -> Status:
        return self.status_of(self)

    @property
    def enabled(self) -> bool:
        return self.status.enabled

    @cached_property
    def order(self) -> tuple[Version, str]:
        """Sort key: the version, then its spelling (1.0 and 1.0.0 are equal)."""
        return Version(self.version), self.version

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it; made once, shown often."""
        return self.implementation.to_definition()

    @cached_property
    def definition_tokens(self) -> int:
        """The tokens of the tool's definition in a list."""
        return count_tokens(encode(self.definition))

    @cached_property
    def most_definition_tokens(self) -> int:
        """What `definition_tokens` is at most. It needs no table of words, which a start would have to read."""
        return most_tokens(encode(self.definition))

    @cached_property
    def mirrored_in_headers(self) -> bool:
        """Whether HTTP clients repeat some of its arguments in headers, which must then be compared."""
        return b"x-mcp-header" in msgspec.json.encode(self.metadata.input_schema)

    @cached_property
    def validator(self) -> ArgumentValidator:
        return ArgumentValidator(self.implementation)

    @cached_property
    def check_structured(self) -> Callable[[Any], Any] | None:
        """Turns data into structured content that fits the output schema; None for a tool without one."""
        if self.metadata.output_schema is None:
            return None
        validate = compiled(self.metadata.output_schema).validate
        wraps = self.implementation.wraps_output

        def structured(data: Any) -> Any:
            content = {RESULT_KEY: data} if wraps else data
            validate(content)
            return content

        return structured
