"""Decide which parameters of a node n8n displays, by the values of the others.

n8n drops parameters that are not shown. A decision may be open (None): then nothing may be claimed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dogubako.packs.n8n.nodes.descriptions import Conditions, Property

_MISSING: Final = None


class Shown(Protocol):
    """Anything with conditions: a parameter, a choice, a credential."""

    @property
    def show(self) -> Conditions | None: ...

    @property
    def hide(self) -> Conditions | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """The values at one level of a node's parameters, with defaults, and those of the top level."""

    here: Mapping[str, Any]
    version: float
    tool: bool = False
    root: Mapping[str, Any] | None = None
    # Names whose values are objects: n8n does not look into them when it decides.
    containers: frozenset[str] = frozenset()

    def look_up(self, name: str) -> list[Any] | None:
        """The values that a condition compares; None if it cannot be said."""
        if name == "@version":
            return [self.version]
        if name == "@tool":
            return [self.tool]
        if name.startswith("@"):
            return None
        place = self.root if name.startswith("/") and self.root is not None else self.here
        path = name.removeprefix("/").split(".")
        if len(path) > 1 and path[0] in self.containers:
            return None
        found: Any = place
        for part in path:
            found = found.get(part) if isinstance(found, Mapping) else _MISSING
        if isinstance(found, Mapping) and found.get("__rl"):
            found = found.get("value")
        return found if isinstance(found, list) else [found]


def is_expression(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("=")


def as_taken(definition: Property, value: Any) -> Any:
    """The value that n8n uses: where no expression is allowed, one is taken as plain text."""
    return value[1:] if definition.plain and is_expression(value) and "$fromAI" not in value else value


def displayed(part: Shown, values: Values) -> bool | None:
    """Whether n8n shows a part with these values. The order of the conditions matters, as it does in n8n."""
    open_question = False
    for name, wanted in (part.show or {}).items():
        found = values.look_up(name)
        if found is None or _has_pattern(wanted):
            open_question = True
        elif any(map(is_expression, found)):
            # Which value it will have is not known; n8n shows the parameter.
            return None if open_question else True
        elif not _matches(wanted, found):
            return False
    for name, unwanted in (part.hide or {}).items():
        found = values.look_up(name)
        if found is None or _has_pattern(unwanted):
            open_question = True
        elif found and _matches(unwanted, found):
            return False
    return None if open_question else True


def resolve(properties: Sequence[Property], given: Mapping[str, Any], frame: Values, *, defaults: bool) -> Values:
    """The values at one level. Options of a collection have no defaults; all others have."""
    here = {
        one.name: as_taken(one, given[one.name]) for one in properties if not one.is_container and one.name in given
    }
    containers = frozenset(one.name for one in properties if one.is_container)
    values = Values(
        here=here, version=frame.version, tool=frame.tool, root=frame.root, containers=frame.containers | containers
    )
    if not defaults:
        return values
    missing = [one for one in properties if not one.is_container and one.name not in here]
    shared = {name for name, count in Counter(one.name for one in properties).items() if count > 1}
    here.update({one.name: one.default for one in missing if one.name not in shared})
    _resolve_shared([one for one in missing if one.name in shared], here, values)
    return values


def _resolve_shared(waiting: list[Property], here: dict[str, Any], values: Values) -> None:
    """Set the default of the shown one among properties of the same name, in the order of what they depend on."""
    while waiting:
        names = {one.name for one in waiting}
        ready = [one for one in waiting if not (_depends_on(one) & names - {one.name})] or waiting
        for one in ready:
            if one.name not in here and displayed(one, values):
                here[one.name] = one.default
        waiting = [one for one in waiting if not any(one is other for other in ready)]


def _depends_on(part: Shown) -> set[str]:
    return {name.removeprefix("/").split(".")[0] for name in (*(part.show or ()), *(part.hide or ()))}


def _has_pattern(conditions: Any) -> bool:
    """Whether a condition is a regular expression: those of others are not run here."""
    listed = conditions if isinstance(conditions, list) else [conditions]
    parts = (one.get("_cnd") for one in listed if isinstance(one, Mapping))
    return any(isinstance(one, Mapping) and "regex" in one for one in parts)


def _matches(conditions: Any, values: Sequence[Any]) -> bool:
    wanted: Iterable[Any] = conditions if isinstance(conditions, list) else [conditions]
    return any(_meets(condition, values) for condition in wanted)


def _meets(condition: Any, values: Sequence[Any]) -> bool:
    if isinstance(condition, Mapping) and len(condition) == 1 and isinstance(condition.get("_cnd"), Mapping):
        kind, target = next(iter(condition["_cnd"].items()), ("", None))
        if not values:
            return bool(kind == "not")
        return all(_compares(kind, target, value) for value in values)
    return any(same(condition, value) for value in values)


def same(left: Any, right: Any) -> bool:
    """Equality without conversion: JavaScript tells true from 1."""
    return left == right and isinstance(left, bool) is isinstance(right, bool)


def _compares(kind: str, target: Any, value: Any) -> bool:
    match kind:
        case "eq":
            return same(value, target)
        case "not":
            return not same(value, target)
        case "exists":
            return value is not None and value != ""
        case "gte" | "lte" | "gt" | "lt" | "between":
            return _in_order(kind, target, value)
        case "includes" | "startsWith" | "endsWith" if isinstance(value, str) and isinstance(target, str):
            begins, ends = value.startswith(target), value.endswith(target)
            return {"includes": target in value, "startsWith": begins, "endsWith": ends}[kind]
        case _:
            return False


def _in_order(kind: str, target: Any, value: Any) -> bool:
    if kind == "between":
        low, high = (target or {}).get("from"), (target or {}).get("to")
        return _in_order("gte", low, value) and _in_order("lte", high, value)
    if not (isinstance(target, int | float) and isinstance(value, int | float)):
        return False
    return {"gte": value >= target, "lte": value <= target, "gt": value > target, "lt": value < target}[kind]
