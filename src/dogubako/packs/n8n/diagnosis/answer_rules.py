"""Rules for executions that count as a success: answers of services that are pages or refusals."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import emptiness, is_plain
from dogubako.packs.n8n.diagnosis.answers import is_html, told_errors, whole_text
from dogubako.packs.n8n.diagnosis.gaps import missing_in
from dogubako.packs.n8n.diagnosis.references import references
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_ANSWERS: Final = frozenset({"httpRequest", "graphql"})
_MOST_ITEMS: Final = 200
_LONGEST_REASON: Final = 200
# Fields that tell how a request went.
_TELLS: Final = frozenset({"ok", "success", "status", "error", "errors", "message", "reason", "detail"})


def page_for_data(scene: Scene) -> Cause | None:
    """A service answered with a page, and a later node reads fields that a page does not have."""
    for at in scene.runs:
        if scene.kind(at.node) not in _ANSWERS:
            continue
        for place in islice(scene.outputs(at), _MOST_ITEMS):
            data = scene.json(place)
            if isinstance(data, Mapping) and is_html(whole_text(data) or ""):
                wanted = _read_later(scene, at, data)
                if wanted is not None:
                    problem = f"it received an HTML page instead of JSON, so there is no {wanted[1]} for '{wanted[0]}'"
                    return Cause(node=at.node, problem=problem, place=place)
    return None


def _read_later(scene: Scene, at: RunPlace, data: Mapping[str, Any]) -> tuple[str, str] | None:
    """A node behind this one, and a field that it reads in vain."""
    for later in scene.runs:
        if later.run.execution_index <= at.run.execution_index or later.node == at.node:
            continue
        for reference in references(scene.settings.get(later.node, {})):
            if reference.node not in (None, at.node) or reference.names[0] in data:
                continue
            for place in scene.input_places(later.run)[:1]:
                absent = is_absent(scene.value(place, reference.names[:1]))
                if absent and any(one.node == at.node for one in scene.walk(place)):
                    return later.node, reference.names[0]
    return None


def refused_in_data(scene: Scene) -> Cause | None:
    """An answer that counts as a success and says that it is none: `{ok: false, error: "channel_not_found"}`."""
    for at in scene.runs:
        for place in islice(scene.outputs(at), _MOST_ITEMS) if scene.kind(at.node) in _ANSWERS else ():
            data = scene.json(place)
            said = _refusal(data) if isinstance(data, Mapping) else None
            if said is not None:
                problem = f"its answer says {said}{_sent_hole(scene, at, place)}"
                # A workflow that tests the answer expects it to be either.
                return Cause(node=at.node, problem=problem, place=place, certain=not _is_tested(scene, at.node))
    return None


def errors_reported(scene: Scene) -> Cause | None:
    """An answer with data that reports errors beside them, as GraphQL does: `{data: {x: null}, errors: [...]}`."""
    for at in scene.runs:
        node = scene.nodes.get(at.node)
        if scene.kind(at.node) not in _ANSWERS or node is None or node.goes_on_after_errors:
            continue
        for place in islice(scene.outputs(at), _MOST_ITEMS):
            data = scene.json(place)
            said = _reported(data) if isinstance(data, Mapping) else None
            if said is not None:
                problem = f"its answer for this item reports an error: {shortened(said, _LONGEST_REASON)}"
                missed = not _is_tested(scene, at.node) and not _has_data(data.get("data"))
                return Cause(node=at.node, problem=problem, place=place, certain=False, wrong=missed)
    return None


def _reported(data: Mapping[str, Any]) -> str | None:
    """The message of an error that stands beside data, or in their place."""
    errors, error = data.get("errors"), data.get("error")
    if isinstance(errors, list) and errors and "data" in data:
        error = errors[0]
    elif isinstance(errors, Mapping) and not _has_data(data.get("data")):
        error = errors
    elif not isinstance(error, Mapping) or _has_data(data.get("data")):
        return None
    told = error.get("message") if isinstance(error, Mapping) else error
    return told if isinstance(told, str) and told.strip() else None


def _has_data(value: Any) -> bool:
    """Whether there is anything else than null in it."""
    if isinstance(value, Mapping):
        return any(one is not None for one in value.values())
    return bool(value)


def _is_tested(scene: Scene, node: str) -> bool:
    """Whether a later node looks at how the answer went."""
    if any(scene.kind(one) in ("if", "switch", "filter") for one in scene.behind(node)):
        return True
    later = scene.reached(scene.behind(node))
    return any(one.names[-1:] and one.names[-1] in _TELLS for name in later for one in references(scene.settings[name]))


def _refusal(data: Mapping[str, Any]) -> str | None:
    sign = next((key for key in ("ok", "success") if data.get(key) is False), None)
    why = next(told_errors(data, also_messages=True), None)
    failed = str(data.get("status")).casefold() in ("error", "fail", "failed", "failure")
    if why is not None and sign is None and (failed or (why[0] == "errors" and "data" in data and not data["data"])):
        return f"{why[0]}: {shortened(str(why[1]), _LONGEST_REASON)}{', and status: error' if failed else ''}"
    if sign is None or why is None:
        return None
    return f"{sign}: false, {why[0]}: {shortened(str(why[1]), _LONGEST_REASON)}"


def _sent_hole(scene: Scene, at: RunPlace, place: Place) -> str:
    """The only field that the request reads and that its item does not have."""
    source = next(iter(scene.parents(place)), None)
    read = [one for one in references(scene.settings.get(at.node, {})) if is_plain(one)]
    found = {one.names: (one, missing_in(scene, one, source, at.run)) for one in read} if source is not None else {}
    holes = [(one, missing[0]) for one, missing in found.values() if missing]
    if len(holes) != 1:
        return ""
    reference, (place, path) = holes[0]
    return f"; the request reads {reference.written}, which is {emptiness(scene.value(place, path))}"


ANSWER_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (page_for_data, refused_in_data, errors_reported)
