"""Rules for executions that count as a success: branches, loops and merges that got nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import all_lack, is_plain
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.gaps import gap
from dogubako.packs.n8n.diagnosis.intended_makers import NO_FIELD_HINT
from dogubako.packs.n8n.diagnosis.join_keys import ONLY_FORM, small_difference, unpaired_keys
from dogubako.packs.n8n.diagnosis.lineage import lineage
from dogubako.packs.n8n.diagnosis.lost_fields import ALWAYS_OUTPUT, lost_before
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references_in
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene, conditions_met, conditions_of
from dogubako.packs.n8n.diagnosis.shown import shown_value, type_name
from dogubako.packs.n8n.diagnosis.spelling import ONE_LETTER, near_names, one_letter
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

FORKS: Final = frozenset({"if", "filter", "switch"})
_MOST_NAMES: Final = 4
_MOST_ITEMS: Final = 200
_MOST_CONDITIONS: Final = 10
_MOST_TESTED: Final = 20
_ASKS_WHETHER_THERE: Final = frozenset({"exists", "notExists", "empty", "notEmpty"})


def dried_up(scene: Scene) -> Cause | None:
    """The first node that received items and passed none on, so that later nodes never ran."""
    for at in scene.runs:
        if len(scene.execution.runs[at.node]) != 1 or scene.kind(at.node) == "splitInBatches":
            continue
        received = [one for one in scene.inputs(at.run) if one.items]
        connected = [number for number in range(len(at.run.outputs) or 1) if scene.behind(at.node, number)]
        gave = any(at.run.outputs[number] for number in connected if number < len(at.run.outputs))
        if not received or not connected or gave:
            continue
        idle, merges = scene.never_ran(scene.behind(at.node)), scene.left_out(at.node)
        if idle or merges:
            count = sum(len(one.items) for one in received)
            head = f"it was given {count} item{'s' if count > 1 else ''} and handed on none"
            elsewhere = [number for number, items in enumerate(at.run.outputs) if items]
            if len(elsewhere) == 1 and at.run.items_out == count and scene.kind(at.node) in ("if", "switch"):
                head = f"its {count} items went to {way_of(scene, at.node, elsewhere[0])}, where no node is connected"
            elif elsewhere and scene.kind(at.node) != "filter":
                head = f"{head} to a node that is connected"
            return _with_reason(scene, at, head, _consequence(idle, merges))
    return None


def ended_empty(scene: Scene) -> Cause | None:
    """The last node, if it received items and gave out none: a caller gets nothing."""
    at = next((one for one in reversed(scene.runs) if one.node == scene.execution.result.last_node_executed), None)
    count = scene.execution.items_given_to(at.run) if at is not None else 0
    if at is None or not count or any(at.run.outputs[:1]) or scene.behind(at.node):
        return None
    head = f"it was given {count} item{'s' if count > 1 else ''} and gave out none"
    return _with_reason(scene, at, head, ", and it is the last node")


def last_is_empty(scene: Scene) -> Cause | None:
    """The same, where no other workflow gets the answer: a caller tells of it itself."""
    called = any(scene.kind(name) == "executeWorkflowTrigger" for name in scene.execution.runs)
    return None if called else ended_empty(scene)


def one_way(scene: Scene) -> Cause | None:
    """A branch that sent all items the same way, while nodes on another way never ran."""
    for name in dict.fromkeys(at.node for at in scene.runs):
        if scene.kind(name) not in FORKS:
            continue
        runs = scene.execution.runs[name]
        counts = [0] * max((len(run.outputs) for run in runs), default=0)
        for run in runs:
            for number, items in enumerate(run.outputs):
                counts[number] += len(items or ())
        taken = [number for number, count in enumerate(counts) if count]
        idle = [
            node
            for number, count in enumerate(counts)
            if not count
            for node in scene.never_ran(scene.behind(name, number))
        ]
        # A stop on purpose is there to be not reached.
        idle = [node for node in dict.fromkeys(idle) if scene.kind(node) != "stopAndError"]
        given = sum(scene.execution.items_given_to(run) for run in runs)
        if len(taken) == 1 and idle and sum(counts) >= given:
            way = way_of(scene, name, taken[0])
            head = f"all {sum(counts)} items went to {way}" if sum(counts) > 1 else f"its only item went to {way}"
            at = RunPlace(node=name, index=0, run=runs[0])
            return _with_reason(scene, at, head, _consequence(idle, []), taken[0])
    return None


def form_differs(scene: Scene) -> Cause | None:
    """A branch that sent all items the same way, because two values differ in nothing but their form or a letter."""
    found = (one_way(scene), _none_passed(scene))
    return next((one for one in found if one is not None and (one.certain or ONE_LETTER in one.problem)), None)


def _none_passed(scene: Scene) -> Cause | None:
    """A filter that no item passed, and that gave out an empty item all the same."""
    for at in scene.first_runs:
        node, given = scene.nodes.get(at.node), scene.execution.items_given_to(at.run)
        kept = [scene.json(one) for one in scene.outputs(at) if one.output == 0]
        if scene.kind(at.node) == "filter" and node is not None and node.always_output_data and given and kept == [{}]:
            head = f"none of its {given} items passed, and it gave out an empty one: {ALWAYS_OUTPUT}"
            return _with_reason(scene, at, head, "")
    return None


def conditions_read(settings: Mapping[str, Any]) -> list[Reference]:
    """What the conditions of a branch read."""
    read = [
        one for each in conditions_of(settings)[:_MOST_CONDITIONS] for one in references_in(str(each.get("leftValue")))
    ]
    return list({(one.node, one.names): one for one in read}.values())


def way_of(scene: Scene, name: str, output: int) -> str:
    if scene.kind(name) == "if":
        return "true" if output == 0 else "false"
    rules = scene.settings.get(name, {}).get("rules")
    listed = rules.get("values") if isinstance(rules, Mapping) else None
    rule = listed[output] if isinstance(listed, list) and output < len(listed) else None
    key = rule.get("outputKey") if isinstance(rule, Mapping) and rule.get("renameOutput") else None
    return f"output {output} ('{key}')" if isinstance(key, str) and key else f"output {output}"


def _consequence(idle: list[str], merges: list[str]) -> str:
    """What never ran, or ran without these items."""
    names = ", ".join(f"'{name}'" for name in (idle or merges)[:_MOST_NAMES])
    more = " and more" if len(idle or merges) > _MOST_NAMES else ""
    return f", so {names}{more} {'never ran' if idle else 'got only the items of its other inputs'}"


def _with_reason(scene: Scene, at: RunPlace, head: str, tail: str, output: int = 0) -> Cause:
    """The consequence, and the values that the condition compared.

    That nothing is left over may be what is wanted. It is certain to be wrong only if the node reads what is not there,
    or compares values that differ in nothing but their form.
    """
    place = next(iter(scene.input_places(at.run)), None)
    shown = Place(node=at.node, run=at.index, output=output, item=0)
    plain = Cause(node=at.node, problem=f"{head}{tail}", place=shown, walk=(place,) if place else (), certain=False)
    tested: list[Cause] = []
    # Another item may show better than the first one why none of them passed.
    for each in scene.input_places(at.run)[:_MOST_TESTED]:
        found = [
            (condition, reference, where)
            for condition in conditions_met(scene, at)[:_MOST_CONDITIONS]
            for reference in references_in(str(condition.get("leftValue")))
            for where in scene.places_read(reference, each, at.run)[:1]
        ]
        # A condition that is met is not the one that decided, where another is not met.
        unmet = [one for one in found if _is_met(scene.value(one[2], one[1].names), one[0]) is False]
        tested += [_with_condition(scene, at, plain, *one) for one in (unmet or found)]
        if any(one.certain for one in tested):
            break
    if tested:
        return next((one for one in tested if one.certain), tested[0])
    field = scene.settings.get(at.node, {}).get("fieldToSplitOut")
    given = scene.input_places(at.run)
    if isinstance(field, str) and place is not None and all_lack(scene, given, tuple(field.split("."))):
        told = f"{plain.problem}; it splits {field}, which the items do not have"
        path = tuple(field.split("."))
        reference = Reference(node=None, pick="item", path=tuple(Step(name) for name in path))
        cause = trace_missing(scene, at.node, reference, place, path)
        if cause.lost:
            return cause.with_problem(f"{cause.problem}; '{at.node}' splits it: {plain.problem}")
        return replace(plain, problem=told, certain=True)
    if isinstance(field, str) and place is not None and scene.value(place, tuple(field.split("."))) == []:
        maker = trace_value(scene, place, tuple(field.split(".")), "").node
        return plain.with_problem(f"{plain.problem}; it splits {field}, an empty list, from '{maker}'")
    reason = unpaired_keys(scene, at)
    return replace(plain, problem=f"{plain.problem}{reason}", certain=ONLY_FORM in reason)


def _is_met(value: Any, condition: Mapping[str, Any]) -> bool | None:
    """Whether a plain condition is met; None where that is not known here."""
    operator, right = condition.get("operator"), condition.get("rightValue")
    operation = operator.get("operation") if isinstance(operator, Mapping) else None
    if only_reference(condition.get("leftValue")) is None or (isinstance(right, str) and right.startswith("=")):
        return None
    there = not is_absent(value) and value is not None
    known = {
        "exists": there,
        "notExists": not there,
        "empty": not there or value in ("", [], {}),
        "notEmpty": there and value not in ("", [], {}),
        "contains": right in value if isinstance(value, str) and isinstance(right, str) else None,
        "equals": value == right if isinstance(value, str) and isinstance(right, str) else None,
    }
    return known.get(str(operation))


def _with_condition(
    scene: Scene, at: RunPlace, plain: Cause, condition: Mapping[str, Any], reference: Reference, where: Place
) -> Cause:
    """What the condition met: a field that was lost before, a wrong type, or two values to compare."""
    value = _tested_value(scene, where, reference.names[:-1] if reference.called else reference.names)
    if (
        is_absent(value)
        and reference.names[-1:] == ("length",)
        and not is_absent(scene.value(where, reference.names[:-1]))
    ):
        held = f"{'.'.join(reference.names[:-1])} is {shown_value(scene.value(where, reference.names[:-1]))}"
        return plain.with_problem(f"{plain.problem}; it tests {reference.written}, and {held}")
    if is_absent(value) and not is_plain(reference):
        return plain
    if is_absent(value):
        path = gap(scene.json(where), reference) or reference.names
        cause = trace_missing(scene, at.node, reference, where, path)
        if cause.lost:
            meant = _asks_whether_there(condition) and _is_stand_in(scene, cause) and _leads_on(scene, at)
            tests = f"{cause.problem}; '{at.node}' tests it: {plain.problem}"
            return replace(cause, problem=tests, certain=cause.certain and not meant)
        misread = cause.misread and not _asks_whether_there(condition)
        hint = f": {cause.problem}" if misread else ""
        every = reference.node is None and all_lack(scene, scene.received(at.node), reference.names)
        who = "the items do" if every else "one of them does"
        told = f"{plain.problem}; it tests {reference.written}, which {who} not have{hint}"
        return replace(plain, problem=told, certain=misread)
    if (wanted := _swallowed_type(scene, at, value, condition)) is not None:
        described = f"where '{at.node}' expected a {wanted}; it went on after that error: {plain.problem}"
        return trace_value(scene, where, reference.names, described)
    right = only_reference(str(condition.get("rightValue")))
    found = scene.places_read(right, where if right.node is None else None, at.run)[:1] if right is not None else []
    if right is not None and found:
        condition = {**condition, "rightValue": scene.value(found[0], right.names)}
    words = compared(reference, value, condition)
    if ONLY_FORM not in words and reference.names[-1:] != ("length",):
        made = lineage(scene, where, reference.names)
        words = words.replace(", tested by", f", {made}, tested by", 1)
    only_form = ONLY_FORM in words
    return replace(
        plain,
        problem=f"{plain.problem}; {words}{_how_many(scene, at, reference, condition) if only_form else ''}",
        certain=only_form,
    )


def _how_many(scene: Scene, at: RunPlace, reference: Reference, condition: Mapping[str, Any]) -> str:
    """In how many of the items the value differs only in its form from one of the rules, if not in all of them."""
    given, settings = scene.input_places(at.run) if reference.node is None else [], scene.settings.get(at.node, {})
    rules = [condition, *(one for one in conditions_of(settings) if only_reference(one.get("leftValue")) == reference)]
    values = [scene.value(one, reference.names) for one in given]
    alike = [any(ONLY_FORM in compared(reference, value, rule) for rule in rules) for value in values]
    return "" if all(alike) else f" (in {sum(alike)} of {len(alike)} items)"


def _tested_value(scene: Scene, where: Place, names: tuple[str, ...]) -> Any:
    """What a reference finds; lists and texts have a length."""
    held = scene.value(where, names[:-1]) if names[-1:] == ("length",) else None
    return len(held) if isinstance(held, (list, str)) else scene.value(where, names)


def _is_stand_in(scene: Scene, cause: Cause) -> bool:
    """Whether the item is the empty one that n8n gives out for a node which would else give out nothing."""
    node = scene.nodes.get(cause.node)
    empty = cause.place is not None and scene.json(cause.place) == {}
    return empty and node is not None and node.always_output_data


def _leads_on(scene: Scene, at: RunPlace) -> bool:
    """Whether a node takes the items that a test sends away; a filter drops them, as it is there to do."""
    taken = [number for number, items in enumerate(at.run.outputs) if items]
    return scene.kind(at.node) == "filter" or any(scene.behind(at.node, number) for number in taken)


def _asks_whether_there(condition: Mapping[str, Any]) -> bool:
    operator = condition.get("operator")
    return isinstance(operator, Mapping) and operator.get("operation") in _ASKS_WHETHER_THERE


def _swallowed_type(scene: Scene, at: RunPlace, value: Any, condition: Mapping[str, Any]) -> str | None:
    """The type that a strict condition wanted. A node that goes on after errors leaves no other trace of it."""
    node, operator = scene.nodes.get(at.node), condition.get("operator")
    wanted = operator.get("type") if isinstance(operator, Mapping) else None
    strict = "strict" in repr(scene.settings.get(at.node, {}).get("conditions"))
    if node is None or not node.goes_on_after_errors or not strict or wanted not in ("number", "boolean", "string"):
        return None
    return str(wanted) if value is not None and type_name(value) != wanted else None


def compared(reference: Reference, value: Any, condition: Mapping[str, Any]) -> str:
    """The value and what it was compared with, and in what they differ if that is little."""
    operator = condition.get("operator")
    operation = operator.get("operation") if isinstance(operator, Mapping) else "?"
    right = condition.get("rightValue")
    words = f"{reference.written} is {shown_value(value)}, tested by '{operation}'"
    if only_reference(written := condition.get("leftValue")) is None:
        # Not the field is compared, but what the expression makes of it.
        beside = "" if right in ("", None) else f" with {shown_value(right)}"
        told = f"it tests {shortened(str(written), 80)} by '{operation}'{beside}"
        return f"{told}, and {reference.field.written} is {shown_value(value)}"
    little = small_difference(value, right) or one_letter(value, right)
    return words if right in ("", None) else f"{words} with {shown_value(right)}{little}"


def condition_on_nothing(scene: Scene) -> Cause | None:
    """A condition that calls a method of a field which is not there: n8n takes nothing for its value and goes on."""
    for at in scene.runs:
        if scene.kind(at.node) not in FORKS:
            continue
        for condition in conditions_of(scene.settings.get(at.node, {})):
            for reference in references_in(str(condition.get("leftValue"))):
                if not reference.called and reference.names[-1] != "length":
                    continue
                for place in scene.input_places(at.run)[:_MOST_ITEMS]:
                    for where in scene.places_read(reference, place, at.run)[:1]:
                        path = gap(scene.json(where), reference)
                        if path is not None and len(path) < len(reference.names):
                            cause = trace_missing(scene, at.node, reference, where, path)
                            told = f"so the condition of '{at.node}' gets nothing for it"
                            wrong = cause.lost or cause.misread
                            return replace(cause, problem=f"{cause.problem}, {told}", certain=wrong)
    return None


def loop_not_reset(scene: Scene) -> Cause | None:
    """A loop inside a loop that got new items after it had finished, and passed none of them to its body."""
    for at in scene.runs:
        if scene.kind(at.node) != "splitInBatches" or at.index == 0:
            continue
        body = scene.reached(scene.behind(at.node, 1), until=at.node)
        fresh = [one for one in scene.inputs(at.run) if one.items and one.node not in body]
        if fresh and not any(at.run.outputs[1:2]):
            count = sum(len(one.items) for one in fresh)
            problem = (
                f"in its run {at.index} it was given {count} new items by '{fresh[0].node}', but it had finished "
                "before and passed none of them to its body: a loop inside a loop needs the option reset"
            )
            return Cause(node=at.node, problem=problem, walk=tuple(scene.input_places(at.run)[:1]))
    return None


def merge_side_empty(scene: Scene) -> Cause | None:
    """A merge that received nothing on one of its inputs."""
    for at in scene.runs:
        if scene.kind(at.node) != "merge" or len(scene.execution.runs[at.node]) != 1:
            continue
        inputs = scene.inputs(at.run)
        empty = next((one for one in inputs if not one.items), None)
        if empty is not None and any(one.items for one in inputs):
            problem = f"it gave no items to '{at.node}', which got only those of its other inputs"
            return Cause(node=empty.node, problem=problem, certain=False)
    return None


def field_not_there(scene: Scene) -> Cause | None:
    """A node that calculated without a field: n8n remarks that no item has it, and counts it as a success."""
    for at in scene.runs:
        for hint in at.run.hints:
            named = NO_FIELD_HINT.search(hint)
            place = next(iter(scene.input_places(at.run)), None)
            path = tuple(named[1].split(".")) if named is not None else ()
            # n8n says so of one run.
            held = any(not is_absent(scene.value(one, path)) for one in scene.received(at.node))
            if named is None or place is None or held:
                continue
            data = scene.json(place)
            near = near_names([str(key) for key in data], named[1]) if isinstance(data, Mapping) else []
            there = f"; they have {near[0]}" if near else ""
            problem = f"it reads {named[1]}, which none of its items has{there}"
            lost = lost_before(scene, place, path) if not near else None
            if lost is not None:
                told = f"{lost.problem}; '{at.node}' reads it, and none of its items has it"
                return replace(lost, problem=told, certain=False)
            return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=bool(near))
    return None


FLOW_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    loop_not_reset,
    dried_up,
    one_way,
    merge_side_empty,
    field_not_there,
    condition_on_nothing,
)
