"""Check JSON that a person wrote into a node as a text. With an expression in it, only n8n can tell.

The nodes for requests, answers and errors take JSON only. The Set node also takes an object of JavaScript: `{a: 1}`,
`{'a': 1,}`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.javascript import read
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted

JsonObject = Mapping[str, Any]

_SET: Final = "n8n-nodes-base.set"
_STOP: Final = "n8n-nodes-base.stopAndError"
_ANSWER: Final = "n8n-nodes-base.respondToWebhook"
# Parameters that hold JSON as a text, and the other parameters by which n8n reads them.
_OF_REQUESTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "jsonBody": {"sendBody": True, "specifyBody": "json"},
    "jsonHeaders": {"sendHeaders": True, "specifyHeaders": "json"},
    "jsonQuery": {"sendQuery": True, "specifyQuery": "json"},
}
_OF_SET: Final[Mapping[str, Mapping[str, Any]]] = {"jsonOutput": {"mode": "raw"}}
_KNOWN: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    _SET: _OF_SET,
    "n8n-nodes-base.httpRequest": _OF_REQUESTS,
    "n8n-nodes-base.httpRequestTool": _OF_REQUESTS,
    _ANSWER: {"responseBody": {"respondWith": "json"}},
    _STOP: {"errorObject": {"errorType": "errorObject"}},
}
_THEN: Final[Mapping[str, str]] = {
    _SET: "does not publish it",
    _STOP: "says this in place of the error",
}
_COMMENTS: Final = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_NO_VALUE: Final = re.compile(r":\s*+[},\]]")
# Behind these words, a `:` needs no value.
_CASES: Final = re.compile(r"\b(?:case|default)\b")


def check_written_json(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    for node in nodes:
        parameters, kind = parameters_of(node), str(node.get("type"))
        for name, chosen in _KNOWN.get(kind, {}).items():
            text = parameters.get(name)
            meant = all(parameters.get(key) == value for key, value in chosen.items())
            if not isinstance(text, str) or not meant or is_expression(text) or (kind == _ANSWER and not text):
                continue
            fault = _no_object(text) if kind == _SET else _no_json(text)
            if fault is not None:
                then = _THEN.get(kind, "fails when it runs the node")
                message = f"{quoted(name)} {fault}: n8n saves it, and {then}."
                yield Problem(kind="brokenJson", node=str(node.get("name")), path=name, message=message, certain=False)


def _no_json(text: str) -> str | None:
    if not text.strip():
        return "is empty, and JSON has to be there"
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return f"is no JSON ({str(error)[:100]})"
    return None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _no_object(text: str) -> str | None:
    """Why a text is no object, as far as that is sure: n8n reads it as JSON, and then as JavaScript."""
    try:
        is_object = isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        begin = _COMMENTS.match(text)
        is_object = text[begin.end() if begin else 0 :].startswith(("{", "("))
        fault = _fault(text) if is_object else None
        if fault is not None:
            return f"is no object ({fault})"
    return None if is_object else 'is no object, such as {"a": 1}'


def _fault(text: str) -> str | None:
    script = read(f"({text}\n)", expression=True)
    if script.fault is None and _NO_VALUE.search(script.code) and not _CASES.search(script.code):
        return "':' with no value behind it"
    return script.fault or ("something follows behind its end" if _more_follows(text) else None)


def _more_follows(text: str) -> bool:
    try:
        found, end = json.JSONDecoder().raw_decode(text.strip())
    except (ValueError, RecursionError):
        return False
    left = text.strip()[end:]
    comments = _COMMENTS.match(left)
    return isinstance(found, dict) and comments is not None and comments.end() < len(left)
