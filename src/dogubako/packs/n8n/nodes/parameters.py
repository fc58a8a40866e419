"""Check the parameters of one node against the description of its type."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.channels import TOOL_SUFFIX
from dogubako.packs.n8n.nodes.descriptions import NodeDescription, Property
from dogubako.packs.n8n.nodes.display import Values, as_taken, displayed, is_expression, resolve, same
from dogubako.packs.n8n.nodes.filters import check_assignments, check_filter
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted

_MOST_CHOICES: Final = 12
_FEWEST_NUMBERS: Final = 4
_YEAR: Final = "yyyy"
_SET: Final = "n8n-nodes-base.set"
# Resource locators of which a node itself reads the value, and since which version.
_READ_AS_OBJECT: Final[Mapping[str, tuple[str, float]]] = {
    "n8n-nodes-base.executeWorkflow": ("workflowId", 1.1),
    "n8n-nodes-base.dataTable": ("dataTableId", 1),
}
_MODES_OF_WORKFLOWS: Final = ("list", "id")
# Nodes hide a parameter for good by such a condition.
_IN_NO_VERSION: Final = ({"lt": 0}, {"lte": 0})
_COMPARED: Final = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than", "not": "not", "eq": ""}
# Parameter types that n8n refuses when they are required and empty.
_NEEDS_VALUE: Final = frozenset(
    {"string", "dateTime", "options", "multiOptions", "resourceLocator", "workflowSelector"}
)


def check_parameters(
    description: NodeDescription, version: float, parameters: Mapping[str, Any], *, tool: bool, disabled: bool = False
) -> Iterator[Problem]:
    """Unknown and hidden parameters, unknown options, missing required ones, and values of a wrong shape."""
    frame = Values(here={}, version=version, tool=tool)
    top = resolve(description.properties, parameters, frame, defaults=True)
    rooted = Values(here=top.here, version=version, tool=tool, root=top.here, containers=top.containers)
    found = _Level(rooted, check_required=not disabled, converted=_converts(description, parameters)).check(
        description.properties, parameters, ""
    )
    if not disabled:
        yield from _text_for_locator(description, version, parameters)
    # A node that is switched off does not fail on its values.
    yield from (one for one in found if not (disabled and _fails_only_when_run(one)))


class _Level:
    """The parameters at one level: of the node, of a collection, of one entry of a fixed collection."""

    def __init__(self, values: Values, *, check_required: bool, converted: bool | None = None) -> None:
        self._values = values
        self._check_required = check_required
        self._converted = converted

    def check(self, properties: Sequence[Property], given: Mapping[str, Any], path: str) -> Iterator[Problem]:
        named: dict[str, list[Property]] = defaultdict(list)
        for one in properties:
            named[one.name].append(one)
        for name, value in given.items():
            if name not in named:
                unknown = self._unknown(name, properties, path)
                # An editor or another version may have left an empty part behind: nothing is lost with it.
                yield unknown.doubtful() if value in ({}, []) else unknown
                continue
            shown = [one for one in named[name] if displayed(one, self._values) is not False]
            if not shown:
                # Nothing is lost with an empty part.
                yield from () if value in ({}, []) else (_hidden(name, named[name][0], path),)
            elif not is_expression(taken := as_taken(shown[0], value)):
                yield from self._value_of_one(shown, taken, path + name)
        if self._check_required:
            yield from self._missing(properties, given, path)

    def _unknown(self, name: str, properties: Sequence[Property], path: str) -> Problem:
        shown = [one.name for one in properties if displayed(one, self._values) is not False]
        near = near_names(name, shown) or near_names(name, (one.name for one in properties))
        message = f"The node type has no parameter {quoted(path + name)}; n8n ignores it."
        return Problem(kind="unknownParameter", path=path + name, message=message, near=near)

    def _missing(self, properties: Sequence[Property], given: Mapping[str, Any], path: str) -> Iterator[Problem]:
        told = set()
        for one in properties:
            if not one.required or one.many or one.type not in _NEEDS_VALUE or one.name in told:
                continue
            value = given.get(one.name)
            value = self._values.here.get(one.name, one.default) if value is None else value
            if _is_empty(one, value) and displayed(one, self._values) is True:
                told.add(one.name)
                title = f" ({one.title})" if one.title else ""
                message = f"Required parameter {quoted(path + one.name)}{title} has no value."
                yield Problem(kind="missingParameter", path=path + one.name, message=message)

    def _value_of_one(self, definitions: Sequence[Property], value: Any, path: str) -> Iterator[Problem]:
        """Check a value against the shown definitions of its name: it has to fit one of them."""
        first: list[Problem] = []
        for one in definitions:
            problems = list(self._value(one, value, path))
            if not problems:
                return
            first = first or problems
        yield from first

    def _value(self, definition: Property, value: Any, path: str) -> Iterator[Problem]:
        match definition.type:
            case "options":
                yield from _check_choice(definition, value, path)
            case "multiOptions" if isinstance(value, list):
                for one in value:
                    yield from () if is_expression(one) else _check_choice(definition, one, path)
            case "collection":
                yield from self._collection(definition, value, path)
            case "fixedCollection":
                yield from self._fixed_collection(definition, value, path)
            case "resourceLocator":
                yield from _check_locator(value, path, definition.modes)
            case "workflowSelector":
                # Whatever the mode is, n8n takes the value for an id.
                yield from (one.doubtful() for one in _check_locator(value, path, _MODES_OF_WORKFLOWS))
            case "filter":
                yield from check_filter(value, path)
            case "assignmentCollection":
                yield from check_assignments(value, path, converted=self._converted)
            case "boolean" if not isinstance(value, bool) and value is not None:
                yield _wrong_shape(path, "true or false", certain=False)
            case "number" if isinstance(value, str | list | dict) and not _is_numeric(value) and value != "":
                yield _wrong_shape(path, "a number", certain=False)

    def _collection(self, definition: Property, value: Any, path: str) -> Iterator[Problem]:
        if definition.many:
            # n8n takes such lists as they are.
            return
        if isinstance(value, Mapping):
            yield from self._inside(definition.children, value, f"{path}.", defaults=False)
        elif value:
            yield _wrong_shape(path, "an object with options")

    def _fixed_collection(self, definition: Property, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, Mapping):
            if value:
                yield _wrong_shape(path, f"an object with {' or '.join(map(quoted, definition.groups))}")
            return
        for name, entries in value.items():
            if name not in definition.groups:
                near = near_names(name, definition.groups) or tuple(definition.groups)[:3]
                message = f"{quoted(path)} has no part {quoted(name)}; n8n ignores it."
                place, certain = f"{path}.{name}", entries not in ({}, [])
                yield Problem(kind="unknownParameter", path=place, message=message, near=near, certain=certain)
                continue
            if is_expression(entries) or entries is None:
                continue
            inner = f"{path}.{name}"
            if definition.many and not isinstance(entries, list):
                yield _wrong_shape(inner, "a list")
                continue
            if not definition.many and not isinstance(entries, Mapping):
                yield _wrong_shape(inner, "one object, not a list")
                continue
            rows = entries if definition.many else [entries]
            for index, row in enumerate(rows):
                if isinstance(row, Mapping):
                    place = f"{inner}[{index}]." if definition.many else f"{inner}."
                    yield from self._inside(definition.groups[name], row, place, defaults=True)

    def _inside(
        self, properties: Sequence[Property], given: Mapping[str, Any], path: str, *, defaults: bool
    ) -> Iterator[Problem]:
        values = resolve(properties, given, self._values, defaults=defaults)
        # What is required inside counts only where n8n fills in defaults: an option that is not set is not missed.
        level = _Level(values, check_required=self._check_required and defaults)
        yield from level.check(properties, given, path)


def _fails_only_when_run(problem: Problem) -> bool:
    return problem.kind == "missingParameter" or (problem.kind == "wrongShape" and not problem.certain)


def _converts(description: NodeDescription, parameters: Mapping[str, Any]) -> bool | None:
    """Whether the node fails on values that are not of the type of their field; None if that is not known."""
    if description.type != _SET:
        return None
    options = parameters.get("options")
    ignores = options.get("ignoreConversionErrors") if isinstance(options, Mapping) else None
    return not ignores


def _hidden(name: str, definition: Property, path: str) -> Problem:
    needs = _in_words(definition)
    message = f"n8n ignores {quoted(path + name)} with the other parameters as they are{needs}."
    return Problem(kind="hiddenParameter", path=path + name, message=message, certain=False)


def _in_words(definition: Property) -> str:
    """`: it needs resource = message`."""
    show = definition.show or {}
    if any(isinstance(one, Mapping) and one.get("_cnd") in _IN_NO_VERSION for one in show.get("@version", ())):
        return ": no version of the node has it"
    wanted = [f"{key.replace('@version', 'typeVersion')} = {_one_of(values)}" for key, values in show.items()]
    return f": it needs {' and '.join(wanted)}" if wanted else ""


def _one_of(values: Any) -> str:
    listed = values if isinstance(values, list) else [values]
    return " or ".join(_condition(one) for one in listed[:4]) + (" or …" if len(listed) > 4 else "")


def _condition(wanted: Any) -> str:
    """`4.2`, `at least 2`: one value, or one condition on it."""
    if isinstance(wanted, Mapping) and isinstance(wanted.get("_cnd"), Mapping):
        kind, value = next(iter(wanted["_cnd"].items()), ("", ""))
        return f"{_COMPARED.get(kind, kind)} {value}"[:60]
    return str(wanted)[:60]


def _check_choice(definition: Property, value: Any, path: str) -> Iterator[Problem]:
    choices = definition.choices
    if definition.loaded or not choices or same(value, definition.default):
        return
    if any(str(value) == str(choice.value) for choice in choices) or isinstance(value, Mapping):
        return
    yield _not_offered(list(dict.fromkeys(str(choice.value) for choice in choices)), str(value), path)


def _not_offered(known: Sequence[str], value: str, path: str) -> Problem:
    """A value beside a list of choices. Some n8n takes all the same."""
    written = next((one for one in known if one.lower() == value.lower()), None)
    if written is not None:
        message = f"{quoted(path)} is written {quoted(written)} in n8n; in other upper or lower case it may not work."
        return Problem(kind="unknownOption", path=path, message=message, near=(written,), certain=False)
    numbers = _numbers_in_order(known)
    near = () if numbers else near_names(value, known)
    listed = numbers or ", ".join(known[:_MOST_CHOICES]) + (", …" if len(known) > _MOST_CHOICES else "")
    if any(_YEAR in one.lower() for one in known):
        message = f"{quoted(path)} is none of the formats that n8n offers ({listed}); n8n tries it as it is."
        return Problem(kind="unknownOption", path=path, message=message, near=near, certain=False)
    message = f"{quoted(path)} has a value that n8n does not know. It may be: {listed}."
    return Problem(kind="unknownOption", path=path, message=message, near=near)


def _numbers_in_order(known: Sequence[str]) -> str:
    """`0 to 23` for the numbers from 0 to 23; nothing for other values."""
    if len(known) < _FEWEST_NUMBERS or not all(one.isdecimal() for one in known):
        return ""
    numbers = sorted(map(int, known))
    return f"{numbers[0]} to {numbers[-1]}" if numbers == list(range(numbers[0], numbers[-1] + 1)) else ""


def _check_locator(value: Any, path: str, modes: Sequence[str]) -> Iterator[Problem]:
    mode = value.get("mode") if isinstance(value, Mapping) else None
    if mode is not None and modes and mode not in modes and mode != "":
        message = f"{quoted(path)} has no mode {quoted(str(mode))}. It may be: {', '.join(modes)}."
        yield Problem(kind="unknownOption", path=f"{path}.mode", message=message, near=near_names(str(mode), modes))


def _text_for_locator(description: NodeDescription, version: float, parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """A plain text in place of a resource locator. Most nodes take it; these look for its `value`, and fail."""
    name, since = _READ_AS_OBJECT.get(description.type.removesuffix(TOOL_SUFFIX), ("", 0))
    value = parameters.get(name)
    stored = parameters.get("source", "database") == "database"
    if stored and version >= since and isinstance(value, str) and value and not is_expression(value):
        yield _wrong_shape(name, "{__rl: true, mode: 'id', value: …}, and no text")


def _wrong_shape(path: str, wanted: str, *, certain: bool = True) -> Problem:
    return Problem(kind="wrongShape", path=path, message=f"{quoted(path)} has to be {wanted}.", certain=certain)


def _is_empty(definition: Property, value: Any) -> bool:
    if definition.type == "multiOptions":
        return isinstance(value, list) and not value
    if isinstance(value, Mapping):
        return "value" in value and value.get("value") in ("", None)
    return value is None or value == ""


def _is_numeric(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
