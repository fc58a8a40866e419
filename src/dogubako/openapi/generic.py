"""The generic tool of a service, `NAME_request`: any request, also one that the description does not have."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from dogubako.contract.errors import ValidationError
from dogubako.openapi.definitions import (
    FIELDS,
    FIELDS_SCHEMA,
    REQUEST,
    RequestPlan,
    SentArgument,
    annotations_of,
    tokens_from,
)
from dogubako.openapi.operations import METHODS
from dogubako.openapi.request import Request, write_request

_KEPT_IN_A_PATH: Final = "/%:@!$&'()*+,;=~"
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_READS: Final = ("get", "head")


def generic_definition(
    name: str,
    base: str,
    *,
    methods: Sequence[str] = (),
    paths: Sequence[str] = (),
    read_only: bool = False,
    security: Sequence[tuple[str, ...]] = (),
    tokens: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The definition of the tool. The settings limit its methods and its paths, as they do for operations."""
    wanted = [one.lower() for one in methods] or METHODS
    allowed = [one for one in METHODS if one in wanted and (one in _READS or not read_only)]
    only_below = f" Only paths like {', '.join(paths)}." if paths else ""
    deletes = ["delete"] if "delete" in allowed else []
    properties: dict[str, Any] = {
        "method": {"type": "string", "enum": [one.upper() for one in allowed], "description": "The HTTP method."},
        "path": {"type": "string", "pattern": "^/", "description": f"The path below the address.{only_below}"},
        "query": {"type": "object", "description": "Parameters of the query; a list repeats its name."},
        "body": {"description": "The body, which is sent as JSON."},
        FIELDS: FIELDS_SCHEMA,
    }
    if deletes:
        properties["confirm"] = {"type": "boolean", "description": "Set true to confirm a DELETE."}
    plan = RequestPlan(
        method="", path="", arguments={}, base=base, generic=True, security=tuple(security), paths=tuple(paths)
    )
    return {
        "name": name,
        "description": "Send any request to this service, for what no other tool of it does.\n"
        f"ANY {base}/{{path}}{tokens_from(security, tokens or {})}",
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": ["method", "path"],
            "additionalProperties": False,
        },
        # Each call has the effect of its method; this is for lists.
        "annotations": annotations_of("get" if read_only else "delete"),
        "_meta": {REQUEST: msgspec.to_builtins(plan)},
    }


def hints_by_method() -> tuple[str, Mapping[str, Mapping[str, bool]]]:
    """The argument that decides what a call changes, and the annotations for each of its values."""
    return "method", {one.upper(): annotations_of(one) for one in METHODS}


def generic_request(plan: RequestPlan, arguments: Mapping[str, Any]) -> tuple[RequestPlan, Request]:
    """The plan of exactly this call, and its request without credentials."""
    query = arguments.get("query", {})
    own = msgspec.structs.replace(
        plan,
        method=arguments["method"].lower(),
        path=_path(arguments["path"], plan.paths),
        arguments={name: SentArgument(name=name, place="query") for name in query},
    )
    request = write_request(own, query, {})
    if "body" in arguments:
        request.headers["Content-Type"] = "application/json"
        request.content = msgspec.json.encode(arguments["body"])
    return own, request


def _path(written: str, patterns: Sequence[str]) -> str:
    """The path as it is sent. It stays below the address of the service."""
    if "?" in written or "#" in written:
        raise ValidationError.of("path", "Invalid value for parameter path: parameters belong into query")
    if _BROKEN_ESCAPE.search(written) or any(ord(one) < 32 or one == "\\" for one in unquote(written)):
        raise ValidationError.of("path", "Invalid value for parameter path: it is no path of a URL")
    if {".", ".."} & set(unquote(written).split("/")):
        raise ValidationError.of("path", "Invalid value for parameter path: it must not have . or .. in it")
    if patterns and not any(fnmatchcase(unquote(written), one) for one in patterns):
        raise ValidationError.of("path", "Invalid value for parameter path: the settings do not allow this one")
    return quote(written, safe=_KEPT_IN_A_PATH)
