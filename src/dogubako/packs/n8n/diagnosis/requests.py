"""A request that a service refused: whether a hole in its headers, query or body explains it."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.names import near_names
from dogubako.packs.n8n.diagnosis.references import Reference, Step, references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_LOGIN: Final = ("401", "403")
_LOGIN_NAMES = re.compile(r"auth|token|key|session|secret|cookie|signature", re.IGNORECASE)
_SENT: Final = ("bodyParameters", "queryParameters", "headerParameters", "jsonBody", "jsonQuery", "jsonHeaders", "body")
_REFUSED: Final = ("400", "422")
_STATUS_FIRST = re.compile(r"[45]\d\d - ")
_COMPLAINT = re.compile(r"requir|missing|mandatory|blank|(?:not|n't) be (?:empty|null)|必須|fehlt", re.IGNORECASE)
_REQUIRED = re.compile(
    r"([A-Za-z_$][\w$]{1,60})['\"`]?\s(?:field\s|parameter\s)?(?:is|are|was)\s(?:a\s)?(?:required|missing|mandatory)"
    r"|(?:[Mm]issing|[Rr]equired)\s(?:required\s)?(?:field|parameter|property|key|attribute):?\s['\"`]?([A-Za-z_$][\w$]{1,60})"
)
_NAMES_FIELD: Final = ("field", "param", "parameter", "property", "pointer", "loc")
_HOLDS_ERRORS: Final = frozenset({"errors", "error", "fields", "violations", "details", "detail", "messages"})
_DEEPEST: Final = 4
_LONGEST_BODY: Final = 100_000
_LONGEST_ANSWER: Final = 4_000
_SHORTEST_NAME: Final = 3


def refused_request(failure: Failure, words: str) -> Cause | None:
    """A login that was made from nothing, or a field that the answer names and that was sent empty or not at all."""
    wanted = _login_holes(failure) if failure.http_code in _LOGIN else _named_holes(failure)
    for reference, place in wanted:
        cause = failure.trace_gap(reference, place)
        return cause.with_problem(f"{cause.problem}, and the request is made from it: {words}")
    return _not_sent(failure, words) if failure.http_code in _REFUSED else None


def _not_sent(failure: Failure, words: str) -> Cause | None:
    """A field that the service asks for, and that the request does not have."""
    request = failure.context.get("request")
    sent = _decoded(request.get("body")) if isinstance(request, Mapping) else None
    has = set(_all_keys(sent))
    wanted = [name for name in dict.fromkeys(_asked_for(failure)) if name not in has]
    if not isinstance(sent, Mapping) or not has or len(wanted) != 1:
        return None
    name = wanted[0]
    item = failure.scene.json(failure.places[0]) if failure.places else None
    near = next(iter(near_names([str(key) for key in sent], name)), None)
    hint = f"; there is {near}" if near else ""
    if not isinstance(item, Mapping) or item != sent or not _sends_item(failure):
        return Cause(node=failure.node, problem=f"it does not send {name}, which the service asks for{hint}: {words}")
    # The item as it is was sent: the node that gave it its fields is to blame.
    walk = failure.scene.walk(failure.places[0])
    keys = {near} if near else set(sent)
    having = list(takewhile(lambda one: keys <= set(_keys(failure.scene.json(one))), walk))
    problem = f"it gives out no {name}, which the service asks for, and its item is sent as it is{hint}: {words}"
    return Cause(node=having[-1].node, problem=problem, place=having[-1], walk=tuple(having))


def _asked_for(failure: Failure) -> Iterator[str]:
    """The fields that the answer of the service complains about."""
    for text in _answer(failure):
        told = _decoded(text.partition(" - ")[2]) if _STATUS_FIRST.match(text) else _decoded(text)
        if isinstance(told, (Mapping, list)):
            yield from _complaints(told)
        else:
            for match in _REQUIRED.finditer(str(told or text)[:_LONGEST_ANSWER]):
                yield match[1] or match[2]


def _complaints(told: Any, below: bool = False, depth: int = 0) -> Iterator[str]:
    """Names in a structured answer: `{errors: {name: [...]}}`, `[{field: name}]`, or a sentence about one."""
    if isinstance(told, str):
        yield from (match[1] or match[2] for match in _REQUIRED.finditer(told[:_LONGEST_ANSWER]))
    elif isinstance(told, list):
        for one in told[:20] if depth < _DEEPEST else ():
            yield from _complaints(one, False, depth + 1)
    elif isinstance(told, Mapping):
        named = next((told[key] for key in _NAMES_FIELD if isinstance(told.get(key), (str, list))), None)
        if named:
            yield str(named[-1]) if isinstance(named, list) else named.strip("/").replace("/", ".").rpartition(".")[2]
            return
        for key, value in list(told.items())[:20] if depth < _DEEPEST else ():
            if below and isinstance(value, (str, list)) and _COMPLAINT.search(str(value)):
                yield str(key)
            else:
                yield from _complaints(value, str(key).casefold() in _HOLDS_ERRORS, depth + 1)


def _decoded(text: Any) -> Any:
    """A text that is JSON, or JSON in JSON, as data."""
    for _ in range(2):
        if not isinstance(text, str) or len(text) > _LONGEST_BODY:
            break
        try:
            text = json.loads(text)
        except (ValueError, RecursionError):
            break
    return text


def _all_keys(data: Any, depth: int = 0) -> Iterator[str]:
    inner = list(data.values()) if isinstance(data, Mapping) else data if isinstance(data, list) else []
    yield from _keys(data)
    for one in inner[:100] if depth < _DEEPEST else ():
        yield from _all_keys(one, depth + 1)


def _login_holes(failure: Failure) -> Iterator[tuple[Reference, Place]]:
    """References in the headers and the query that carry a login, and that found nothing."""
    for name, value in _parameters(failure, "headerParameters", "queryParameters"):
        if _LOGIN_NAMES.search(name):
            yield from _holes(failure, value)


def _named_holes(failure: Failure) -> Iterator[tuple[Reference, Place]]:
    """What was sent empty under a name that the answer of the service has in it."""
    answer = " ".join(_answer(failure))[:_LONGEST_ANSWER]
    said = {word.casefold() for word in re.findall(r"[\w$]+", answer) if len(word) >= _SHORTEST_NAME}
    for name, value in _parameters(failure, "bodyParameters", "queryParameters", "headerParameters"):
        if name.casefold() in said:
            yield from _holes(failure, value)
    for text in texts({key: failure.settings.get(key) for key in _SENT}):
        for reference in references_in(text):
            if said & {name.casefold() for name in reference.names}:
                yield from ((reference, place) for place, _ in failure.missing(reference))
    yield from _dropped(failure, said)


def _dropped(failure: Failure, said: set[str]) -> Iterator[tuple[Reference, Place]]:
    """A field of earlier items that the answer names and that the sent item does not have any more."""
    for place in failure.places[:1] if _sends_item(failure) else ():
        sent = failure.scene.json(place)
        before = [one for parent in failure.scene.walk(place)[1:] for one in _keys(failure.scene.json(parent))]
        for name in dict.fromkeys(before):
            if name.casefold() in said and isinstance(sent, Mapping) and name not in sent:
                yield Reference(node=None, pick="item", path=(Step(name),)), place


def _sends_item(failure: Failure) -> bool:
    """Whether the body is the item itself, and not made of some of its fields."""
    return any("$json" in text and "$json." not in text for text in texts(failure.settings.get("jsonBody")))


def _keys(data: Any) -> list[str]:
    return [str(key) for key in data] if isinstance(data, Mapping) else []


def _holes(failure: Failure, value: str) -> Iterator[tuple[Reference, Place]]:
    for reference in references_in(value):
        yield from ((reference, place) for place, _ in failure.missing(reference))


def _parameters(failure: Failure, *groups: str) -> Iterator[tuple[str, str]]:
    """Names and values of what is sent."""
    for group in groups:
        holder = failure.settings.get(group)
        rows = holder.get("parameters") if isinstance(holder, Mapping) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and isinstance(row.get("value"), str):
                yield str(row.get("name")), row["value"]


def _answer(failure: Failure) -> Iterator[str]:
    """What the service said, wherever n8n put it."""
    raw = failure.raw
    for key in ("message", "description", "messages"):
        yield from texts(raw.get(key))
    data = failure.context.get("data")
    yield from texts(data) if not is_absent(data) else ()
