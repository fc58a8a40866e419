"""What the registry keeps of each tool."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec
from packaging.version import Version

from dogubako.contract.metadata import ToolExample, ToolMetadata
from dogubako.contract.passing_tool import PassingTool
from dogubako.contract.tool import BaseTool
from dogubako.engine.plain_schema import compiled
from dogubako.engine.validation import ArgumentValidator
from dogubako.response.plain import encode
from dogubako.response.tokens import count_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisterOptions:
    """How to register a tool where it should differ from what the tool says of itself.

    `proven` says that a test has derived its schemas; they are then left for the first who looks at them. `pinned`
    keeps the tool in sight of agents that search for all others.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ListFilter:
    """Which tools to list. Several tags mean all of them."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    enabled: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """Whether a tool answers now, and if not, why."""

    enabled: bool
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolRegistryEntry:
    """One version of one tool. `status_of` is asked, not stored: it depends on other tools."""

    metadata: ToolMetadata
    implementation: BaseTool[Any, Any]
    pack: str
    switched_on: bool = True
    unavailable: str | None = None
    pinned: bool = False
    status_of: Callable[["ToolRegistryEntry"], Status]
    registered_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def version(self) -> str:
        return self.metadata.version

    @property
    def passes_on(self) -> bool:
        """Whether it only stands for another tool."""
        return isinstance(self.implementation, PassingTool)

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
        """By version; of two spellings of one version (1.0, 1.0.0) always the same comes first."""
        return Version(self.version), self.version

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it; made once, shown often."""
        return self.implementation.to_definition()

    @cached_property
    def definition_tokens(self) -> int:
        """What the tool costs an agent before it says a word."""
        return count_tokens(encode(self.definition))

    @cached_property
    def mirrored_in_headers(self) -> bool:
        """Whether HTTP clients repeat some of its arguments in headers, which must then be compared."""
        return b"x-mcp-header" in msgspec.json.encode(self.metadata.input_schema)

    @cached_property
    def validator(self) -> ArgumentValidator:
        return ArgumentValidator(self.implementation)

    @cached_property
    def check_structured(self) -> Callable[[Any], None] | None:
        """Refuses data that breaks the tool's own promise, or nothing for a tool that promised none."""
        if self.metadata.output_schema is None:
            return None
        validate: Callable[[Any], None] = compiled(self.metadata.output_schema).validate
        return validate
