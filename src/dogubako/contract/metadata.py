"""The metadata of a tool: name, effect, schemas, examples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import msgspec

# Whether a tool is answered with a task, where the client takes one.
LongRunning = bool | Literal["required"]


class Effect(Enum):
    """What a call changes. It decides the annotations, retries, read-only mode and confirmation of a tool."""

    # Changes nothing. The engine may repeat such a call.
    READ = "read"
    # Creates or changes something.
    WRITE = "write"
    # Deletes something. The call requires a confirmation.
    DESTROY = "destroy"
    # Passes the call on to another tool, whose own effect counts.
    DELEGATE = "delegate"

    @classmethod
    def _missing_(cls, value: object) -> "Effect":
        raise ValueError(f"effect must be 'read', 'write' or 'destroy', not {value!r}")


class ToolParameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a tool, as its JSON Schema describes it."""

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


class ToolExample(msgspec.Struct, frozen=True, kw_only=True):
    """An example of a call, for the description of a tool."""

    description: str
    parameters: Mapping[str, Any]
    expected_result: Any = None


class ToolSchemas(msgspec.Struct, frozen=True, kw_only=True):
    """The schemas of the arguments and of the answer."""

    parameters: tuple[ToolParameter, ...]
    input: Mapping[str, Any]
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolMetadata:
    """The description of a tool: everything that can be shown without running it.

    `schemas` is called when a schema is needed: most tools are never described, and schemas are slow to derive.
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
        """Return the MCP annotations, such as `readOnlyHint`."""
        reads = self.effect is Effect.READ
        return {
            "readOnlyHint": reads,
            "destructiveHint": self.effect in (Effect.DESTROY, Effect.DELEGATE),
            "idempotentHint": reads or self.idempotent,
            "openWorldHint": self.open_world,
        }

    @property
    def writes(self) -> bool:
        """Whether the tool itself changes something."""
        return self.effect in (Effect.WRITE, Effect.DESTROY)

    @property
    def repeatable(self) -> bool:
        """Whether the engine may run it again: it reads, or it is idempotent."""
        return self.effect is Effect.READ or self.idempotent
