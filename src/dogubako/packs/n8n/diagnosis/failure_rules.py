"""Rules for a failure, the surest first. Each names a cause only with evidence, or says nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import emptiness
from dogubako.packs.n8n.diagnosis.claims import claimed
from dogubako.packs.n8n.diagnosis.contrast import is_contradicted, reconsidered
from dogubako.packs.n8n.diagnosis.counts import drops_told
from dogubako.packs.n8n.diagnosis.data_rules import DATA_RULES, THROWN_RULES
from dogubako.packs.n8n.diagnosis.failures import LANGUAGE_ERRORS, Failure, failure_of_item
from dogubako.packs.n8n.diagnosis.flow_rules import FORKS, way_of
from dogubako.packs.n8n.diagnosis.format_rules import JSON_FAILED
from dogubako.packs.n8n.diagnosis.lineage import lineage, maker_of
from dogubako.packs.n8n.diagnosis.number_rules import joined_texts
from dogubako.packs.n8n.diagnosis.readings import sent_by
from dogubako.packs.n8n.diagnosis.references import only_reference, references_in, texts
from dogubako.packs.n8n.diagnosis.replay.items import returns_list
from dogubako.packs.n8n.diagnosis.replay.names import runs_for_each
from dogubako.packs.n8n.diagnosis.scene import Cause, conditions_of
from dogubako.packs.n8n.diagnosis.service_rules import service_failed
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.spelling import near_names
from dogubako.packs.n8n.diagnosis.trace import apart, swallowed_before, trace_missing, trace_value
from dogubako.packs.n8n.formatters.facts import SwallowedErrors, item_error
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_NO_ITEMS = re.compile(
    r"Code doesn't return items|Unknown top-level item key|json' property isn't an object|return an? \w+"
    r"|contains the reserved key"
)
_EARLY = re.compile(r"Cannot access '([^']{1,100})' before initialization")
_OWN_MISTAKE = re.compile(
    r"Can't use \.\w+(?:\(\))? here|Do not know how to serialize a BigInt|Converting circular structure to JSON"
    r"|Assignment to constant variable|Cannot mix BigInt|Cannot find module|Module '[^']{1,100}' is disallowed"
    r"|Cannot access '[^']{1,100}' before initialization"
)
_NAMED_NODE: Final = ("paired_item", "pairedItem")
_CALLS: Final = ("executeWorkflow", "toolWorkflow")
# Words of n8n about the settings of a node.
_SETTINGS: Final = {
    "access to env vars denied": "its expression reads $env, and this n8n does not let workflows read the environment",
    "Unused Respond to Webhook node": "its responseMode does not wait for the Respond to Webhook node that the workflow"
    " has: set it to responseNode, or remove that node",
}
# Words of n8n about what a service answered. The node may be right.
_ANSWERS: Final = {
    "JSON in response body": "the service says that it sends JSON, but its answer is not valid JSON",
    "Response body is not valid JSON": "the answer of the service is not valid JSON",
}
# Code that cannot be parsed does not run, so n8n tells no line.
_UNREAD = re.compile(
    r"(?:Invalid or u|U)nexpected (?:token|identifier|end of input|strict)|missing \)|Invalid left-hand"
)
# n8n puts the code behind this, and tells the line that it could not read with all of that before it.
_WRAPPER: Final = "VmCodeWrapper() {"
_NO_COLUMN = re.compile(r"Column\(s\) \"([^\"\n]{1,100})\" do not exist in the selected table")
_SAME_ANSWER = re.compile(r"returned response was identical \d{1,3}x")
_NO_OBJECT = re.compile(r"does not contain a valid JSON object")
# n8n writes it so.
_NO_OUTPUT = re.compile(r"ou?t?put (-?\d{1,9}) is not allowed")


def pairing_lost(failure: Failure) -> Cause | None:
    """n8n itself names the node that gave out items without pairing."""
    named = failure.context.get("nodeCause")
    told = re.search(r"Paired item data for [^'\n]{0,100}?from node '([^']{1,200})'", failure.message)
    kind = f"{failure.context.get('type', '')} {failure.context.get('descriptionKey', '')}"
    name = named if isinstance(named, str) and any(word in kind for word in _NAMED_NODE) else told[1] if told else None
    if name is None or name not in failure.scene.nodes or not failure.scene.execution.runs.get(name):
        return None
    if "multiple" in kind.lower():
        return _pairs_joined(failure, name)
    if "no_connection" in kind:
        problem = f"it reads the item of '{name}', from which no connection leads to it: .first() or .all() need none"
        return Cause(node=failure.node, problem=problem, own=True)
    problem = "its items do not say which input item they were made from (pairedItem), so '{}' cannot find its pair"
    return Cause(node=name, problem=problem.format(failure.node), place=_first_output(failure, name), own=True)


def _pairs_joined(failure: Failure, wanted: str) -> Cause | None:
    """The node that made one item out of several, so that there is no single pair any more."""
    for place in [one for start in failure.places[:1] for one in failure.scene.walk(start)]:
        paired = failure.scene.item(place).get("pairedItem")
        if isinstance(paired, list) and len(paired) > 1:
            problem = (
                f"it made this item out of {len(paired)}, so '{failure.node}' cannot tell which item of '{wanted}' "
                "is meant by .item; .all() has all of them"
            )
            return Cause(node=place.node, problem=problem, place=place)
    return None


def node_missing(failure: Failure) -> Cause | None:
    """A reference to a node that does not exist, or that has not run."""
    names = [one.node for one in failure.references if one.node]
    named = failure.context.get("nodeCause")
    wanted = [named] if isinstance(named, str) else []
    about = re.search(
        r"[Rr]eferenced node|hasn.t been executed|no execution data|is unexecuted|not executed", failure.message
    )
    if about is None and "noNodeExecutionData" not in str(failure.context.get("descriptionKey")):
        return None
    for name in [*wanted, *(one for one in names if f"'{one}'" in failure.message), *names]:
        if name not in failure.scene.nodes:
            near = near_names(list(failure.scene.nodes), name)
            hint = f"; there is '{near[0]}'" if near else ""
            problem = f"it refers to '{name}', a node that the workflow does not have{hint}"
            return Cause(node=failure.node, problem=problem, own=True)
        if not failure.scene.execution.runs.get(name):
            problem = f"it reads '{name}', which did not run in this execution{_not_sent_to(failure, name)}"
            return Cause(node=failure.node, problem=problem)
    return None


def _not_sent_to(failure: Failure, name: str) -> str:
    """The branch that ran and sent no item on the way to this node."""
    scene, reached = failure.scene, failure.scene.leading_from(name)
    for at in reversed(scene.runs):
        if at.node in reached and scene.kind(at.node) in FORKS:
            ways = [number for number, items in enumerate(at.run.outputs) if items]
            if any(name in scene.reached(scene.behind(at.node, way)) for way in ways):
                return ""
            sent = f": it sent its items to {way_of(scene, at.node, ways[0])}" if ways else ""
            return f", because '{at.node}' sent it nothing{sent}"
    return ""


def own_fault(failure: Failure) -> Cause | None:
    """Failures that are known to start in the node itself: its code, its settings, its credentials."""
    message, description = failure.plain, str(failure.raw.get("description") or "")
    if failure.kind == "stopAndError":
        return _stopped(failure)
    if failure.kind in _CALLS:
        return _no_workflow(failure)
    if failure.is_thrown:
        return _own(
            failure, f"its code throws this itself{f' in line {failure.thrown_line}' if failure.thrown_line else ''}"
        )
    if re.search(r"credential|not authorized|authentication", message, re.IGNORECASE):
        missing = "credentials not found" in message.casefold()
        return _own(failure, f"its credentials are {'missing' if missing else 'missing or not accepted'}")
    if _NO_ITEMS.search(f"{message} {description}"):
        return _mistake(failure, _returned(failure))
    if description == "ReferenceError" or message.endswith("is not defined"):
        return _mistake(failure, _unknown_name(message))
    wrapped, _, at = message.rpartition(_WRAPPER)
    odd = bool(wrapped) or ("JSON" not in message and _UNREAD.match(message) is not None)
    unread = failure.is_code and failure.line is None and odd
    # What fails at a line was read before: a function of the language refuses a value there.
    unread = unread or (description == "SyntaxError" and failure.line is None and JSON_FAILED.search(message) is None)
    if unread:
        return _mistake(failure, f"its code cannot be read: {shortened(at, 120)}")
    if (unreadable := _unreadable(failure, description)) is not None:
        return _mistake(failure, unreadable)
    if (known := next((told for words, told in (_SETTINGS | _ANSWERS).items() if words in message), None)) is not None:
        return _mistake(failure, known) if known in _SETTINGS.values() else _own(failure, known)
    if (mistake := _OWN_MISTAKE.search(message)) is not None:
        return _mistake(failure, f"its code cannot work like this, whatever the data: {shortened(mistake[0], 120)}")
    if re.search(r"timed? ?out", message, re.IGNORECASE):
        return _own(failure, f"it took too long: {shortened(message, 120)}")
    if failure.is_code and description not in LANGUAGE_ERRORS and "throw" in failure.code:
        return _own(
            failure, f"its code throws this itself{f' in line {failure.thrown_line}' if failure.thrown_line else ''}"
        )
    return None


def named_by_n8n(failure: Failure) -> Cause | None:
    """Settings that n8n itself says to be wrong, such as a column that the table does not have."""
    if (column := _NO_COLUMN.search(failure.message)) is not None and column[1] in repr(failure.settings):
        return _mistake(failure, f"its settings name the column {column[1]}, which the table does not have")
    if _SAME_ANSWER.search(failure.message) is not None:
        changed = [str(one.get("name")) for one in _paged_by(failure)]
        what = f"changes {' and '.join(changed)} in each request" if changed else "asks again and again"
        return _own(failure, f"its paging {what}, and all answers are the same: the service may not look at it")
    read = only_reference(failure.settings.get("jsonOutput")) if _NO_OBJECT.search(failure.message) else None
    for place, value in list(failure.values(read))[:1] if read is not None else ():
        if not isinstance(value, Mapping) and not is_absent(value) and value is not None:
            maker = maker_of(failure.scene, place, read.names) if read is not None and read.names else failure.node
            gives = f"its parameter jsonOutput gives {read.written if read else ''}, which is {shown_value(value)}"
            return _own(failure, f"{gives}, from '{maker}': one object is wanted there")
    return None


def _paged_by(failure: Failure) -> list[Mapping[str, Any]]:
    """The parameters that the paging of a request changes."""
    options = failure.settings.get("options")
    held: Any = options.get("pagination") if isinstance(options, Mapping) else None
    for key in ("pagination", "parameters", "parameters"):
        held = held.get(key, held) if isinstance(held, Mapping) else held
    return [one for one in held if isinstance(one, Mapping)] if isinstance(held, list) else []


def _returned(failure: Failure) -> str:
    """What is wrong with what the code returns."""
    if runs_for_each(failure.scene, failure.node) and returns_list(failure.scene, failure.node, failure.places):
        return "its code runs once for each item, and returns a list where one item is wanted"
    if "reserved key" in str(failure.raw.get("description")):
        return "its code returns an item that has other keys beside json"
    return "its code does not return items"


def _unknown_name(message: str) -> str:
    if (early := _EARLY.match(message)) is not None:
        return f"its code uses {early[1]} before the line that declares it has run"
    return f"its code uses a name that does not exist: {shortened(message, 120)}"


def _no_workflow(failure: Failure) -> Cause | None:
    """A call of a workflow that n8n does not have. Any other message is of a node in the sub-workflow.

    Called for each item, this one may be of a call further down as well.
    """
    if not failure.plain.startswith("Workflow does not exist") or failure.child_execution is not None:
        return None
    named = failure.settings.get("workflowId")
    asked = named.get("value") if isinstance(named, Mapping) else named
    problem = f"it calls the workflow {shortened(str(asked), 80)}, which n8n does not have"
    return Cause(node=failure.node, problem=problem, own=failure.settings.get("mode") != "each")


def _unreadable(failure: Failure, description: str) -> str | None:
    """An expression or a query that cannot be parsed."""
    if failure.plain == "invalid syntax" and not failure.is_code:
        return f"one of its expressions cannot be read{_closed_early(failure)}"
    if failure.plain == "Issue while executing query" and description.startswith("Parse error"):
        near = next((line for line in description.split("\n")[1:] if line.strip()), "")
        return f"its SQL query cannot be read near {shortened(near.strip(), 80)}"
    return None


def _closed_early(failure: Failure) -> str:
    """An expression with `}}` in it ends there."""
    early = any(one.startswith("=") and one.count("}}") > one.count("{{") for one in texts(failure.settings))
    return ": it ends at the first }}, so braces of objects in it need a space between them" if early else ""


def _stopped(failure: Failure) -> Cause:
    """A stop on purpose, and the values in its message; who made one of them wrongly is to blame."""
    told = []
    if re.search(r"\b(?:undefined|null)\b", failure.plain):
        holes = [(one, places[0][0]) for one in failure.references if (places := failure.missing(one))]
        if len({one.names for one, _ in holes}) == 1:
            return failure.trace_gap(*holes[0])
    for reference in failure.references:
        if len(failure.places) == 1 and (missing := failure.missing(reference)):
            told.append(
                f"its message reads {reference.written}, which is {emptiness(failure.scene.value(*missing[0]))}"
            )
            continue
        for place, value in list(failure.values(reference))[:1]:
            made = trace_value(failure.scene, place, reference.names, "")
            if made.place is not None and (wrong := joined_texts(failure.scene, made.place, made.path)) is not None:
                return wrong
            if isinstance(value, (str, int, float)) and made.node != failure.node:
                made_by = lineage(failure.scene, place, reference.names, 1)
                told.append(f"{reference.written} is {shown_value(value)}, {made_by}")
    if (led := _led_here(failure)) is not None:
        return led
    shown = f"; {'; '.join(told[:3])}" if told else ""
    return _own(failure, f"it stops the workflow on purpose with this message{shown}{_sent_here(failure)}")


def _led_here(failure: Failure) -> Cause | None:
    """The fault for which a field is not there that the branch before tests: a misread name, or a node that lost it."""
    for place in failure.places[:1] if len(failure.places) == 1 or failure.item_index is not None else ():
        conditions = conditions_of(failure.scene.settings.get(place.node, {}))
        read = [one for each in conditions for text in texts(each) for one in references_in(text)]
        for reference in (*read, *failure.references):
            value = failure.scene.value(place, reference.names)
            if reference.node is None and (is_absent(value) or value is None) and not reference.called:
                cause = trace_missing(failure.scene, place.node, reference, place, reference.names)
                if cause.misread or cause.lost:
                    return cause.with_problem(f"{cause.problem}, so '{failure.node}' stops the workflow on purpose")
    return None


def _sent_here(failure: Failure) -> str:
    """The branch right before, and what its conditions read in this item."""
    known = len(failure.places) == 1 or failure.item_index is not None
    told = sent_by(failure.scene, failure.places[0]) if known and failure.places else None
    return f"; {told}" if told is not None else ""


def _shown(value: Any) -> str:
    return "missing" if is_absent(value) else shown_value(value)


def _own(failure: Failure, problem: str) -> Cause:
    return Cause(node=failure.node, problem=problem)


def _mistake(failure: Failure, problem: str) -> Cause:
    """A mistake of the node itself, whatever the data are."""
    return Cause(node=failure.node, problem=problem, own=True)


def no_such_output(failure: Failure) -> Cause | None:
    """A Switch whose expression gives the number of an output that it does not have."""
    told = _NO_OUTPUT.search(failure.message) if failure.kind == "switch" else None
    if told is None:
        return None
    values = [
        f"{one.written}, which is {_shown(value)}, from '{trace_value(failure.scene, place, one.names, '').node}'"
        for one in references_in(str(failure.settings.get("output")))
        for place, value in failure.values(one)
    ]
    made = f", made from {' and '.join(values[:3])}" if values else ""
    outputs = failure.settings.get("numberOutputs", 4)
    return _own(failure, f"its expression gives output {told[1]}{made}; it has {outputs} outputs, counted from 0")


def error_passed_on(failure: Failure) -> Cause | None:
    """The failing item is an error that an earlier node passed on as data. A mistake in the code would fail anyway."""
    if failure.item_index is None and len(failure.places) > 1:
        return None
    if failure.raw.get("description") in ("ReferenceError", "SyntaxError") or _OWN_MISTAKE.search(failure.plain):
        return None
    on_purpose = failure.is_thrown or failure.kind == "stopAndError"
    for place in failure.places[:1]:
        cause = swallowed_before(failure.scene, place)
        if cause is not None and (on_purpose or not apart(failure.scene, cause, failure.node)):
            return replace(cause, certain=False)
    return None


def workflow_not_run(failure: Failure) -> Cause | None:
    """A call of a workflow that n8n does not run: it is not published, or there is none with this id."""
    extra = failure.raw.get("extra")
    called = extra.get("workflowId") if isinstance(extra, dict) else None
    if not isinstance(called, str) or not failure.message.startswith("Workflow is not active"):
        return None
    told = f"it calls the workflow with the id {shown_value(called)}"
    return _own(failure, f"{told}; n8n says the same of one that is not published and of one that it does not have")


FAILURE_RULES: Final[tuple[Callable[[Failure], Cause | None], ...]] = (
    node_missing,
    pairing_lost,
    service_failed,
    no_such_output,
    workflow_not_run,
    *DATA_RULES,
    error_passed_on,
    named_by_n8n,
    own_fault,
)


def cause_of(failure: Failure) -> Cause | None:
    """The cause that the surest rule names. Rules that read messages know those of n8n, services and the language."""
    rules = (*THROWN_RULES, error_passed_on, own_fault) if failure.is_thrown else FAILURE_RULES
    found = (cause for rule in rules if (cause := rule(failure)) is not None)
    # Code that was run again proves its claim; it may treat items with the same value in different ways.
    cause = next((one for one in found if failure.is_code or not is_contradicted(failure, one)), None)
    if cause is None:
        return None
    cause = claimed(failure, _behind_error(failure, cause) or reconsidered(failure, cause))
    on_purpose = failure.is_thrown or failure.kind == "stopAndError"
    drops = drops_told(failure) if on_purpose and cause.node == failure.node and not cause.certain else ""
    return cause.with_problem(f"{cause.problem}{drops}") if drops else cause


def _behind_error(failure: Failure, cause: Cause) -> Cause | None:
    """Why a node failed that went on with its error, if an earlier node is to blame for that."""
    place, first = cause.place, error_behind(failure, cause)
    behind = service_failed(first) if first is not None else None
    if behind is None or place is None:
        return None
    problem = f"{behind.problem}; '{place.node}' failed with it and was told to go on"
    if behind.node == place.node:
        return cause.with_problem(f"{cause.problem}; {behind.problem}") if behind.certain else None
    return replace(behind, problem=problem, certain=False)


def error_behind(failure: Failure, cause: Cause | None) -> Failure | None:
    """The earlier failure that the cause is, if a node passed it on as an item."""
    place = cause.place if cause is not None else None
    if cause is None or place is None or place.node != cause.node or place == failure.passed_on:
        return None
    message, node = item_error(failure.scene.item(place)), failure.scene.nodes.get(place.node)
    if message is None or cause.node == failure.node or node is None or not node.goes_on_after_errors:
        return None
    told = SwallowedErrors(
        node=place.node, items=1, run=place.run, output=place.output, item=place.item, message=message
    )
    return failure_of_item(failure.scene, told)


def _first_output(failure: Failure, name: str) -> Place | None:
    runs = failure.scene.execution.runs.get(name, [])
    return Place(node=name, run=len(runs) - 1, output=0, item=0) if runs else None
