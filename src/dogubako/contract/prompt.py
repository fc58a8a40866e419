"""Prompts that a pack brings. People see them as slash commands."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dogubako.contract.context import ToolContext
from dogubako.contract.output import Content
from dogubako.contract.resource import Complete


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptArgument:
    """Something that the person fills in; prompts take text only."""

    name: str
    description: str
    required: bool = False
    complete: Complete | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptMessage:
    """One turn of the conversation that the prompt starts."""

    content: Content | str
    role: Literal["user", "assistant"] = "user"


Render = Callable[[ToolContext[Any], Mapping[str, str]], Awaitable[Sequence[PromptMessage]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A conversation starter with blanks."""

    name: str
    description: str
    render: Render
    title: str | None = None
    arguments: tuple[PromptArgument, ...] = ()
