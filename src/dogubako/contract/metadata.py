"""What the registry knows of a tool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Effect(Enum):
    """What a call does to the world. It decides annotations, retries, read-only mode and confirmation."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"
    # Nothing by itself: the call is passed on to another tool, which is judged for itself.
    DELEGATE = "delegate"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolParameter:
    """One argument, as its schema describes it."""

    name: str
    type: str
    description: str = ""
    required: bool = False
    default: Any = None
    enum: tuple[Any, ...] | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    examples: tuple[Any, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolExample:
    """A call worth copying."""

    description: str
    parameters: Mapping[str, Any]
    expected_result: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSchemas:
    """What a tool takes, and what it promises."""

    parameters: tuple[ToolParameter, ...]
    input: Mapping[str, Any]
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMetadata:
    """A tool's face: everything that can be shown without running it.

    `schemas` is asked, not stored: deriving them takes longer than all the rest, and most tools are never looked at.
    """

    name: str
    description: str
    title: str
    schemas: Callable[[], ToolSchemas] = field(repr=False)
    effect: Effect = Effect.WRITE
    idempotent: bool = False
    open_world: bool = True
    version: str = "1.0.0"
    category: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    examples: tuple[ToolExample, ...] = ()
    dependencies: tuple[str, ...] = ()
    keywords: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[ToolParameter, ...]:
        return self.schemas().parameters

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return self.schemas().input

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        return self.schemas().output

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints that MCP clients use to decide what to ask their users."""
        reads = self.effect is Effect.READ
        return {
            "readOnlyHint": reads,
            "destructiveHint": self.effect in (Effect.DESTROY, Effect.DELEGATE),
            "idempotentHint": reads or self.idempotent,
            "openWorldHint": self.open_world,
        }

    @property
    def writes(self) -> bool:
        """Whether it changes something by itself."""
        return self.effect in (Effect.WRITE, Effect.DESTROY)

    @property
    def repeatable(self) -> bool:
        """Whether running it twice does no more than running it once."""
        return self.effect is Effect.READ or self.idempotent
