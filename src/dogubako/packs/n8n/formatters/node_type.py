"""Describe a node type: a line per parameter, narrowed to one resource and operation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from dogubako.packs.n8n.formatters.truncation import shortened, tokens_of
from dogubako.packs.n8n.nodes.descriptions import Conditions, NodeDescription, Property, Summary
from dogubako.packs.n8n.nodes.display import Shown, Values, displayed, resolve

JsonObject = dict[str, Any]

TOKENS: Final = 1_300
_TAG: Final = re.compile(r"<[^>]{1,200}>")
_NAME_IN_CODE: Final = re.compile(r"^[ \t]*+([A-Za-z_$][\w$]*+)\??: ", re.MULTILINE)
_CHOICE_IN_CODE: Final = re.compile(r"^[ \t]*+(resource|operation)\??: (.*);$", re.MULTILINE)
_LITERAL: Final = re.compile(r"'([^']++)'")
_LONGEST_TEXT: Final = 90
_LONGEST_DEFAULT: Final = 40
_MOST_CHOICES: Final = 10
_MOST_LISTED: Final = 12
# Parameters that only show something.
_NOT_SET: Final = frozenset({"notice", "callout", "button", "curlImport", "credentials"})


def row(summary: Summary) -> JsonObject:
    """One result of a search."""
    facts = {
        "type": summary.type,
        "title": summary.title,
        "description": _plain(summary.description, 140),
        "version": summary.version,
        "trigger": summary.trigger or None,
        "deprecated": summary.hidden or None,
        "asTool": f"{summary.type}Tool" if summary.usable_as_tool else None,
        "resources": _some(summary.resources),
        "operations": _some(summary.operations) if not summary.resources else None,
    }
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


class NodeTypeFormatter:
    """One description at one version, with the values that narrow it."""

    def __init__(self, description: NodeDescription, version: float, chosen: Mapping[str, str]) -> None:
        self._description = description
        self._version = version
        self._chosen = chosen
        frame = Values(here={}, version=version, tool=description.type.endswith("Tool"))
        self._values = resolve(description.properties, chosen, frame, defaults=True)

    def overview(self, versions: Sequence[float]) -> JsonObject:
        """The type, its credentials, its resources and operations, and its parameters as far as they fit."""
        facts = self._frame(versions)
        if missing := self._undecided():
            facts |= missing
            return facts
        parameters = [one for one in self._shown() if one.name not in self._chosen]
        parameters.sort(key=lambda one: (self._unmet(one) is not None, not one.required))
        lines = [line(self._pruned(one), self._unmet(one)) for one in parameters]
        fitting = within(lines, TOKENS, frame=facts)
        facts["parameters"] = lines[:fitting]
        if fitting < len(lines):
            left = list(dict.fromkeys(one.name for one in parameters[fitting:]))
            facts["moreParameters"] = _some(left, 40)
        return facts

    def parameter(self, name: str) -> list[Property]:
        """The definitions of one parameter, those that are shown first."""
        found = [one for one in self._description.properties if one.name == name]
        found.sort(key=lambda one: displayed(one, self._values) is False)
        return [self._pruned(one) for one in found]

    def places_of(self, name: str) -> list[str]:
        """The parameters that have one of this name, or of this path, inside."""
        outer, _, inner = name.partition(".")
        whole = [one for one in self._description.properties if one.name == outer] if inner else []
        inside = whole or [one for one in self._description.properties if _has_inside(one, name)]
        return list(dict.fromkeys(one.name for one in inside))

    def names(self) -> list[str]:
        return list(dict.fromkeys(one.name for one in self._description.properties if one.type not in _NOT_SET))

    def _frame(self, versions: Sequence[float]) -> JsonObject:
        one = self._description
        facts = {
            "type": one.type,
            "title": one.title,
            "description": _plain(one.description, 200),
            "version": self._version,
            "versions": [*versions] if len(versions) > 1 else None,
            "trigger": one.trigger or None,
            "inputs": one.inputs if one.inputs not in (None, ["main"]) else None,
            "needsConnected": list(self._needed()) or None,
            "outputs": one.outputs if one.outputs not in (None, ["main"]) else None,
            "credentials": [use.name for use in one.credentials if displayed(use, self._values) is not False] or None,
            "chosen": dict(self._chosen) or None,
        }
        return {key: value for key, value in facts.items() if value not in (None, "")}

    def _undecided(self) -> JsonObject:
        """The resources or operations to choose from, if the description needs a choice."""
        resources = self._description.values_of("resource")
        if "resource" not in self._chosen and len(resources) > 1:
            return {"resources": {name: self.operations(name) for name in resources}}
        operations = self.operations(self._chosen.get("resource"))
        if "operation" not in self._chosen and len(operations) > 1:
            return {"operations": operations}
        return {}

    def operations(self, resource: str | None) -> list[str]:
        """The operations to choose from, of one resource."""
        chosen = dict(self._chosen) | ({"resource": resource} if resource else {})
        values = resolve(self._description.properties, chosen, self._values, defaults=True)
        named = (one for one in self._description.properties if one.name == "operation")
        shown = (one for one in named if displayed(one, values) is not False)
        return list(dict.fromkeys(str(choice.value) for one in shown for choice in one.choices))

    def _shown(self) -> Iterator[Property]:
        """Parameters that can be set with the chosen values, if only under a condition."""
        for one in self._description.properties:
            if _can_be_set(one) and self._possible(one):
                yield one

    def _needed(self) -> Iterator[str]:
        """The inputs to which a sub-node has to be connected, and when."""
        for one in self._description.needs:
            if self._possible(one):
                sure = displayed(one, self._values) is True
                yield one.name + _when(None if sure else self._open(one))

    def _possible(self, one: Shown, *, inside: bool = False) -> bool:
        """Whether no condition on a chosen value, or on the version, rules something out.

        Inside of a parameter only names that begin with a slash are those of chosen values.
        """
        chosen = {f"/{name}" for name in self._chosen}
        fixed = {*chosen, "@version", "@tool"} if inside else {*chosen, *self._chosen, "@version", "@tool"}
        show = {key: value for key, value in (one.show or {}).items() if key in fixed}
        hide = {key: value for key, value in (one.hide or {}).items() if key in fixed}
        return displayed(Property(name="", show=show, hide=hide), self._values) is not False

    def _pruned(self, one: Property) -> Property:
        """The parameter without the options, entries and choices that this version does not have."""
        return structs.replace(
            one,
            choices=[choice for choice in one.choices if self._possible(choice)],
            children=self._existing(one.children),
            groups={name: self._existing(group) for name, group in one.groups.items()},
        )

    def _existing(self, inside: Sequence[Property]) -> list[Property]:
        return [self._pruned(one) for one in inside if _can_be_set(one) and self._possible(one, inside=True)]

    def _unmet(self, one: Shown) -> Conditions | None:
        """The conditions that the other parameters do not meet yet."""
        return None if displayed(one, self._values) is not False else self._open(one)

    def _open(self, one: Shown) -> Conditions | None:
        """The conditions on what is not chosen."""
        fixed = {*self._chosen, "@version", "@tool"}
        return {key: value for key, value in (one.show or {}).items() if key.removeprefix("/") not in fixed} or None


def _can_be_set(one: Property) -> bool:
    return one.type not in _NOT_SET and one.type != "hidden"


def _has_inside(one: Property, name: str) -> bool:
    children = [*one.children, *(child for group in one.groups.values() for child in group)]
    return name in one.groups or any(child.name == name or _has_inside(child, name) for child in children)


def line(one: Property, conditions: Conditions | None = None) -> str:
    """`url*: string — The URL to make the request to`. A star marks what is required."""
    text = f"{one.name}{'*' if one.required else ''}: {_kind(one)}{_default(one)}"
    text += _when(conditions)
    description = _plain(one.description or one.title, _LONGEST_TEXT)
    return f"{text} — {description}" if description and description.lower() != one.name.lower() else text


def _when(conditions: Conditions | None) -> str:
    """` [sendBody=true]`"""
    listed = ", ".join(f"{key}={_values(value)}" for key, value in (conditions or {}).items())
    return f" [{listed}]" if listed else ""


def details(one: Property) -> JsonObject:
    """One parameter whole: all its choices, and what is inside of it."""

    def lines(children: Sequence[Property]) -> list[str]:
        return [line(child, _other_conditions(child)) for child in children]

    facts: JsonObject = {"parameter": line(one), "description": _plain(one.description, 200) or None}
    if one.show or one.hide:
        facts["shownWhen"], facts["hiddenWhen"] = _other_conditions(one) or None, one.hide
    if one.choices:
        facts["choices"] = {str(choice.value): choice.title for choice in one.choices}
    if one.modes:
        facts["modes"] = one.modes
    if one.children:
        facts["options"] = lines(one.children)
    if one.groups:
        facts["entries"] = {f"{name}[]" if one.many else name: lines(group) for name, group in one.groups.items()}
    return {key: value for key, value in facts.items() if value is not None}


def _other_conditions(one: Property) -> Conditions:
    return {key: value for key, value in (one.show or {}).items() if key != "@version"}


def _kind(one: Property, depth: int = 0) -> str:
    if one.choices and one.type in ("options", "multiOptions"):
        every = list(dict.fromkeys(str(choice.value) for choice in one.choices))
        values = "|".join(every[:_MOST_CHOICES])
        more = f"|… ({len(every)})" if len(every) > _MOST_CHOICES else ""
        return f"[{values}{more}]" if one.type == "multiOptions" else f"{values}{more}"
    if one.type == "resourceLocator":
        return f"{{__rl: true, mode: {'|'.join(one.modes) or 'id'}, value}}"
    if one.children:
        return f"{{{_inside(one.children, depth)}}}"
    if one.groups:
        many = "[]" if one.many else ""
        return "{" + ", ".join(f"{name}{many}: {{{_inside(group, depth)}}}" for name, group in one.groups.items()) + "}"
    return _SHAPES.get(one.type, one.type)


_SHAPES: Final = {
    "filter": "{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator: and|or}",
    "workflowSelector": "{__rl: true, mode: list|id, value}",
    "assignmentCollection": "{assignments: [{name, value, type}]}",
    "resourceMapper": "{mappingMode: defineBelow|autoMapInputData, value: {…}}",
    "collection": "{}",
    "fixedCollection": "{}",
}


def _inside(children: Sequence[Property], depth: int) -> str:
    names = list(dict.fromkeys(child.name for child in children))
    if depth:
        return ", ".join(names[:_MOST_LISTED])
    shown = [f"{name}{_brief_kind(next(one for one in children if one.name == name))}" for name in names[:_MOST_LISTED]]
    return ", ".join(shown) + (f", … ({len(names)})" if len(names) > _MOST_LISTED else "")


def _brief_kind(one: Property) -> str:
    if one.children or one.groups:
        return ": {…}"
    if one.choices and len(one.choices) <= 4:
        return ": " + "|".join(str(choice.value) for choice in one.choices)
    return "" if one.type == "string" else f": {_SHAPES.get(one.type, one.type)}"


def _default(one: Property) -> str:
    if one.default in (None, "", {}, []) or one.is_container or isinstance(one.default, dict):
        return ""
    return f" = {shortened(msgspec.json.encode(one.default).decode(), _LONGEST_DEFAULT)}"


def _values(values: Any) -> str:
    listed = values if isinstance(values, list) else [values]
    words = [msgspec.json.encode(one).decode().strip('"') for one in listed[:4]]
    return "|".join(words) + ("|…" if len(listed) > 4 else "")


def _plain(text: str, longest: int) -> str:
    flat = " ".join(_TAG.sub("", text).split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def _some(names: Sequence[str], most: int = _MOST_LISTED) -> list[str]:
    return [*names[:most], f"… [{len(names) - most} more]"] if len(names) > most else list(names)


def within(lines: Sequence[str], tokens: int, *, frame: Mapping[str, Any] | None = None) -> int:
    """How many lines fit beside the frame."""
    room = tokens - (tokens_of(frame) if frame else 0)
    for index, one in enumerate(lines):
        room -= tokens_of(one) + 1
        if room < 0:
            return index
    return len(lines)


def parameter_of(definition: str, name: str) -> list[str]:
    """The lines of one parameter in a TypeScript definition, with the comment before it."""
    lines = definition.splitlines()
    starts = [index for index, one in enumerate(lines) if one.lstrip().startswith((f"{name}?:", f"{name}:"))]
    found: list[str] = []
    for start in starts[:3]:
        depth = 0
        for end in range(start, len(lines)):
            depth += lines[end].count("{") - lines[end].count("}")
            if depth <= 0:
                break
        before = [lines[start - 1]] if start and lines[start - 1].strip().startswith("//") else []
        found += [*before, *lines[start : end + 1]]
    return found


def names_of(definition: str) -> list[str]:
    """The names of the parameters in a TypeScript definition, with those inside of others."""
    return list(dict.fromkeys(_NAME_IN_CODE.findall(definition)))


def choices_of(definition: str, name: str) -> list[str] | None:
    """The values of `resource` or `operation` in a definition; none if it has no such, None if they are not told."""
    found = [kind for one, kind in _CHOICE_IN_CODE.findall(definition) if one == name]
    values = [value for one in found for value in _LITERAL.findall(one)]
    return list(dict.fromkeys(values)) if values or not found else None


__all__ = ["TOKENS", "NodeTypeFormatter", "choices_of", "details", "line", "names_of", "parameter_of", "row", "within"]
