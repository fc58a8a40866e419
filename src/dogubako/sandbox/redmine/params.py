"""Query strings and bodies as Rails reads them: `a[]=1&a[]=2` is a list, `a[b]=1` an object."""

import json
from typing import Any
from urllib.parse import parse_qsl

from dogubako.sandbox.redmine.asking import BrokenError


def query_params(query: str) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        head, *rest = name.replace("]", "").split("[")
        _put(params, [head, *rest], value)
    return params


def _put(place: dict[str, Any], names: list[str], value: str) -> None:
    head, *rest = names
    if not rest:
        place[head] = value
    elif rest == [""]:
        many = place.setdefault(head, [])
        # `a=1&a[]=2` contradicts itself.
        if not isinstance(many, list):
            raise BrokenError(400)
        many.append(value)
    else:
        inner = place.setdefault(head, {})
        if not isinstance(inner, dict):
            raise BrokenError(400)
        _put(inner, rest, value)


def body_params(raw: bytes, content_type: str) -> dict[str, Any]:
    """A body that is no JSON object is not read at all, unless it says that it is one and cannot be parsed."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return query_params(raw.decode("utf-8", "replace"))
    if kind != "application/json" or not raw.strip():
        return {}
    try:
        body = json.loads(raw.decode())
    except ValueError as error:
        raise BrokenError(400) from error
    return body if isinstance(body, dict) else {"_json": body}
