"""Rules for a service that refused, was too slow or not reached."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final
from unicodedata import combining

from dogubako.contract.normalization import nfkd
from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.complaints import (
    is_whole,
    keys_of,
    rows,
    sends_item,
    sent_body,
    sent_value,
    values_quoted,
    written_in,
)
from dogubako.packs.n8n.diagnosis.contrast import is_contradicted
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.format_rules import value_quoted
from dogubako.packs.n8n.diagnosis.intended_makers import set_to_nothing
from dogubako.packs.n8n.diagnosis.lineage import lineage, maker_of
from dogubako.packs.n8n.diagnosis.number_rules import joined_texts
from dogubako.packs.n8n.diagnosis.readings import sent_by
from dogubako.packs.n8n.diagnosis.references import references, references_in, texts
from dogubako.packs.n8n.diagnosis.requests import refused_request
from dogubako.packs.n8n.diagnosis.scene import Cause, conditions_of
from dogubako.packs.n8n.diagnosis.service_answers import LONGEST_ANSWER, answers, quoted_in, told_by
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.spelling import is_slip
from dogubako.packs.n8n.diagnosis.trace import built_from_hole, trace_missing, trace_value
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

# ERR_… are mistakes of a program, but for this one.
_NETWORK = re.compile(r"E(?!RR_)[A-Z_]+|ERR_INVALID_URL")
_BEGINS_WITH_VALUE = re.compile(r"=\s*+\{\{")
_BAD_REQUEST: Final = frozenset({"400", "404", "405", "410", "422", "ENOTFOUND", "ERR_INVALID_URL"})
# What n8n itself advises is not said by the service.
_SAYS_WHY: Final = frozenset({"400", "401", "403", "404", "409", "422", "500"})
# `=Bearer {{ $json.token }}`
_SCHEME = re.compile(r"=\s*+((?:Bearer|Basic|Token|ApiKey)\s)", re.IGNORECASE)
_MOST_SHOWN: Final = 3
_MOST_ANSWERS: Final = 20
_ADVICE_OF_N8N: Final = "batching settings under"
_LONGEST_SAID: Final = 240
_SHORTEST_VALUE: Final = 3
_LARGEST_EXACT: Final = 2**53


def service_failed(failure: Failure) -> Cause | None:
    """A service refused, was too slow or not reached. Data is to blame only if the address was made from nothing."""
    code = failure.http_code
    if "Invalid URL" in failure.message or "URL parameter must be" in failure.message:
        return _request_from_nothing(failure) or value_quoted(failure) or _no_scheme(failure)
    if code is None or not (_NETWORK.fullmatch(code) or (code.isdecimal() and 400 <= int(code) <= 599)):
        return None
    words = f"{_service_words(code, failure)}{_said(failure)}{_own_limit(failure, code)}"
    cause = (_request_from_nothing(failure) or _address_with_hole(failure)) if code in _BAD_REQUEST else None
    if cause is None and code.startswith("4"):
        cause = refused_request(failure, words)
    if cause is not None and not is_contradicted(failure, cause):
        return cause
    if (joined := _sent_joined(failure, words)) is not None:
        return joined
    return Cause(
        node=failure.node,
        problem=f"{words}{_address_made_from(failure, code) or _sent(failure)}"
        f"{_sent_twice(failure)}{_sent_here(failure)}",
    )


def _sent(failure: Failure) -> str:
    """What was sent that the answer speaks of. A service that fails itself does so for a name that it does not find."""
    tellers = (_misnamed, sent_as) if failure.http_code == "500" else (sent_as, _misnamed)
    return next((told for one in (*tellers, _unsent) if (told := one(failure))), "")


def _unsent(failure: Failure) -> str:
    """The one field of the item that the answer names, and that the body does not have."""
    body, item = sent_body(failure), failure.scene.json(failure.places[0]) if len(failure.places) == 1 else None
    if failure.http_code not in _SAYS_WHY or not isinstance(body, Mapping) or not isinstance(item, Mapping):
        return ""
    texts_said = [text[:LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS)]
    said = {word for text in texts_said for word in of_names(r"[\w$]+").findall(text)}
    names = [str(name) for name in item if name in said and name not in body]
    whose = f"which the item from '{failure.places[0].node}' has"
    return f"; it sends no {names[0]}, {whose}" if len(names) == 1 else ""


def _sent_here(failure: Failure) -> str:
    """The branch before, if it tested a field that the service names: it may have sent the item on the wrong way."""
    named = {name for name, _ in _named_in_answer(failure)} if failure.http_code in _SAYS_WHY else set()
    for place in failure.scene.walk(failure.places[0]) if named and len(failure.places) == 1 else ():
        read = [one for each in conditions_of(failure.scene.settings.get(place.node, {})) for one in references(each)]
        if told := sent_by(failure.scene, place, "this way"):
            return f"; {told}" if any(one.names[-1:] and one.names[-1] in named for one in read) else ""
    return ""


def _sent_twice(failure: Failure) -> str:
    """A value that the answer names, and that several elements of a list which was sent have in the same field."""
    body = sent_body(failure)
    said = " ".join(text[:LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS))
    for name, listed in body.items() if isinstance(body, Mapping) and failure.http_code in _SAYS_WHY else ():
        rows = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        for key in rows[0] if len(rows) > 1 else ():
            held = [one.get(key) for one in rows]
            counts = Counter(one for one in held if isinstance(one, str) and len(one) >= _SHORTEST_VALUE)
            value, count = next(iter(counts.most_common(1)), ("", 0))
            if count > 1 and count < len(rows) and value in said:
                return f"; {count} of the {len(rows)} elements of {name} have {key} {shown_value(value)}"
    return ""


def _sent_joined(failure: Failure, words: str) -> Cause | None:
    """A number that the answer names, and that `+` made of texts."""
    if failure.http_code not in _SAYS_WHY or len(failure.places) != 1:
        return None
    for name, written in _named_in_answer(failure):
        for one in references_in(written)[:1] if is_whole(written) else ():
            for place, _ in list(failure.values(one))[:1]:
                made = trace_value(failure.scene, place, one.names, "")
                joined = joined_texts(failure.scene, made.place, made.path, in_text=True) if made.place else None
                if joined is not None:
                    return joined.with_problem(f"{joined.problem}; it is sent as {name}: {words}").in_doubt()
    return None


def _named_in_answer(failure: Failure) -> list[tuple[str, str]]:
    """What is sent under names that the answer has in it, or with a value that it quotes."""
    texts_said = [text[:LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS)]
    said = {_plain(word) for text in texts_said for word in of_names(r"[\w$]+").findall(text)}
    body = sent_body(failure)
    quoted = values_quoted(failure, body) if isinstance(body, Mapping) else []
    return [one for one in _sent_fields(failure) if _plain(one[0]) in said or one[0] in quoted]


def _plain(name: str) -> str:
    """A name without case and accents: a service says échéances of the field echeances."""
    return "".join(sign for sign in nfkd(name) if not combining(sign)).casefold()


def sent_as(failure: Failure) -> str:
    """What was sent under the names that the answer has in it, and who made it; of a login only who made it."""
    unknown = len(failure.places) > 1 and failure.item_index is None
    if failure.http_code not in _SAYS_WHY or unknown or not failure.places:
        return ""
    login = failure.http_code in ("401", "403")
    found = [*(rows(failure, "headerParameters") if login else ()), *_named_in_answer(failure)]
    told = []
    for name, written in found[:_MOST_SHOWN]:
        for one in [each.field for each in references_in(written)[:1]]:
            for place, value in list(failure.values(one))[:1]:
                if is_absent(value) and not is_plain(one):
                    # What is not known to be a field is not told to be missing.
                    continue
                emptied = set_to_nothing(failure.scene, one.names, failure.scene.walk(place))
                if is_absent(value) and emptied is not None:
                    told.append(f"no {name}: {emptied.told_at('')}")
                    continue
                if is_absent(value) and is_absent(sent_value(failure, name)):
                    maker = next((each.node for each in failure.scene.walk(place)), failure.node)
                    told.append(f"no {name}, because the item from '{maker}' has no {one.written}")
                    continue
                exact = is_whole(written)
                held = _held(value) if isinstance(value, list) and len(value) > _MOST_SHOWN else shown_value(value)
                shown = f" as {held}" if exact and not login else ""
                made = f", made from {one.written}" if one.written != name else ""
                made = made if exact or login else f"{made or f', made from {name}'}, which is {_held(value)}"
                made += _scheme_twice(written, value) if login else ""
                told.append(f"{name}{shown}{made}, from '{maker_of(failure.scene, place, one.names)}'")
    return f"; it sends {' and '.join(told)}" if told else ""


def _scheme_twice(written: str, value: Any) -> str:
    """That a login has its scheme before it in the request, and in the value as well: `Bearer Bearer …`."""
    scheme = _SCHEME.match(written)
    twice = scheme is not None and isinstance(value, str) and value.casefold().startswith(scheme[1].casefold())
    return f", which begins with {scheme[1].strip()} as well, so that stands there twice" if twice and scheme else ""


def _misnamed(failure: Failure) -> str:
    """A field that was sent under another spelling of a name that the answer quotes."""
    body = sent_body(failure)
    if not isinstance(body, Mapping) or len(failure.places) != 1:
        return ""
    held = [str(key) for key in body]
    said = {word for text in islice(answers(failure), _MOST_ANSWERS) for word in quoted_in(told_by(text))}
    pairs = [(key, word) for word in sorted(said) if word not in held for key in held if is_slip(key, word)]
    if len(pairs) != 1:
        return ""
    (key, word), place = pairs[0], failure.places[0]
    maker = f", from '{maker_of(failure.scene, place, (key,))}'" if sends_item(failure) else ""
    return f"; it sends {key}{maker}, and no {word}"


def _held(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else shown_value(value)


def _sent_fields(failure: Failure) -> Iterator[tuple[str, str]]:
    """The fields of the body and the query, with the expressions that they are made from."""
    for group in ("bodyParameters", "queryParameters"):
        yield from rows(failure, group)
    for text in texts(failure.settings.get("jsonBody")):
        yield from written_in(text)
    if sends_item(failure):
        yield from (
            (name, f"$json[{json.dumps(name, ensure_ascii=False)}]")
            for name in keys_of(failure.scene.json(failure.places[0]))
        )


def _own_limit(failure: Failure, code: str) -> str:
    """The time that the node itself gives to the service."""
    options = failure.settings.get("options")
    limit = options.get("timeout") if isinstance(options, Mapping) and code in ("ECONNABORTED", "ETIMEDOUT") else None
    return f"; its own option timeout allows {limit} ms" if isinstance(limit, (int, float)) else ""


def _said(failure: Failure) -> str:
    """The service's own words, where n8n gives them beside its own."""
    told = failure.raw.get("description")
    if isinstance(told, str) and _ADVICE_OF_N8N in told:
        told = next((one for one in texts(failure.raw.get("messages")) if one != told), None)
    worth = isinstance(told, str) and told not in failure.message and "<" not in told and not told.endswith("Error")
    said = told_by(str(told)) if worth else ""
    whole = next(
        (one for one in map(told_by, texts(failure.raw.get("messages"))) if isinstance(one, (dict, list))), None
    )
    if isinstance(said, str) and (" " not in said.strip() or (isinstance(whole, dict) and len(whole) > 1)):
        # A code, or one sentence of several.
        said = whole or said
    shown = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return f' and says "{shortened(shown, _LONGEST_SAID)}"' if shown.strip() else ""


def _address_made_from(failure: Failure, code: str) -> str:
    """The fields that the address was made from, where a service or host was not found there."""
    url = failure.settings.get("url")
    if (code.isdecimal() and code not in ("404", "410")) or not isinstance(url, str):
        return ""
    told = []
    for reference in references_in(url):
        # The last step of a call is a method.
        names = reference.names[:-1] if reference.called else reference.names
        for place in failure.read(reference)[:1]:
            value = failure.scene.value(place, names)
            if isinstance(value, (str, int, float)):
                large = str(value).isdecimal() and int(value) >= _LARGEST_EXACT
                exact = ", too large to be exact where it was read as a number" if large else ""
                made = lineage(failure.scene, place, names)
                told.append(f"{'.'.join(names)}, which is {shown_value(value)}{exact}, {made}")
            elif isinstance(value, list):
                made = lineage(failure.scene, place, names)
                told.append(f"{'.'.join(names)}, a list of {len(value)}, {made}")
            elif is_absent(value) and is_plain(replace(reference, called=False, path=reference.path[: len(names)])):
                told.append(f"{'.'.join(names)}, which is not there; the {failure.scene.item_told(place)}")
    return f"; the address is made from {' and '.join(told[:3])}" if told else ""


def _service_words(code: str, failure: Failure | None = None) -> str:
    if code == "404" and failure is not None and sent_body(failure):
        # What was asked for in the body is not there; the address is.
        return "the service found nothing (HTTP 404)"
    known = {
        "401": "the service answered that the request is not authorized (HTTP 401)",
        "403": "the service does not permit this (HTTP 403)",
        "404": "the service has nothing at this address (HTTP 404)",
        "408": "the service timed out (HTTP 408)",
        "429": "the service received too many requests (rate limit, HTTP 429)",
        "ECONNREFUSED": "the service refused the connection (ECONNREFUSED)",
        "ECONNABORTED": "the request timed out or was aborted (ECONNABORTED)",
        "ETIMEDOUT": "the service did not answer in time (ETIMEDOUT)",
        "ENOTFOUND": "the host name does not exist (ENOTFOUND)",
    }
    if code in known:
        return known[code]
    if not code.isdecimal():
        return f"the service could not be reached ({code})"
    return (
        f"the service itself failed (HTTP {code})"
        if code >= "500"
        else f"the service refused the request (HTTP {code})"
    )


def _request_from_nothing(failure: Failure) -> Cause | None:
    """The address of the request has an expression that met null or nothing; what follows the ? may be optional."""
    url = failure.settings.get("url")
    if not isinstance(url, str):
        return None
    for reference in references_in(_before_query(url) if failure.http_code else url):
        for place, path in failure.missing(reference):
            cause = trace_missing(failure.scene, failure.node, reference, place, path)
            answer = f" ({_service_words(failure.http_code)})" if failure.http_code else ""
            return cause.with_problem(f"{cause.problem}, and the address of the request is made from it{answer}")
    return None


def _address_with_hole(failure: Failure) -> Cause | None:
    """The address has a value that an earlier expression built without a part that was not there."""
    url = failure.settings.get("url")
    for reference in references_in(_before_query(url)) if isinstance(url, str) else ():
        for place, value in list(failure.values(reference))[:1]:
            if isinstance(value, str) and (cause := built_from_hole(failure.scene, place, reference.names)) is not None:
                return cause.with_problem(f"{cause.problem}, and the address of the request is made from it")
    return None


def _before_query(url: str) -> str:
    """The address up to its query; a ? in an expression does not begin one."""
    depth = 0
    for place, sign in enumerate(url):
        depth += (sign == "{") - (sign == "}")
        if sign == "?" and depth == 0:
            return url[:place]
    return url


def _no_scheme(failure: Failure) -> Cause | None:
    """The address begins with a value that is no beginning of an address."""
    url = str(failure.settings.get("url"))
    first = next(iter(references_in(url)), None) if _BEGINS_WITH_VALUE.match(url) else None
    if first is None:
        return None
    for place, value in failure.values(first):
        if isinstance(value, str) and not value.startswith("http") and f": {value}" in failure.message:
            return failure.trace(first, place, "with which an address cannot begin")
    return None
