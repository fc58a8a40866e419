"""An answer of a service that is not what was asked for: a page, a text, a file, a refusal."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.formatters.facts import item_error
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import shortened

_ASK: Final = ("httpRequest", "graphql")
_FIRST_REFUSAL: Final = 400
_LONGEST_SAID: Final = 160
# An answer of more fields has data beside its message.
_MOST_WITHOUT_DATA: Final = 4
# What stands beside the answer itself.
_AROUND: Final = frozenset({"headers", "statusCode", "statusMessage"})
_MOST_KEYS: Final = 40
_ERROR_WORDS: Final = ("error", "errors", "errormessage", "errormsg", "errmsg", "errordescription", "faultstring")
_MESSAGE_WORDS: Final = ("message", "msg", "detail", "reason")
_HTML = re.compile(r"\s*+<(?:!doctype html|html|head|body)\b", re.IGNORECASE)


def odd_answer(scene: Scene, path: tuple[str, ...], walk: list[Place]) -> Cause | None:
    """Why the nearest answer on the way does not have this field, if it says so itself."""
    place = next((one for one in walk if scene.kind(one.node) in _ASK), None)
    data = scene.json(place) if place is not None else None
    # Who reads the error itself expects one.
    if place is None or not isinstance(data, Mapping) or path[0] == "error":
        return None
    node = scene.nodes.get(place.node)
    if node is not None and node.on_error == "continueErrorOutput" and item_error(scene.item(place)) is not None:
        # It is no answer.
        return None
    if not _is_as_it_came(scene, walk[0], place):
        return None
    problem = next(_oddities(scene, place, data, ".".join(path)), None)
    if problem is None:
        return None
    way = tuple(walk[: walk.index(place) + 1])
    # A page or a text in place of data is odd whatever was asked for; a refusal may be due to what was sent.
    odd = "HTML page" in problem or "came as text" in problem
    return Cause(node=place.node, problem=problem, place=place, walk=way, lost=True, own=odd)


def _is_as_it_came(scene: Scene, nearest: Place, place: Place) -> bool:
    """Whether no node made something else of the answer."""
    here, there = scene.json(nearest), scene.json(place)
    shared = isinstance(here, Mapping) and isinstance(there, Mapping) and bool(set(here) & set(there))
    return nearest == place or shared


def _oddities(scene: Scene, place: Place, data: Mapping[str, Any], name: str) -> Iterator[str]:
    whole = whole_text(data)
    if whole is not None and is_html(whole):
        yield f"it received an HTML page instead of JSON, so there is no {name}"
    if (held := _in_text(data, name)) is not None and whole is not None:
        yield f"its answer came as text, not as JSON: {name} lies in the text {held}"
    elif held is not None:
        yield f"its answer has no {name}, but a text {held} that holds JSON with it: JSON.parse() reads that"
    status = data.get("statusCode")
    if isinstance(status, int) and status >= _FIRST_REFUSAL:
        yield f"its answer has no {name}, but the status {status}, and it is set to go on with that"
    files = scene.item(place).get("binary")
    if isinstance(files, Mapping) and files:
        yield f"its answer came as a file ({', '.join(map(str, list(files)[:3]))}), so there is no {name}"
    if (said := _said(data)) is not None:
        shown = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        yield f"its answer has no {name}, but says: {shortened(shown, _LONGEST_SAID)}"


def what_it_says(scene: Scene, place: Place) -> str:
    """The words of an answer that tell why a field of it has no value."""
    data = scene.json(place) if scene.kind(place.node) in _ASK else None
    said = _said(data) if isinstance(data, Mapping) else None
    if said is None:
        return ""
    if isinstance(said, list) and said and isinstance(said[0], Mapping):
        said = said[0].get("message") or said
    shown = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return f"; its answer says: {shortened(shown, _LONGEST_SAID)}"


def _said(data: Mapping[str, Any]) -> Any:
    """What the answer says in place of data."""
    bare = len(data) <= _MOST_WITHOUT_DATA and not any(isinstance(one, (dict, list)) and one for one in data.values())
    return next((value for _, value in told_errors(data, also_messages=bare)), None)


def told_errors(data: Mapping[str, Any], *, also_messages: bool) -> Iterator[tuple[str, Any]]:
    """The fields that tell of an error, `errorMessage` as well as `error_message`, in the order of what they tell."""
    names = {re.sub(r"[\W_]", "", str(key)).casefold(): str(key) for key in islice(data, _MOST_KEYS)}
    for word in (*_ERROR_WORDS, *(_MESSAGE_WORDS if also_messages else ())):
        if word in names and data[names[word]]:
            yield names[word], data[names[word]]


def whole_text(data: Mapping[str, Any]) -> str | None:
    """The text that an answer is, if it is nothing else; n8n puts it into one field."""
    held = [value for key, value in data.items() if key not in _AROUND]
    return held[0] if len(held) == 1 and isinstance(held[0], str) else None


def _in_text(data: Mapping[str, Any], name: str) -> str | None:
    """The field whose text is JSON that has the name in it."""
    for key, value in list(data.items())[:20]:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and f'"{name.partition(".")[0]}"' in value:
            return str(key)
    return None


def is_html(text: str) -> bool:
    return _HTML.match(text) is not None
