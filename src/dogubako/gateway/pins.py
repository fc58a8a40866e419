"""Pinning: a tool is served as it was approved. A new or changed one is held back, with the difference."""

import difflib
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from dogubako.gateway.definitions import Definitions, DefinitionStore, Item, changed_at, read_json, write_json

Reason = Literal["new", "changed", "renamed", "name taken by another server"]

# What an agent or a client may be steered by.
_PINNED: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_INSTRUCTIONS: Final = "instructions"
_TOOLS: Final = "tools"
_SKILLS: Final = "skills"

_canonical = msgspec.json.Encoder(order="deterministic").encode


def pinned_part(tool: Mapping[str, Any]) -> Item:
    """The part of a definition that approval is about."""
    part = {key: tool[key] for key in _PINNED if tool.get(key) is not None}
    meta = tool.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    return part if ui is None else {**part, "_meta": {"ui": ui}}


def fingerprint(tool: Mapping[str, Any]) -> str:
    """SHA-256 of a tool's name, title, description, schemas, annotations and user interface."""
    return hashlib.sha256(_canonical(pinned_part(tool))).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Held:
    """A tool that is held back, and why."""

    tool: Item
    reason: Reason
    # The definition that was approved under this name, or under the name before a rename.
    approved: Item | None = None

    @property
    def name(self) -> str:
        return str(self.tool["name"])

    @property
    def difference(self) -> str:
        """The change of the definition, line by line."""
        before = _lines(self.approved) if self.approved is not None else []
        return "\n".join(difflib.unified_diff(before, _lines(self.tool), "approved", "now", n=2, lineterm=""))


def _lines(tool: Mapping[str, Any]) -> list[str]:
    return msgspec.json.format(_canonical(pinned_part(tool)), indent=2).decode().splitlines()


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What of a server's definitions is served, and what is held back."""

    approved: tuple[Item, ...]
    held: tuple[Held, ...] = ()
    instructions: str = ""
    # New instructions, which wait for approval like a tool.
    held_instructions: str | None = None
    skills: tuple[Item, ...] = ()
    # The addresses of skills that are new or changed, by their files' digests too.
    held_skills: tuple[str, ...] = ()


class Pins:
    """The approved definitions of each server, in the data folder."""

    def __init__(self, store: DefinitionStore) -> None:
        self._store = store

    def judge(self, server: str, definitions: Definitions, *, taken: Collection[str] = ()) -> Judgement:
        """Compare definitions with what was approved. `taken` are names of tools that other servers have."""
        pins = self.stored(server)
        known: Mapping[str, Item] = pins[_TOOLS]
        approved, held = list[Item](), list[Held]()
        present = {tool["name"] for tool in definitions.tools}
        gone = {_nameless(one): one for name, one in known.items() if name not in present}
        for tool in definitions.tools:
            pin = known.get(tool["name"])
            if pin is not None and fingerprint(pin) == fingerprint(tool):
                approved.append(tool)
            elif pin is not None:
                held.append(Held(tool=tool, reason="changed", approved=pin))
            elif (before := gone.get(_nameless(tool))) is not None:
                held.append(Held(tool=tool, reason="renamed", approved=before))
            else:
                stolen = tool["name"] in taken
                held.append(Held(tool=tool, reason="name taken by another server" if stolen else "new"))
        same = pins[_INSTRUCTIONS] == definitions.instructions
        return Judgement(
            approved=tuple(approved),
            held=tuple(held),
            instructions=pins[_INSTRUCTIONS],
            held_instructions=None if same else definitions.instructions,
            skills=tuple(one for one in definitions.skills if pins[_SKILLS].get(one["uri"]) == _digest(one)),
            held_skills=tuple(
                one["uri"] for one in definitions.skills if pins[_SKILLS].get(one["uri"]) != _digest(one)
            ),
        )

    def approve(self, server: str, definitions: Definitions, tools: Sequence[str] | None = None) -> None:
        """Approve all tools and the instructions, or only these tools. Raises OSError if it cannot be stored."""
        self.store(server, self.with_approved(server, definitions, tools))

    def with_approved(
        self, server: str, definitions: Definitions, tools: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """What is approved of a server if these tools are approved as well, or all tools and the instructions."""
        pins = self.stored(server)
        chosen = {str(tool["name"]): tool for tool in definitions.tools if tools is None or tool["name"] in tools}
        kept = pins[_TOOLS] if tools is not None else {}
        merged = {**kept, **{name: pinned_part(tool) for name, tool in chosen.items()}}
        instructions = definitions.instructions if tools is None else pins[_INSTRUCTIONS]
        skills = pins[_SKILLS] if tools is not None else {one["uri"]: _digest(one) for one in definitions.skills}
        return {_TOOLS: merged, _INSTRUCTIONS: instructions, _SKILLS: skills}

    def store(self, server: str, pins: Mapping[str, Any]) -> None:
        """Store what is approved of a server. Raises OSError if that is impossible."""
        write_json(self._store.path(server, "pins"), pins)

    def changed_at(self, server: str) -> int:
        """When the approval was last stored, to notice one by another process; 0 for never."""
        return changed_at(self._store.path(server, "pins"))

    def approved_names(self, server: str) -> frozenset[str]:
        """The names of the approved tools."""
        return frozenset(self.stored(server)[_TOOLS])

    def stored(self, server: str) -> dict[str, Any]:
        """What is approved of a server."""
        found = read_json(self._store.path(server, "pins"))
        pins = found if isinstance(found, dict) else {}
        tools = pins.get(_TOOLS)
        known = {name: one for name, one in tools.items() if isinstance(one, dict)} if isinstance(tools, dict) else {}
        instructions = pins.get(_INSTRUCTIONS)
        skills = pins.get(_SKILLS)
        return {
            _TOOLS: known,
            _INSTRUCTIONS: instructions if isinstance(instructions, str) else "",
            _SKILLS: skills if isinstance(skills, dict) else {},
        }


def _digest(skill: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(skill)).hexdigest()


def _nameless(tool: Mapping[str, Any]) -> bytes:
    """The definition without its name and title, to know a tool again after a rename."""
    return _canonical({key: value for key, value in pinned_part(tool).items() if key not in ("name", "title")})
