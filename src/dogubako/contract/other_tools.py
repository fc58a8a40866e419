"""What a tool may know of the other tools: find them, look at them, call them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dogubako.contract.call import Resume, ToolResult
from dogubako.contract.metadata import ToolMetadata


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundTool:
    """A tool that fits a query, and how well (0 to 1)."""

    metadata: ToolMetadata
    score: float


class OtherTools(Protocol):
    """The tools that this caller may use."""

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        """Call one, down the whole path."""

    async def search(self, query: str, *, category: str | None = None) -> Sequence[FoundTool]:
        """Those that fit, best first."""

    def describe(self, name: str) -> ToolMetadata:
        """One of them; ToolNotFoundError, with the nearest names, when there is none."""

    def count(self) -> int:
        """How many there are."""


class NoOtherTools:
    """For a tool that runs outside of any server."""

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        raise RuntimeError("this context has no registry to call other tools from")

    async def search(self, query: str, *, category: str | None = None) -> Sequence[FoundTool]:
        return ()

    def describe(self, name: str) -> ToolMetadata:
        raise RuntimeError("this context has no registry to look into")

    def count(self) -> int:
        return 0


NO_OTHER_TOOLS = NoOtherTools()
