"""Checks what reports of a diagnosis state against the raw recorded executions, with code of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from . import absence_checks, flow_checks, oddity_checks, value_checks
from .fact_view import CHECKS, View, arguments
from .recorded_facts import Json, Recorded, dumped, holds, outputs_of, recorded, squeezed
from .report_statements import Masked, statements_of

# Each of these registers its checkers.
CHECKERS: Final = (absence_checks, flow_checks, oddity_checks, value_checks)
# Advice, remarks about the report itself, and words that lead to a statement: they are not counted.
_NO_FACT = re.compile(
    "No earlier cause was found|No earlier cause is proved|look plausible are not noticed"
    "|^It may be intended|\\.all\\(\\) has all of them"
    "|has to change|^is not known|^Of the error itself$|would join them$|would take the one"
    "|needs the option reset$|(?:what|of|from|[Ll]ook at|noticed:) \ue002\\d+\ue003(?: gave out)?: $"
)


class Violation(NamedTuple):
    """A statement of a report that the recorded data contradict."""

    statement: str
    truth: str
    check: str


@dataclass
class Audit:
    """What was found in one report."""

    violations: list[Violation]
    checked: list[str]
    unchecked: list[str]


def audit(report: Json, recording: Json) -> Audit:
    """Every statement of a report, and which of them the recorded data contradict."""
    main = recorded(recording)
    family = main.family()
    masked = Masked(list(dict.fromkeys(name for one in family for name in one.nodes)))
    found = Audit([*_structure(report, main)], [], [])
    for statement in statements_of(report, main, masked):
        told = masked.plain(statement.text)
        checks = list(_checked(View(statement, family, masked)))
        if not _NO_FACT.search(statement.text):
            (found.checked if checks else found.unchecked).append(told)
        found.violations += [Violation(told, truth, name) for name, truth in checks if truth is not None]
    return found


def _checked(view: View) -> Iterator[tuple[str, str | None]]:
    statement = view.statement
    if "frame" in statement.part:
        yield "frame", _frame(view, statement.part["frame"])
        return
    for pattern, kinds, check in CHECKS:
        for found in pattern.finditer(statement.text):
            view.at = found.start()
            yield check.__name__, check(view, *arguments(found, kinds, view.masked))
    unknown = re.search(r"(?:made in|comes from|before it|asked with|from) '([^']+)'", statement.text)
    if unknown and "refers to" not in statement.text:
        yield "node name", f"there is no node {unknown[1]!r}"


def _frame(view: View, found: re.Match[str]) -> str | None:
    """What an explanation says of failures and sub-workflows."""
    execution, node = view.execution, view.node
    wanted = found["child"] or found["shows"] or found["inside"]
    if wanted is not None:
        child = next((one for one in view.family if one.id == wanted), None)
        named = found["below"] or found["seen"] or found["inner"]
        if child is None or child.name != named:
            return f"there is no execution {wanted} of {named!r}"
        if found["child"] and child.raw["status"] == "success":
            return f"execution {wanted} did not fail"
    if found["message"] is not None:
        message = squeezed(re.split("… \\[", view.masked.plain(found["message"]))[0])
        here = [error for one in view.family if node in one.nodes for error in one.errors()]
        if found["failed"] is not None and (wrong := _count_of_failures(execution, node, found)) is not None:
            return wrong
        return None if any(message in dumped(error) for error in here) else f"n8n has no such message for {node!r}"
    return (
        None if node is None or any(node in one.nodes for one in view.family) else f"no node {node!r} in {execution.id}"
    )


def _count_of_failures(execution: Recorded, node: str | None, found: re.Match[str]) -> str | None:
    """How many items a node was given, and how many it gave out with an error, in one run or in all."""
    runs = range(len(execution.runs.get(node or "", ())))
    given = [len(execution.received(node, one)) for one in runs]
    failed = [sum(map(_has_error, _raw_items(execution, node, number))) for number in runs]
    told = int(found["failed"]), int(found["given"])
    known = {*zip(failed, given, strict=True), (sum(failed), sum(given))}
    return None if told in known else f"{sorted(known)} items failed and were given"


def _raw_items(execution: Recorded, node: str | None, run: int) -> Iterator[Json]:
    for items in outputs_of(execution.runs[node or ""][run]):
        yield from items or ()


def _has_error(item: Json) -> bool:
    data = item.get("json")
    return "error" in item or (isinstance(data, dict) and "error" in data)


def _structure(report: Json, main: Recorded) -> Iterator[Violation]:
    """The parts of a report that are no sentences."""
    yield from _failure(report, main)
    for part in (report[key] for key in ("origin", "noticed") if key in report):
        owner = next((one for one in main.family() if one.id == part.get("executionId", main.id)), None)
        yield from _place(part, owner) if owner is not None else [Violation(str(part), "no such execution", "place")]
    path = report.get("path", ())
    names = {name for one in main.family() for name in one.nodes}
    yield from (
        Violation(str(path), f"no node {name!r}", "path") for name in path if name not in names and "… [" not in name
    )
    for one, other in pairwise(path):
        if main.led_to(one, other) and one not in main.sources(other):
            yield Violation(str(path), f"{other!r} was given nothing by {one!r} itself", "path")


def _place(part: Json, owner: Recorded) -> Iterator[Violation]:
    node = part["nodeName"]
    if part["nodeType"] != owner.nodes.get(node, {}).get("type", "unknown"):
        yield Violation(str(part["nodeType"]), "another type", "place")
    index, exact = part.get("itemIndex"), "runIndex" in part
    made = part.get("madeFrom")
    if "item" not in part and "itemRead" not in part:
        givers = {node}
    elif exact:
        own = owner.given_out(node, part["runIndex"])
        fits = [one for one in own if (one.output, one.index) == (part["outputIndex"], index)]
        givers = {node} if any(holds(part["item"], one.json) for one in fits) else set()
    else:
        # The item of another node is shown only if this node read it.
        read = [(name, one) for name, one in owner.read(node) if name == part["itemFrom"]]
        givers = {name for name, one in read if one.index == index and holds(part["itemRead"], one.json)}
    if not givers:
        shown = part.get("item", part.get("itemRead"))
        yield Violation(f"item {index} of {node!r} is {shown}", "it has or read no such item", "item")
    before = [one for giver in givers for one in owner.read(giver)]
    if made and not any(name == made["nodeName"] and holds(made["item"], one.json) for name, one in before):
        yield Violation(str(made), f"{sorted(givers)} read no such item", "madeFrom")


def _failure(report: Json, main: Recorded) -> Iterator[Violation]:
    failure: dict[str, Any] | None = report.get("failure")
    if failure is None:
        return
    node, run = failure["node"], failure.get("runIndex", 0)
    said = "".join(map(dumped, main.errors()))
    message = squeezed(re.split(r"… \[", str(failure["message"]))[0])
    if message not in said:
        yield Violation(str(failure["message"]), "n8n has no such message", "failure")
    if run >= len(main.runs.get(node, ())):
        yield Violation(f"run {run} of {node!r}", f"it has {len(main.runs.get(node, ()))} runs", "failure")
    item = failure.get("item")
    if item is not None and not any(holds(item, one.json) for one in main.received(node)):
        yield Violation(f"{node!r} was given {item}", "no such item came", "failure")
