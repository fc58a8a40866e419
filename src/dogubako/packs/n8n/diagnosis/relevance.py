"""Whether a failure may come of what is odd in the nodes before it, or has nothing to do with that."""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final
from urllib.parse import unquote

from dogubako.packs.n8n.diagnosis.complaints import sent_body
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.references import references
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.diagnosis.service_answers import answers
from dogubako.packs.n8n.diagnosis.text_rules import BROKEN

# The service is too busy, or not there.
_NO_TIME: Final = ("429", "502", "503", "504")
_SENT: Final = ("uri", "url", "qs", "form", "body")
_ASKS: Final = ("httpRequest", "graphql")
_NOTHING: Final = "null"
_NO_NUMBER: Final = "NaN"
_LONGEST_REQUEST: Final = 20_000
_MOST_PLACES: Final = 20


def may_come_of(failure: Failure, one: Cause) -> bool:
    """Whether what failed may have failed for what is odd before it, and not only after it.

    A service without time does not look at what was sent, nor does a check look at a text that it does not read.
    """
    if failure.http_code in _NO_TIME:
        return False
    request = failure.context.get("request")
    known = request if isinstance(request, Mapping) else {}
    sent = unquote(_dumped([known[part] for part in _SENT if part in known])) if known else ""
    if one.unmeant:
        # NaN is null in JSON.
        is_used = _NOTHING in sent and _NO_NUMBER in one.problem
        is_used = is_used or any(BROKEN.search(text) for text in (sent, *_texts_read(failure)))
        return is_used and not _names_another(failure)
    if not sent:
        # Nobody was reached by a request without an answer.
        return failure.http_code is not None or failure.kind not in _ASKS
    if failure.http_code is not None and not failure.http_code.startswith("5"):
        return True
    # A service that fails itself may not bear what is missing there.
    return _NOTHING in sent or (bool(one.path) and one.path[-1] in sent)


def _texts_read(failure: Failure) -> Iterator[str]:
    """The texts that the failing node reads, and what it says."""
    yield failure.message
    places = failure.places[: 1 if failure.item_index is not None else _MOST_PLACES]
    for reference in references(failure.settings):
        for place in places if reference.names else ():
            for where in failure.scene.places_read(reference, place, failure.run)[:1]:
                yield str(failure.scene.value(where, reference.names))[:_LONGEST_REQUEST]


def _names_another(failure: Failure) -> bool:
    """Whether the service names fields of what was sent, and none with a broken text, nor the one right behind it."""
    body = sent_body(failure)
    said = " ".join(answers(failure))[:_LONGEST_REQUEST]
    held = [(str(key), _dumped(value)) for key, value in body.items()] if isinstance(body, Mapping) else []
    named = [
        (before, value) for (_, before), (key, value) in pairwise([("", ""), *held]) if key in said and len(key) > 1
    ]
    return bool(named) and not any(BROKEN.search(text) or _NOTHING in text for pair in named for text in pair)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_REQUEST]
