"""Which tools an agent sees: all of them, or a few and a way to find the others.

Nothing is remembered between calls: what is listed depends on the settings, on the registered tools and on who asks.
"""

from collections.abc import Collection, Sequence
from typing import Final, Literal

from dogubako.engine.entry import ToolRegistryEntry

DiscoveryMode = Literal["auto", "full", "search"]

# How an agent that sees few tools gets to the others.
FINDERS: Final = ("search_tools", "describe_tool", "call_tool")

# Cut answers name it, so it must be at hand.
_ALWAYS: Final = ("read_more",)

# Above this many tokens of definitions, searching costs an agent less than reading.
MOST_TOKENS: Final = 10_000


class Discovery:
    """Chooses what is listed."""

    def __init__(
        self, mode: DiscoveryMode = "full", pinned: Collection[str] = (), most_tokens: int = MOST_TOKENS
    ) -> None:
        self._mode = mode
        self._pinned = frozenset((*pinned, *_ALWAYS))
        self._most_tokens = most_tokens

    def searching(self, callable_tools: Sequence[ToolRegistryEntry]) -> bool:
        """Whether these tools are too many to be shown at once."""
        if self._mode != "auto":
            return self._mode == "search"
        room = self._most_tokens
        for entry in callable_tools:
            if entry.name not in FINDERS:
                room -= entry.definition_tokens
                if room < 0:
                    return True
        return False

    def listed(self, callable_tools: Sequence[ToolRegistryEntry]) -> list[ToolRegistryEntry]:
        """What an agent sees of the tools that it may call."""
        if self.searching(callable_tools):
            return [entry for entry in callable_tools if entry.name in FINDERS or self._is_pinned(entry)]
        return [entry for entry in callable_tools if entry.name not in FINDERS]

    def _is_pinned(self, entry: ToolRegistryEntry) -> bool:
        return entry.pinned or entry.name in self._pinned
