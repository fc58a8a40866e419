"""`Discovery`: which tools `tools/list` shows, in how many words, and the map of all others."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from dogubako.engine.registration import ToolRegistryEntry
from dogubako.response.tokens import count_tokens

DiscoveryMode = Literal["auto", "full", "light", "search"]
Shown = Literal["full", "light", "search"]

# How an agent that sees few tools gets to the others.
FINDERS: Final = ("search_tools", "describe_tool", "call_tool")

# Listed only beside tools that take long; they can be called all the same.
TASK_TOOLS: Final = frozenset({"start_task", "task_status", "task_result", "cancel_task"})

# Cut answers name it, so it must be at hand.
_ALWAYS: Final = ("read_more",)
# Where all tools are listed without their arguments, this one shows them.
_IN_LIGHT: Final = ("describe_tool",)

# Above this many tokens of definitions, an agent gains by seeing less of them.
MOST_TOKENS: Final = 10_000
# Up to this many tokens, a name and a line for every tool cost less than the searches that they save.
MOST_LIGHT_TOKENS: Final = 2_500

# The tokens of a tool's name and line, and of a line of the map.
LONGEST_LIGHT: Final = 30
_LONGEST_MAP_LINE: Final = 26
_MOST_MAP_LINES: Final = 10
_MOST_MAP_WORDS: Final = 6
_OPEN_SCHEMA: Final[Mapping[str, Any]] = {"type": "object"}
_VERBS: Final = frozenset(
    {"get", "list", "create", "update", "delete", "show", "add", "remove", "set", "search", "find", "read", "write"}
)


class Discovery:
    """Chooses which tools `tools/list` shows."""

    def __init__(
        self,
        mode: DiscoveryMode = "full",
        pinned: Collection[str] = (),
        most_tokens: int = MOST_TOKENS,
        *,
        can_search: bool = True,
    ) -> None:
        self._mode = mode
        self._pinned = frozenset((*pinned, *_ALWAYS))
        self._most_tokens = most_tokens
        self._can_search = can_search

    def shown(self, callable_tools: Sequence[ToolRegistryEntry]) -> Shown:
        """How these tools are listed: by the mode, or by what each way would cost."""
        if self._mode != "auto":
            return self._mode
        others = [entry for entry in _worth_listing(callable_tools) if entry.name not in FINDERS]
        if _fits((entry.most_definition_tokens for entry in others), self._most_tokens):
            return "full"
        if _fits((entry.definition_tokens for entry in others), self._most_tokens):
            return "full"
        if not self._can_search:
            # Whatever the names cost: tools that are not listed could not be found.
            return "light"
        light = (count_tokens(_name_and_line(entry)) for entry in others)
        return "light" if _fits(light, min(MOST_LIGHT_TOKENS, self._most_tokens)) else "search"

    def searching(self, callable_tools: Sequence[ToolRegistryEntry]) -> bool:
        """Whether some of these tools must be searched for."""
        return self.shown(callable_tools) == "search"

    def listed(self, callable_tools: Sequence[ToolRegistryEntry]) -> list[ToolRegistryEntry]:
        """The tools that are listed, of those that the agent may call."""
        shown = self.shown(callable_tools)
        if shown == "search":
            return [entry for entry in callable_tools if entry.name in FINDERS or self._is_pinned(entry)]
        kept = _IN_LIGHT if shown == "light" else ()
        found = _worth_listing(callable_tools)
        return [entry for entry in found if entry.name in kept or entry.name not in FINDERS]

    def definitions(
        self, callable_tools: Sequence[ToolRegistryEntry]
    ) -> Callable[[ToolRegistryEntry], Mapping[str, Any]]:
        """How a listed tool is written: whole, or only its name and one line."""
        if self.shown(callable_tools) != "light":
            return lambda entry: entry.definition
        return lambda entry: entry.definition if self._is_whole(entry) else _light(entry)

    def hides_arguments(self, entry: ToolRegistryEntry, callable_tools: Sequence[ToolRegistryEntry]) -> bool:
        """Whether an agent that calls this tool by its name has not seen its arguments."""
        return not self._is_whole(entry) and self.shown(callable_tools) != "full"

    def _is_whole(self, entry: ToolRegistryEntry) -> bool:
        return entry.name in FINDERS or self._is_pinned(entry)

    def _is_pinned(self, entry: ToolRegistryEntry) -> bool:
        return entry.pinned or entry.name in self._pinned


def _worth_listing(callable_tools: Sequence[ToolRegistryEntry]) -> Sequence[ToolRegistryEntry]:
    """Without the tools for tasks, where no tool takes long."""
    if any(entry.implementation.long_running for entry in callable_tools):
        return callable_tools
    return [entry for entry in callable_tools if entry.name not in TASK_TOOLS]


def tool_map(callable_tools: Sequence[ToolRegistryEntry], about: Callable[[str], str]) -> str:
    """One line per pack: how many tools it has for this caller, and for what tasks."""
    packs: dict[str, list[ToolRegistryEntry]] = {}
    for entry in _worth_listing(callable_tools):
        if entry.name not in (*FINDERS, *_ALWAYS):
            packs.setdefault(entry.pack, []).append(entry)
    largest = sorted(packs, key=lambda pack: (-len(packs[pack]), pack))
    lines = [_map_line(pack, packs[pack], about(pack)) for pack in largest[:_MOST_MAP_LINES]]
    left = len(largest) - len(lines)
    return "\n".join([*lines, *([f"- and {left} more, found by search"] if left else [])])


def _map_line(pack: str, entries: Sequence[ToolRegistryEntry], about: str) -> str:
    return _cut(f"- {pack} ({len(entries)}): {about or ', '.join(_subjects(entries))}", _LONGEST_MAP_LINE)


def _subjects(entries: Iterable[ToolRegistryEntry]) -> list[str]:
    """What the names of tools are about: their most frequent words that are no verbs."""
    words = Counter(
        word for entry in entries for word in re.findall(r"[a-z]{3,}", entry.name.lower()) if word not in _VERBS
    )
    return [word for word, _ in sorted(words.items(), key=lambda one: (-one[1], one[0]))[:_MOST_MAP_WORDS]]


def _light(entry: ToolRegistryEntry) -> dict[str, Any]:
    line = _name_and_line(entry).partition(": ")[2]
    return {"name": entry.name, "description": line, "inputSchema": _OPEN_SCHEMA}


def _name_and_line(entry: ToolRegistryEntry) -> str:
    sentence = entry.metadata.description.split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
    return _cut(f"{entry.name}: {sentence}", LONGEST_LIGHT)


@lru_cache(maxsize=4_096)
def _cut(line: str, most_tokens: int) -> str:
    """The line, or as many of its words as fit."""
    words = line[:400].split(" ")
    while count_tokens(" ".join(words)) > most_tokens and len(words) > 1:
        words = [*words[: -2 if words[-1] == "…" else -1], "…"]
    return " ".join(words)


def _fits(tokens: Iterable[int], room: int) -> bool:
    for one in tokens:
        room -= one
        if room < 0:
            return False
    return True
