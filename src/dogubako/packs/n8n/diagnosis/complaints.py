"""What a service complained about: the fields that its answer names, what was sent as such a field, and who made it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.declarations import value_end
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT
from dogubako.packs.n8n.diagnosis.lineage import lineage
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.diagnosis.service_answers import (
    DEEPEST,
    LONGEST_ANSWER,
    WORDS_ONLY,
    answers,
    decoded,
    quoted_in,
    sentences,
    told_by,
)
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

_LONGEST_BODY: Final = 100_000
_LONGEST_ADDRESS: Final = 4_000
# `?page={{ $json.page }}`
_IN_ADDRESS = re.compile(r"[?&]([\w.\[\]~-]{1,60}+)=(\{\{[^{}]{1,200}+\}\})")
_MOST_NAMES: Final = 20
_MOST_ANSWERS: Final = 20
_MOST_KEYS: Final = 200
_LONGEST_WRITTEN: Final = 20_000
_MOST_SHOWN: Final = 3
# Other statuses are not about what was sent.
_ABOUT_DATA: Final = frozenset({"400", "409", "422"})
_NAMES_FIELD: Final = ("field", "param", "parameter", "property", "pointer", "loc", "path", "target", "attribute")
_HOLDS_ERRORS: Final = frozenset({"errors", "fields", "violations", "details", "invalid_params", "invalidParams"})
# `amount must be a number`, `"start" is not a date`, `Invalid value for email`.
_NAMED = of_names(
    r"(?<![\w$.-])['\"`]?([^\W\d][\w$]{1,60}+)['\"`]?\s(?:field\s|parameter\s|value\s|property\s)?"
    r"(?:is|are|was|must|should|has|cannot|can't|can\snot|may|needs|does|doesn't|isn't|already)\b"
    r"|\b[Ii]nvalid\s(?:value\s)?(?:for\s|of\s)?(?:the\s)?(?:field\s|parameter\s|property\s)?['\"`]?([^\W\d][\w$]{1,60}+)"
)
_NOT_WRONG = re.compile(
    r"already|duplicate|exists|\btaken\b|unique|in use|reserved|unknown (?:field|param|prop|key|attribute|column)"
    r"|unexpected (?:field|param|prop|key)|unrecogni[sz]ed|not (?:allowed|permitted|supported)|read[- ]?only"
    r"|additional propert|extra fields",
    re.IGNORECASE,
)
_KEY = of_names(r"['\"]([^'\"\n]{1,100}+)['\"]\s*+:|(?<![\w$.?])([^\W\d][\w$]{0,100}+)\s*+:")
_MISSED = re.compile(r"is required|is missing|are required|missing (?:field|param|required)|必須|fehlt", re.IGNORECASE)
_TO_TEXT = re.compile(r"\bString\(|\.toString\(|\.toFixed\(|\$\{")
_NOTHING: Final[tuple[Any, ...]] = (None, "", "undefined", "null", "NaN", [], {})


def complained_about(failure: Failure, words: str) -> Cause | None:
    """The one field of the request that the answer names, with the value that was sent, traced to its maker."""
    if failure.http_code not in _ABOUT_DATA:
        return None
    names, sure = _named(failure)
    if (quoted := _quoted(failure, names)) is not None:
        return _quoting(failure, quoted, words)
    found = _written_ones(failure, names) or _written_ones(failure, _named_and_empty(failure) or _echoed(failure))
    if len(found) != 1:
        return _several(failure, list(found), words)
    ((name, written),) = found.items()
    read = {(one.node, one.pick, one.names): one for one in references_in(written)}
    tail = f"and the service complains about {name}: {words}"
    traced = _traced(failure, name, next(iter(read.values())), tail) if len(read) == 1 else None
    if traced is not None and (made_text := _made_text(failure, name, traced, tail)) is not None:
        return Cause(node=failure.node, problem=made_text)
    if traced is not None and _is_otherwise(failure, name, written, traced):
        traced = None
    if traced is not None and traced.node != failure.node and _is_there(failure, name):
        shown = f"{name} as {shown_value(sent_value(failure, name))}, from '{traced.node}'{_sent_how(failure)}"
        return Cause(node=failure.node, problem=f"it does send {shown}, {tail}")
    if traced is not None and traced.node != failure.node and _is_good(failure):
        shown = f"{name} as {shown_value(sent_value(failure, name))}, from '{traced.node}'"
        return Cause(node=failure.node, problem=f"it sends {shown}, {tail}")
    if traced is not None:
        return traced if sure or traced.node == failure.node else replace(traced, certain=False)
    emptied = (
        _made_empty(failure, next(iter(read.values())), f"{name} is made from it, {tail}") if len(read) == 1 else None
    )
    if emptied is not None:
        return emptied
    value = sent_value(failure, name)
    if is_absent(value) or isinstance(value, (Mapping, list)):
        return None
    made = _made_from(failure, list(read.values()))
    return Cause(node=failure.node, problem=f"it sends {name} as {shown_value(value)}{made}, {tail}")


def _written_ones(failure: Failure, names: list[str]) -> dict[str, str]:
    """The fields that the request makes, with their expressions."""
    return {name: written for name in names if (written := _written(failure, name)) is not None}


def _named_and_empty(failure: Failure) -> list[str]:
    """The one field that was sent without a value and whose name the answer has in it, in whatever language."""
    body = sent_body(failure)
    if not isinstance(body, Mapping):
        return []
    heard = [text[:LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS)]
    said = {word for text in heard for word in of_names(r"[\w$]+").findall(text)}
    written = [name for text in texts(failure.settings.get("jsonBody")) for name, _ in written_in(text)]
    names = dict.fromkeys([*keys_of(body), *written])
    # Some languages put no spaces between words.
    meant = [name for name in names if name in said or (not name.isascii() and any(name in text for text in heard))]
    return meant if len(meant) == 1 and (is_absent(sent := sent_value(failure, meant[0])) or sent in _NOTHING) else []


def _echoed(failure: Failure) -> list[str]:
    """The one field that the answer has in it with the value that was sent, beside nothing but sentences."""
    body = sent_body(failure)
    told = [one for text in islice(answers(failure), _MOST_ANSWERS) if isinstance(one := told_by(text), Mapping)]
    if not isinstance(body, Mapping) or not told:
        return []
    same = [str(key) for key, value in told[0].items() if key in body and body[key] == value and value != ""]
    rest = [value for key, value in told[0].items() if key not in same]
    return same if len(same) == 1 and all(isinstance(one, str) for one in rest) else []


def _quoted(failure: Failure, names: list[str]) -> str | None:
    """The one field that was sent with a value which the answer quotes, if the answer names other fields in data."""
    body = sent_body(failure)
    held = [str(key) for key in body] if isinstance(body, Mapping) else []
    meant = values_quoted(failure, body) if isinstance(body, Mapping) else []
    others = [name for name in names if name in held]
    return meant[0] if len(meant) == 1 and others and meant[0] not in others else None


def values_quoted(failure: Failure, body: Mapping[str, Any]) -> list[str]:
    """The fields that were sent with a value which the answer quotes."""
    told = [told_by(text) for text in islice(answers(failure), _MOST_ANSWERS)]
    said = {one for data in told for one in quoted_in(data)}
    held = {str(key): str(value) for key, value in list(body.items())[:_MOST_KEYS]}
    return [key for key, value in held.items() if value in said and value not in held]


def _quoting(failure: Failure, name: str, words: str) -> Cause:
    """The field whose value the service quotes, and who made it."""
    shown = shown_value(sent_value(failure, name))
    reference = only_reference(f"={{{{{_written(failure, name) or ''}}}}}") or only_reference(_written(failure, name))
    place = next(iter(failure.read(reference)), None) if reference is not None else None
    maker = (
        f", from '{failure.trace(reference, place, '').node}'" if reference is not None and place is not None else ""
    )
    return Cause(
        node=failure.node, problem=f"it sends {name} as {shown}{maker}, a value that the service quotes: {words}"
    )


def _is_there(failure: Failure, name: str) -> bool:
    """Whether the service misses a field that it was sent with a value."""
    said = " ".join(text[:LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS))
    sent = sent_value(failure, name)
    return _MISSED.search(said) is not None and not is_absent(sent) and sent not in _NOTHING


def _sent_how(failure: Failure) -> str:
    """The form of the body, where it is not JSON."""
    kind = failure.settings.get("contentType", "json")
    return f"; its body is sent as {kind}, not as JSON" if kind != "json" else ""


def _made_text(failure: Failure, name: str, traced: Cause, tail: str) -> str | None:
    """That a number was sent as a text: its expression stands in quotes."""
    held = failure.scene.value(*traced.read) if traced.read is not None else None
    sent = sent_value(failure, name) if failure.settings.get("contentType", "json") == "json" else None
    if not isinstance(held, (int, float)) or not isinstance(sent, str) or traced.read is None:
        return None
    # Who writes String() wants a text.
    text = "" if _TO_TEXT.search(_written(failure, name) or "") else ", a text"
    path, made = ".".join(traced.read[1]), lineage(failure.scene, *traced.read)
    sends = f"it sends {name} as {shown_value(sent)}{text}, made from {path}, which is {shown_value(held)}"
    return f"{sends}, {tail}; {path} is {shown_value(held)}, {made}"


def _is_otherwise(failure: Failure, name: str, written: str, traced: Cause) -> bool:
    """Whether the expression makes another value of the field than the field has: then that was sent."""
    if traced.read is None or is_whole(written):
        return False
    sent, held = sent_value(failure, name), failure.scene.value(*traced.read)
    return not is_absent(sent) and not is_absent(held) and held is not None and sent not in (held, str(held))


def _is_good(failure: Failure) -> bool:
    """Whether the answer says that the value is known already, or that the field is not: then no data are wrong."""
    return failure.http_code == "409" or any(
        _NOT_WRONG.search(text) for text in islice(answers(failure), _MOST_ANSWERS)
    )


def _made_from(failure: Failure, read: list[Reference]) -> str:
    """What the expression for a field read, where it read several values."""
    if failure.item_index is None and len(failure.places) > 1:
        return ""
    found = [(one, one.field) for one in read[:_MOST_SHOWN]]
    held = [(one, field, list(failure.values(field))) for one, field in found]
    # Of a list of which a method is called nothing stands in the request as it is.
    values = [(field, *each[0]) for one, field, each in held if len(each) == 1 and _is_told(one, each[0][1])]
    told = [
        f"{one.written}, which is {shown_value(value)}, from '{failure.trace(one, place, '').node}'"
        for one, place, value in values
    ]
    return f", made from {' and '.join(told)}" if told else ""


def is_whole(written: str) -> bool:
    """Whether what is sent is one field as it is."""
    return only_reference(f"={{{{{written}}}}}") is not None or only_reference(written) is not None


def _is_told(reference: Reference, value: Any) -> bool:
    return not reference.called or (isinstance(value, (str, int, float)) and not isinstance(value, bool))


def _several(failure: Failure, names: list[str], words: str) -> Cause | None:
    """Some fields that the answer names, as they were sent."""
    values = {name: value for name in names if not is_absent(value := sent_value(failure, name))}
    if not 1 < len(names) <= _MOST_SHOWN or len(values) != len(names):
        return None
    told = " and ".join(f"{name} as {shown_value(value)}" for name, value in values.items())
    return Cause(node=failure.node, problem=f"it sends {told}, and the service complains about them: {words}")


def _traced(failure: Failure, name: str, reference: Reference, tail: str) -> Cause | None:
    """Who made what the expression for this field read. Only the item that failed can tell."""
    if failure.item_index is None and len(failure.places) > 1:
        return None
    sources = list(failure.values(reference))
    if len(sources) != 1:
        return None
    place, value = sources[0]
    if (beyond := _beyond_list(failure, reference, place, tail)) is not None:
        return beyond
    if failure.missing(reference) or (not reference.called and (is_absent(value) or value is None)):
        cause = failure.trace_gap(reference, place)
        made = f"; {name} is made from {reference.written}" if name != reference.written else ""
        return cause.with_problem(f"{cause.problem}{made}, {tail}")
    if reference.called or isinstance(value, (Mapping, list)):
        return None
    return failure.trace(reference, place, f"which is sent as {name}, {tail}")


def _made_empty(failure: Failure, reference: Reference, tail: str) -> Cause | None:
    """Who made the empty list from which the field was made, if that is not how it came in."""
    field = reference.field
    found = list(failure.values(field)) if failure.item_index is not None or len(failure.places) == 1 else []
    if len(found) != 1 or found[0][1] != []:
        return None
    cause = failure.trace(field, found[0][0], f"an empty list; {tail}")
    return cause if cause.place is not None and failure.scene.parents(cause.place) else None


def _beyond_list(failure: Failure, reference: Reference, place: Place, tail: str) -> Cause | None:
    """An element that a list does not have."""
    listed = failure.scene.value(place, reference.names[:-1])
    if not isinstance(listed, list) or not reference.names[-1].isdecimal() or int(reference.names[-1]) < len(listed):
        return None
    field = ".".join(reference.names[:-1])
    problem = f"it reads index {reference.names[-1]} of {field}, a list of {len(listed)}, {tail}"
    return Cause(node=failure.node, problem=problem, place=place, walk=(place,))


def _named(failure: Failure) -> tuple[list[str], bool]:
    """The fields that the answer names as the ones that it does not take, and whether it does so in data."""
    told = [told_by(text) for text in islice(answers(failure), _MOST_ANSWERS)]
    sure = dict.fromkeys(name for one in told for name in islice(_in_data(one), _MOST_NAMES))
    said = dict.fromkeys(
        name for one in told for text in islice(sentences(one), _MOST_ANSWERS) for name in _in_words(text)
    )
    return list(sure or said)[:_MOST_NAMES], bool(sure)


def _in_data(told: Any, inside: bool = False, depth: int = 0) -> Iterator[str]:
    """Names in a structured answer: `{errors: {name: [...]}}`, or `[{field: name}]`."""
    if isinstance(told, list):
        for one in told[:20] if depth < DEEPEST else ():
            yield from _in_data(one, False, depth + 1)
    elif isinstance(told, Mapping):
        for key in _NAMES_FIELD:
            held = told.get(key)
            last = held[-1] if isinstance(held, list) and held else held
            # The path of an answer may be that of the address.
            if isinstance(last, str) and last and not (key == "path" and last.startswith("/")):
                yield last.strip("/").replace("/", ".").rpartition(".")[2]
                return
        for key, value in list(told.items())[:20] if depth < DEEPEST else ():
            if inside and isinstance(value, (str, list)) and key not in WORDS_ONLY:
                yield str(key)
            else:
                yield from _in_data(value, str(key) in _HOLDS_ERRORS, depth + 1)


def _in_words(text: str) -> Iterator[str]:
    yield from (match[1] or match[2] for match in _NAMED.finditer(text))


def _written(failure: Failure, name: str) -> str | None:
    """The expression from which the request makes this field; None if there is none, or more than one."""
    found = [
        value for group in ("bodyParameters", "queryParameters") for key, value in rows(failure, group) if key == name
    ]
    for setting in ("jsonBody", "jsonQuery", "body"):
        text = failure.settings.get(setting)
        if isinstance(text, str) and len(text) <= _LONGEST_WRITTEN:
            found += islice((value for key, value in written_in(text) if key == name), 2)
    if not found and sends_item(failure) and name in keys_of(failure.scene.json(failure.places[0])):
        return f"$json[{json.dumps(name, ensure_ascii=False)}]"
    return found[0] if len(found) == 1 else None


def sends_item(failure: Failure) -> bool:
    """Whether the body is the item itself, and not made of some of its fields."""
    whole = any("$json" in text and "$json." not in text for text in texts(failure.settings.get("jsonBody")))
    return whole and bool(failure.places)


def keys_of(data: Any) -> list[str]:
    return [str(key) for key in data] if isinstance(data, Mapping) else []


def written_in(text: str) -> Iterator[tuple[str, str]]:
    """The names of an object that is written as JSON or as JavaScript, and what stands behind each."""
    for match in islice(_KEY.finditer(text[:_LONGEST_WRITTEN]), _MOST_KEYS):
        yield match[1] or match[2], text[match.end() : value_end(text, match.end())]


def rows(failure: Failure, group: str) -> Iterator[tuple[str, str]]:
    """Names and values of a table of parameters; those of the query may also stand in the address."""
    url = failure.settings.get("url") if group == "queryParameters" else None
    for match in _IN_ADDRESS.finditer(url[:_LONGEST_ADDRESS]) if isinstance(url, str) else ():
        yield match[1], f"={match[2]}"
    holder = failure.settings.get(group)
    listed = holder.get("parameters") if isinstance(holder, Mapping) else None
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, Mapping) and isinstance(row.get("value"), str):
            yield str(row.get("name")), row["value"]


def sent_value(failure: Failure, name: str) -> Any:
    """The value that the request had under this name."""
    found = list(_under(sent_body(failure), name))
    return found[0] if len(found) == 1 else ABSENT


def sent_body(failure: Failure) -> Any:
    """The body of the request, as data where it was JSON or a form."""
    request = failure.context.get("request")
    if not isinstance(request, Mapping):
        return None
    return request["form"] if isinstance(request.get("form"), Mapping) else decoded(request.get("body"))


def _under(data: Any, name: str, depth: int = 0) -> Iterator[Any]:
    for key, value in list(data.items())[:200] if isinstance(data, Mapping) else ():
        if key == name:
            yield value
        elif depth < DEEPEST:
            yield from _under(value, name, depth + 1)
