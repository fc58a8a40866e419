"""The sentences about a failure: what is known of it, and what is not."""

from typing import Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import shortened

_LONGEST_MESSAGE: Final = 200
_LONGEST_PROBLEM: Final = 600
_MOST_NAMES: Final = 3


def cut(problem: str) -> str:
    return shortened(problem, _LONGEST_PROBLEM)


def failure_words(failure: Failure, cause: Cause | None) -> str:
    """What failed, why as far as it is known, and at which item."""
    failed = _failed(failure)
    if cause is None:
        return f"{failed}. No earlier cause was found in the data{_which_item(failure)}."
    if cause.node == failure.node:
        return f"{failed}: {cut(cause.problem)}.{_without_earlier(cause, failure)}"
    if cause.certain:
        return f"{failed} because of what '{cause.node}' gave out: {cut(cause.problem)}."
    doubt = f"Whether that node, another on the way or '{failure.node}' has to change is not known"
    return f"{failed}. Found in what '{cause.node}' gave out: {cut(cause.problem)}. {doubt}."


def success_words(cause: Cause) -> str:
    """What is known of an execution that counts as a success."""
    told = f"'{cause.node}': {cut(cause.problem)}"
    if cause.certain:
        return f"The execution counts as a success, but look at {told}."
    if cause.wrong:
        doubt = f"Whether '{cause.node}' or another node has to change is not known"
        return f"The execution counts as a success, but something is wrong: look at {told}. {doubt}."
    return f"The execution counts as a success, and nothing is known to be wrong. If more was expected, look at {told}."


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
        return f"The execution counts as a success, but '{failure.node}' failed and was told to go on ({message})"
    scene = failure.scene
    taken = _names(scene.behind(place.node, place.output))
    idle = [one for output in range(place.output) for one in scene.never_ran(scene.behind(place.node, output))]
    without = f"; {_names(idle)} never ran" if idle else ""
    went = f"{_how_many(scene, failure)} went to its error output, which leads to {taken}{without}"
    return f"The execution counts as a success. '{failure.node}' failed ({message}): {went}. Of the error itself"


def _how_many(scene: Scene, failure: Failure) -> str:
    facts = next((one for one in scene.facts.nodes if one.name == failure.node), None)
    if facts is None or facts.swallowed is None:
        return "the item"
    return f"{facts.swallowed.items} of its {facts.items_in} items"


def _names(names: list[str]) -> str:
    more = " and more" if len(names) > _MOST_NAMES else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMES]) + more


def _without_earlier(cause: Cause, failure: Failure) -> str:
    """That nobody before is to blame, if the problem does not tell already who made the values; and the item."""
    which = _which_item(failure, cause.place)
    if any(f"'{name}'" in cause.problem for name in failure.scene.nodes if name != failure.node):
        return which.replace("; it", " It", 1) + "." if which else ""
    return f" No earlier cause was found in the data{which}."


def _which_item(failure: Failure, shown: Place | None = None) -> str:
    several = len(failure.places) > 1
    index = shown.item if shown is not None and several and shown in failure.places else failure.item_index
    if index is not None and failure.places:
        round_of = f" of its run {failure.index}" if failure.index else ""
        return f"; it was working on item {index}{round_of}"
    if not failure.is_thrown and failure.raw.get("description") not in ("TypeError", "RangeError"):
        # Settings or code are at fault, and no item is.
        return ""
    count = len(failure.places)
    return f"; it had {count} items, and n8n does not tell which one" if count > 1 else ""
