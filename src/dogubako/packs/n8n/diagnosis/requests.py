"""A request that a service refused: whether a hole in its headers, query or body explains it."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.assignments import elsewhere_set
from dogubako.packs.n8n.diagnosis.complaints import complained_about, keys_of, rows, sends_item, sent_body, written_in
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT
from dogubako.packs.n8n.diagnosis.lineage import lineage
from dogubako.packs.n8n.diagnosis.references import Reference, references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.diagnosis.service_answers import DEEPEST, LONGEST_ANSWER, answers, told_by
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.spelling import near_names
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

_LOGIN: Final = ("401", "403")
_LOGIN_NAMES = re.compile(r"auth|token|key|session|secret|cookie|signature", re.IGNORECASE)
# Names that a login has not, although they sound so.
_NO_LOGIN = re.compile(r"idempot|trace|request|correlation|refresh|csrf|xsrf|page|next|cursor|sort", re.IGNORECASE)
_WRITTEN: Final = ("jsonBody", "jsonQuery", "jsonHeaders", "body")
_REFUSED: Final = ("400", "422")
_COMPLAINT = re.compile(r"requir|missing|mandatory|blank|(?:not|n't) be (?:empty|null)|必須|fehlt", re.IGNORECASE)
_REQUIRED = of_names(
    r"(?<![\w$])([A-Za-z_$][\w$]{1,60}+)['\"`]?\s(?:field\s|parameter\s)?(?:is|are|was)\s(?:a\s)?(?:required|missing|mandatory)"
    r"|(?:[Mm]issing|[Rr]equired)\s(?:required\s)?(?:field|parameter|property|key|attribute):?\s['\"`]?([A-Za-z_$][\w$]{1,60}+)"
)
_NAMES_FIELD: Final = ("field", "param", "parameter", "property", "pointer", "loc")
_HOLDS_ERRORS: Final = frozenset({"errors", "error", "fields", "violations", "details", "detail", "messages"})
_SHORTEST_NAME: Final = 3
_MOST_ANSWERS: Final = 20
_MOST: Final = 20
# What a service calls the value that it was sent.
_GOT: Final = ("got", "value", "actual", "received", "input")


def refused_request(failure: Failure, words: str) -> Cause | None:
    """A login that was made from nothing, or a field that the answer names and that was sent empty or not at all."""
    if failure.http_code not in _LOGIN and (cause := complained_about(failure, words)) is not None:
        return cause
    if failure.http_code not in _LOGIN and (cause := _element_refused(failure, words)) is not None:
        return cause
    wanted = _login_holes(failure) if failure.http_code in _LOGIN else _named_holes(failure)
    for reference, place in wanted:
        if failure.scene.value(place, reference.names) == "":
            return failure.trace(reference, place, f"an empty text, and the request is made from it: {words}")
        cause = failure.trace_gap(reference, place)
        return cause.with_problem(f"{cause.problem}, and the request is made from it: {words}")
    return _not_sent(failure, words) if failure.http_code in _REFUSED else None


def _element_refused(failure: Failure, words: str) -> Cause | None:
    """An element of a list that the answer names by its index, its field and the value that it got."""
    sent, place = sent_body(failure), failure.places[0] if len(failure.places) == 1 else None
    told = [one for text in islice(answers(failure), _MOST_ANSWERS) for one in islice(_entries(told_by(text)), _MOST)]
    if not isinstance(sent, Mapping) or place is None or len(unique := {repr(one): one for one in told}) != 1:
        return None
    (entry,) = unique.values()
    index, name = entry["index"], str(entry["field"])
    value = next((entry[key] for key in _GOT if key in entry), ABSENT)
    found = [
        (str(key), str(index), name)
        for key, listed in sent.items()
        if isinstance(listed, list) and listed == failure.scene.value(place, (str(key),))
    ]
    if len(found) != 1 or is_absent(value) or failure.scene.value(place, found[0]) != value:
        return None
    tail = f"and the service complains about {name} of the element with index {index}: {words}"
    sends = f"it sends {'.'.join(found[0])} as {shown_value(value)}, {lineage(failure.scene, place, found[0])}"
    return Cause(node=failure.node, problem=f"{sends}, {tail}")


def _entries(told: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The complaints of an answer that name an index and a field."""
    if isinstance(told, Mapping) and isinstance(told.get("index"), int) and isinstance(told.get("field"), str):
        yield told
    inner = told.values() if isinstance(told, Mapping) else told if isinstance(told, list) else ()
    for one in islice(inner, _MOST) if depth < DEEPEST else ():
        yield from _entries(one, depth + 1)


def _not_sent(failure: Failure, words: str) -> Cause | None:
    """A field that the service asks for, and that the request does not have."""
    sent = sent_body(failure)
    has = set(_all_keys(sent))
    wanted = [name for name in dict.fromkeys(_asked_for(failure)) if name not in has]
    if not isinstance(sent, Mapping) or not has or len(wanted) != 1:
        return None
    name = wanted[0]
    item = failure.scene.json(failure.places[0]) if failure.places else None
    near = next(iter(near_names([str(key) for key in sent], name)), None)
    hint = f"; there is {near}" if near else ""
    if isinstance(item, Mapping) and item == sent and sends_item(failure):
        # The item as it is was sent: who should have given it this field?
        reference = Reference(node=None, pick="item", path=(Step(name),))
        cause = failure.trace_gap(reference, failure.places[0])
        if cause.node != failure.node:
            return cause.with_problem(
                f"{cause.problem}; the service asks for {name}, and the item is sent as it is: {words}"
            )
        if near and (maker := _who_wrote(failure, near)) is not None:
            told = f"it gives out no {name}, which the service asks for; there is {near}"
            problem = f"{told}, and its item is sent as it is: {words}"
            return Cause(node=maker.node, problem=problem, place=maker, walk=(maker,))
        others = elsewhere_set(failure.scene, (name,), failure.scene.walk(failure.places[0]), failure.node)
        hint = hint or f"; its item is sent as it is, and no node before it sets {name}{others}"
    return Cause(node=failure.node, problem=f"it does not send {name}, which the service asks for{hint}: {words}")


def _who_wrote(failure: Failure, name: str) -> Place | None:
    """Where the items got this field."""
    walk = failure.scene.walk(failure.places[0])
    having = list(takewhile(lambda one: name in keys_of(failure.scene.json(one)), walk))
    return having[-1] if having else None


def _asked_for(failure: Failure) -> Iterator[str]:
    """The fields that the answer of the service complains about."""
    for text in answers(failure):
        told = told_by(text)
        if isinstance(told, (Mapping, list)):
            yield from _complaints(told)
        else:
            for match in _REQUIRED.finditer(str(told or text)[:LONGEST_ANSWER]):
                yield match[1] or match[2]


def _complaints(told: Any, below: bool = False, depth: int = 0) -> Iterator[str]:
    """Names in a structured answer: `{errors: {name: [...]}}`, `[{field: name}]`, or a sentence about one."""
    if isinstance(told, str):
        yield from (match[1] or match[2] for match in _REQUIRED.finditer(told[:LONGEST_ANSWER]))
    elif isinstance(told, list):
        for one in told[:20] if depth < DEEPEST else ():
            yield from _complaints(one, False, depth + 1)
    elif isinstance(told, Mapping):
        named = next((told[key] for key in _NAMES_FIELD if isinstance(told.get(key), (str, list))), None)
        if named:
            yield str(named[-1]) if isinstance(named, list) else named.strip("/").replace("/", ".").rpartition(".")[2]
            return
        for key, value in list(told.items())[:20] if depth < DEEPEST else ():
            if below and isinstance(value, (str, list)) and _COMPLAINT.search(str(value)):
                yield str(key)
            else:
                yield from _complaints(value, str(key).casefold() in _HOLDS_ERRORS, depth + 1)


def _all_keys(data: Any, depth: int = 0) -> Iterator[str]:
    inner = list(data.values()) if isinstance(data, Mapping) else data if isinstance(data, list) else []
    yield from keys_of(data)
    for one in inner[:100] if depth < DEEPEST else ():
        yield from _all_keys(one, depth + 1)


def _login_holes(failure: Failure) -> Iterator[tuple[Reference, Place]]:
    """References in the headers and the query that carry the only login, and that found nothing."""
    sent = [value for name, value in _parameters(failure, "headerParameters", "queryParameters") if _is_login(name)]
    found = [[*_holes(failure, value), *_empty(failure, value)] for value in sent]
    if all(found) and failure.settings.get("authentication", "none") == "none":
        yield from (one for holes in found for one in holes)


def _is_login(name: str) -> bool:
    return _LOGIN_NAMES.search(name) is not None and _NO_LOGIN.search(name) is None


def _empty(failure: Failure, value: str) -> Iterator[tuple[Reference, Place]]:
    for one in references_in(value):
        yield from ((one, place) for place, held in failure.values(one) if held == "")


def _named_holes(failure: Failure) -> Iterator[tuple[Reference, Place]]:
    """What was sent empty under a name that the answer of the service has in it."""
    # Only what the answer says to be missing: its other words have nothing to do with holes.
    said = {name.casefold() for name in _asked_for(failure) if len(name) >= _SHORTEST_NAME}
    for name, value in _parameters(failure, "bodyParameters", "queryParameters", "headerParameters"):
        if name.casefold() in said:
            yield from _holes(failure, value)
    for text in texts({key: failure.settings.get(key) for key in _WRITTEN}):
        for name, value in written_in(text):
            if name.casefold() in said:
                yield from _holes(failure, value)
    yield from _dropped(failure, said)


def _dropped(failure: Failure, said: set[str]) -> Iterator[tuple[Reference, Place]]:
    """A field of earlier items that the answer names and that the sent item does not have any more."""
    for place in failure.places[:1] if sends_item(failure) else ():
        sent = failure.scene.json(place)
        before = [one for parent in failure.scene.walk(place)[1:] for one in keys_of(failure.scene.json(parent))]
        for name in dict.fromkeys(before):
            if name.casefold() in said and isinstance(sent, Mapping) and name not in set(_all_keys(sent)):
                yield Reference(node=None, pick="item", path=(Step(name),)), place


def _holes(failure: Failure, value: str) -> Iterator[tuple[Reference, Place]]:
    for reference in references_in(value):
        yield from ((reference, place) for place, _ in failure.missing(reference))


def _parameters(failure: Failure, *groups: str) -> Iterator[tuple[str, str]]:
    """Names and values of what is sent."""
    for group in groups:
        yield from rows(failure, group)
