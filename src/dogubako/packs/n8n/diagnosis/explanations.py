"""The sentences about a failure: what is known of it, and what is not."""

import re
from collections.abc import Sequence
from typing import Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.references import references
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import shortened

_LONGEST_MESSAGE: Final = 200
_LONGEST_PROBLEM: Final = 600
_MOST_NAMES: Final = 3
_ABOUT_NODE: Final = ("it ", "its ")
_LINE = re.compile(r"\bline \d")
_N8N_LINE = re.compile(r" \[line \d{1,6}\](?=\))")
# How a value begins that tells of the whole item.
ITS_ITEM: Final = "its item "
_OF_THE_ERROR: Final = "Of the error itself"
_NO_CAUSE: Final = "No earlier cause was found in the data"
_ONLY_VALUES: Final = "No earlier cause is proved: values tells what it read and where that was made"
_SETTINGS: Final = ("its paging ", "its parameter ", "its address ")
_ONLY_SETTINGS: Final = "No earlier cause is proved: values tells how it is set up"
_ONLY_ITEM: Final = "No earlier cause is proved, and what it read is not known: values tells what its item has"


def cut(problem: str) -> str:
    return shortened(problem, _LONGEST_PROBLEM)


def failure_words(failure: Failure, cause: Cause | None, *, noticed: bool = False, values: Sequence[str] = ()) -> str:
    """What failed, why as far as it is known, and at which item.

    `noticed`: what was noticed before follows; `values`: what it read, which is told beside.
    """
    failed = _failed(failure)
    if cause is not None and _LINE.search(cause.problem):
        # n8n tells the line of the outermost call.
        failed = _N8N_LINE.sub("", failed)
    told_of_item = bool(values) and all(one.startswith(ITS_ITEM) for one in values)
    set_up = bool(values) and all(one.startswith(_SETTINGS) for one in values)
    only = _ONLY_ITEM if told_of_item else _ONLY_SETTINGS if set_up else _ONLY_VALUES
    no_cause = _NO_CAUSE if not values or cause is not None else only
    if cause is None:
        return f"{failed}. {no_cause}{_which_item(failure)}."
    if cause.node == failure.node:
        which = _which_item(failure, cause.place)
        # Nobody before is to blame, if the problem does not tell already who made the values.
        if noticed or any(f"'{name}'" in cause.problem for name in failure.scene.nodes if name != failure.node):
            told = which.replace("; it", " It", 1) + "." if which else ""
        else:
            told = f" {no_cause}{which}."
        return f"{failed}: {cut(cause.problem)}.{told}{_may_be_meant(failure)}"
    # A problem that begins with "it" is about the node, and not about what it gave out.
    subject = f"'{cause.node}'" if cause.problem.startswith(_ABOUT_NODE) else f"what '{cause.node}' gave out"
    if cause.certain:
        return f"{failed} because of {subject}: {cut(cause.problem)}."
    doubt = f"Whether that node, another on the way or '{failure.node}' has to change is not known"
    look = f"{failed}, look at" if failed.endswith(_OF_THE_ERROR) else f"{failed}. Look at"
    return f"{look} {subject}: {cut(cause.problem)}. {doubt}.{_may_be_meant(failure)}"


def _may_be_meant(failure: Failure) -> str:
    """An error that a node takes, in an execution that went well, is how it may be wanted."""
    meant = failure.scene.execution.status == "success" and is_handled(failure)
    return " It may be intended." if meant else ""


def success_words(cause: Cause) -> str:
    """What is known of an execution that counts as a success."""
    told = f"'{cause.node}': {cut(cause.problem)}"
    if cause.certain or (cause.likely and not cause.wrong):
        intended = "" if cause.unmeant else " It may be intended."
        return f"The execution counts as a success, but look at {told}.{intended}"
    if cause.wrong:
        doubt = f"Whether '{cause.node}' or another node has to change is not known"
        return f"The execution counts as a success, but something is wrong: look at {told}. {doubt}."
    expected = f"If something else was expected, look at {told}"
    return f"The execution counts as a success, and nothing is known to be wrong. {expected}."


def is_handled(failure: Failure) -> bool:
    """Whether the error went to an output for errors, behind which a node takes it."""
    place = failure.passed_on
    return place is not None and place.output > 0 and bool(failure.scene.behind(place.node, place.output))


def _failed(failure: Failure) -> str:
    message = shortened(failure.message, _LONGEST_MESSAGE)
    if failure.scene.execution.status != "success":
        return f"'{failure.node}' failed ({message})"
    place = failure.passed_on
    if place is None or not is_handled(failure):
        lost = place is not None and place.output > 0
        count = _count(failure)
        of = f" for {count}" if count else ""
        went = ", which left by an error output that leads to no node," if lost and count else ""
        told = f"failed{of}{went} and was told to go on ({message})"
        if looking := _looking_at_errors(failure):
            return f"The execution counts as a success. {looking} looks at the error of '{failure.node}', which {told}"
        return f"The execution counts as a success, but '{failure.node}' {told}"
    scene = failure.scene
    taken = _names(scene.behind(place.node, place.output))
    idle = [one for output in range(place.output) for one in scene.never_ran(scene.behind(place.node, output))]
    without = f"; {_names(idle)} never ran" if idle else ""
    went = f"{_count(failure) or 'the item'} went to its error output, which leads to {taken}{without}"
    return f"The execution counts as a success. '{failure.node}' failed ({message}): {went}. {_OF_THE_ERROR}"


def _looking_at_errors(failure: Failure) -> str:
    """The nodes right behind that read the error: it may be expected."""
    scene = failure.scene
    return _names(
        [
            name
            for name in scene.behind(failure.node)
            if any("error" in one.names for one in references(scene.settings.get(name, {})))
        ]
    )


def _count(failure: Failure) -> str:
    """For how many of its items a node failed and went on; empty if that is not known."""
    facts = next((one for one in failure.scene.facts.nodes if one.name == failure.node), None)
    if facts is None or facts.swallowed is None:
        return ""
    return f"{facts.swallowed.items} of its {facts.items_in} items"


def _names(names: list[str]) -> str:
    more = " and more" if len(names) > _MOST_NAMES else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMES]) + more


def _which_item(failure: Failure, shown: Place | None = None) -> str:
    if failure.item_index is not None and failure.places:
        round_of = f" of runIndex {failure.index}" if failure.index else ""
        return f"; it was working on item {failure.item_index}{round_of}"
    if shown is not None and shown in failure.places:
        return ""
    if not failure.is_thrown and failure.raw.get("description") not in ("TypeError", "RangeError"):
        # Settings or code are at fault, and no item is.
        return ""
    count = len(failure.places)
    return f"; it had {count} items, and n8n gives no itemIndex for the error" if count > 1 else ""
