"""Checkers of statements about the run: counts of items, ways, failures, messages, and how nodes are set up."""

import re

from .fact_view import View, states
from .recorded_facts import Recorded, dumped, outputs_of, squeezed, texts_in


def _counts(execution: Recorded, node: str | None) -> list[tuple[int, list[int]]]:
    """For each run of a node how many items it was given and how many it gave out, by output; and all together."""
    runs = execution.runs.get(node or "", [])
    found = [
        (len(execution.received(node, number)), [len(items or ()) for items in outputs_of(run)])
        for number, run in enumerate(runs)
    ]
    widest = max((len(outs) for _, outs in found), default=0)
    every = [sum(outs[at] for _, outs in found if at < len(outs)) for at in range(widest)]
    return [*found, (sum(given for given, _ in found), every)]


def _said(counts: list[tuple[int, list[int]]]) -> str:
    return ", ".join(f"{given} in, {outs} out" for given, outs in counts[:4])


@states("it was given <D> items? and (?:handed on|gave out) none")
def given_and_none(view: View, count: int) -> str | None:
    counts = _counts(view.execution, view.node)
    for given, outs in counts:
        on = [out for number, out in enumerate(outs) if view.execution.leads_on(view.node, number)]
        if given == count and not any(on or outs[:1]):
            return None
    return _said(counts)


@states(r"(?:all|its) <D> items went to (?:output )?<W>(?=,|$)")
def went_one_way(view: View, count: int, way: str) -> str | None:
    output = {"true": 0, "false": 1}.get(way) if not way.isdecimal() else int(way)
    counts = _counts(view.execution, view.node)
    fits = any(outs[output : (output or 0) + 1] == [count] == [sum(outs)] for _, outs in counts)
    return None if fits else _said(counts)


@states(r"its only item went to (?:output )?<W>(?=,|$)")
def only_went_one_way(view: View, way: str) -> str | None:
    return went_one_way(view, 1, way)


@states("<N>(?: and more)?(?: never ran|, which did not run in this execution)")
def never_ran(view: View, *_: str) -> str | None:
    names = "((?:\ue002\\d+\ue003(?:, )?)+)(?: and more)?(?: never ran|, which did not run)"
    found = "".join(re.findall(names, view.statement.text))
    ran = [name for name in view.masked.nodes_in(found) if name in view.execution.runs]
    return f"{ran} ran" if ran else None


@states("it passed on <D> of <D> items")
def passed_on(view: View, out: int, given: int) -> str | None:
    counts = _counts(view.execution, view.node)
    return None if any(had == given and sum(outs) == out for had, outs in counts) else _said(counts)


@states("it received <D> items and passed on <D>")
def received_and_passed(view: View, given: int, out: int) -> str | None:
    counts = _counts(view.execution, view.node)
    return None if any(had == given and out in (sum(outs), *outs) for had, outs in counts) else _said(counts)


@states("it dropped <D> of <D> items")
def dropped(view: View, lost: int, given: int) -> str | None:
    counts = _counts(view.execution, view.node)
    return None if any(had == given and had - sum(outs) == lost for had, outs in counts) else _said(counts)


@states("<N> dropped <D> of <D> items")
def dropped_there(view: View, node: str, lost: int, given: int) -> str | None:
    """A filter gives the items that it drops to an output of their own."""
    counts = _counts(view.execution, node)
    return None if any(had == given and had - sum(outs[:1]) == lost for had, outs in counts) else _said(counts)


@states("<D> of its <D> items meet none of its rules")
def meets_no_rule(view: View, lost: int, given: int) -> str | None:
    return dropped(view, lost, given)


@states("<D> of <D> items from <N> found no partner")
def no_partner(view: View, lost: int, given: int, node: str) -> str | None:
    count = [len(view.execution.given_out(node, run)) for run in range(len(view.execution.runs.get(node, ())))]
    return None if given in (*count, sum(count)) and 0 < lost <= given else f"{node!r} gave out {count}"


@states("<D> of its <D> items went to its error output, which leads to <N>")
def went_to_error_output(view: View, failed: int, given: int, node: str) -> str | None:
    counts = _counts(view.execution, view.node)
    return None if any(had == given and outs and outs[-1] == failed for had, outs in counts) else _said(counts)


@states("it handed <D> of <D> items to <N>")
def handed_to(view: View, out: int, given: int, node: str) -> str | None:
    counts = _counts(view.execution, view.node)
    got = [had for had, _ in _counts(view.execution, node)]
    return None if out in got and any(had == given for had, _ in counts) else f"{_said(counts)}; {node!r} got {got}"


@states("[Ii]t had <D> items, and n8n")
def had_items(view: View, count: int) -> str | None:
    counts = _counts(view.execution, view.statement.failing)
    return None if any(had == count for had, _ in counts) else _said(counts)


@states("[Ii]t was working on item <D>(?: of its run <D>)?")
def worked_on_item(view: View, index: int, run: int | None) -> str | None:
    had = len(view.execution.received(view.statement.failing, run or 0))
    return None if index < had or (not had and index == 0) else f"it was given {had} items"


@states("the first of its <D> items only", "for each of its <D> items", "it is the first of <D>: the others")
def has_items(view: View, count: int) -> str | None:
    return had_one_of(view, [count])


@states("it joins items by their position and was given <D> from <N> and <D> from <N>")
def joined(view: View, first: int, one: str, second: int, other: str) -> str | None:
    wrong = [name for name, count in ((one, first), (other, second)) if count not in _lengths(view.execution, name)]
    return f"{[(name, _lengths(view.execution, name)) for name in wrong]}" if wrong else None


def _lengths(execution: Recorded, node: str) -> list[int]:
    return [len(items or ()) for run in execution.runs.get(node, ()) for items in outputs_of(run)]


def had_one_of(view: View, wanted: list[int]) -> str | None:
    counts = _counts(view.execution, view.node)
    return None if any(had in wanted for had, _ in counts) else _said(counts)


@states("in all <D> items")
def in_all(view: View, count: int) -> str | None:
    lengths = [*_lengths(view.execution, view.node or ""), *(had for had, _ in _counts(view.execution, view.node))]
    named = [one for name in view.masked.nodes_in(view.statement.text) for one in _lengths(view.execution, name)]
    return None if count in (*lengths, *named) else f"{lengths} items"


@states("(?:of <N> is .*)?in its <D> items")
def in_its(view: View, node: str | None, count: int) -> str | None:
    return had_one_of(view, [count]) if node is None or count not in _lengths(view.execution, node) else None


@states("^it ran <D> times")
def ran_times(view: View, count: int) -> str | None:
    runs = len(view.execution.runs.get(view.node or "", ()))
    return None if runs == count else f"it ran {runs} times"


@states("it is (?:disabled|switched off)")
def is_disabled(view: View) -> str | None:
    return None if view.execution.is_disabled(view.node) else "it is not disabled"


@states("<N> before it is disabled")
def other_is_disabled(view: View, node: str) -> str | None:
    return None if view.home(node).is_disabled(node) else "it is not disabled"


@states("because it is set to always output data")
def always_outputs(view: View) -> str | None:
    return None if view.execution.nodes.get(view.node or "", {}).get("alwaysOutputData") else "it is not"


@states("it is set to execute once")
def executes_once(view: View) -> str | None:
    return None if view.execution.nodes.get(view.node or "", {}).get("executeOnce") else "it is not"


@states("it refers to '<L>', a node that the workflow does not have")
def no_such_node(view: View, name: str) -> str | None:
    return "it has" if name in view.execution.nodes else None


@states("the items of <N> are pinned by hand", "its items are pinned by hand")
def is_pinned(view: View, node: str | None = None) -> str | None:
    return None if (node or view.node) in view.execution.pinned else "they are not"


@states("it stops the workflow on purpose")
def stops(view: View) -> str | None:
    return None if view.execution.kind(view.node) == "stopAndError" else f"it is a {view.execution.kind(view.node)}"


@states(r"\((?:rate limit, )?HTTP <D>\)")
def http_code(view: View, code: int) -> str | None:
    said = [dumped(error) for one in view.family for error in one.errors()]
    return None if any(str(code) in one for one in said) else "no error has this code"


@states(r'(?:says|begins with) "<T>"')
def says(view: View, text: str) -> str | None:
    wanted = squeezed(re.split(r"… \[[\d,]+ more|\";|\": ", text)[0])
    every = "".join(dumped(one.raw.get("data")) for one in view.family)
    # A login is masked.
    parts = ".+?".join(map(re.escape, wanted[:200].split("***")))
    return None if re.search(parts, every) else "n8n recorded no such text"


@states(r"its line <D> reads <W> of")
def line_reads(view: View, line: int, name: str) -> str | None:
    lines = [text.split("\n") for text in texts_in(view.execution.settings(view.node))]
    return None if any(line <= len(one) and name in one[line - 1] for one in lines) else "that line does not name it"


@states(r"in line <D>")
def in_line(view: View, line: int) -> str | None:
    errors = [error for one in view.family for error in one.errors()]
    lines = {str(error.get("lineNumber")) for error in errors if isinstance(error, dict)}
    said = " ".join(dumped(error) for error in errors)
    return None if str(line) in lines or f"line{line}]" in said else f"n8n names the lines {sorted(lines)}"


@states("its own option timeout allows <D> ms")
def timeout_is(view: View, wanted: int) -> str | None:
    return None if f"timeout:{wanted}" in dumped(view.execution.settings(view.node)) else "it is another"


@states("^its parameter <W> is <T>")
def parameter_is(view: View, _name: str, shown: str) -> str | None:
    there = squeezed(" ".join(texts_in(view.execution.settings(view.statement.failing))))
    return None if squeezed(re.split(r"… \[|, beside ", shown)[0]) in there else "it is another"


@states("uses a name that does not exist: <W> is not defined")
def not_defined(view: View, name: str) -> str | None:
    said = [dumped(error) for error in view.execution.errors()]
    return None if any(f"{name}isnotdefined" in one for one in said) else "n8n does not say so"


@states("one of its expressions cannot be read: it ends at the first }}")
def ends_early(view: View) -> str | None:
    written = " ".join(texts_in(view.execution.settings(view.node)))
    return None if re.search(r"\}\}(?=[^{]*\}\})", written) else "no expression has }} inside"


@states("(?:cannot work like this, whatever the data|cannot be read): (?!it ends at the first }})<T>")
def n8n_says(view: View, told: str) -> str | None:
    said = " ".join(dumped(error) for error in view.execution.errors())
    return None if squeezed(told)[:60].rstrip(".") in said else "n8n does not say so"


@states("it failed for this item and was told to go on")
def went_on(view: View) -> str | None:
    node = view.execution.nodes.get(view.node or "", {})
    goes_on = node.get("onError", "").startswith("continue") or node.get("continueOnFail")
    return None if goes_on else "it is not told to go on"


@states("its code (?:throws|does not return|uses|cannot|runs once)")
def has_code(view: View) -> str | None:
    return None if re.search("code|function", view.execution.kind(view.node), re.I) else "it has no code"


@states("No rule found a fault in the recorded data")
def nothing_failed(view: View) -> str | None:
    failed = [name for name, runs in view.execution.runs.items() if any(run.get("error") for run in runs)]
    return f"{failed} failed" if failed or view.execution.raw["status"] != "success" else None


@states("The execution counts as a success")
def is_success(view: View) -> str | None:
    status = view.execution.raw["status"]
    return None if status == "success" else f"it is {status}"


@states("<N> looks at the error of")
def looks_at_errors(view: View, name: str) -> str | None:
    written = [dumped(one["parameters"]) for one in view.execution.raw["workflowData"]["nodes"] if one["name"] == name]
    return None if any("error" in one for one in written) else f"'{name}' reads no error"


@states(r"\((?=E[A-Z]{3,}\))<W>\)")
def error_code(view: View, code: str) -> str | None:
    said = [dumped(error) for one in view.family for error in one.errors()]
    return None if any(code in one for one in said) else "no error has this code"


@states("its items do not say which input item they were made from")
def lacks_pairs(view: View) -> str | None:
    return (
        "all say it" if view.out(view.node) and all(item.paired is not None for item in view.out(view.node)) else None
    )


@states("[Ii]n the calling workflow <N> gave it this item")
def gave_it(view: View, node: str) -> str | None:
    callers = [one for one in view.family if node in one.runs and one.children]
    return None if any(one.items(node) for one in callers) else f"{node!r} gave out nothing"


@states("reads the item with index <D>, counted from 0: it received <D> items?")
def too_few_items(view: View, index: int, count: int) -> str | None:
    return had_one_of(view, [count]) or (f"{count} items are enough" if index < count else None)
