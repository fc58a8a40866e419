"""Write a request as its description says: styles of parameters, and bodies as JSON, form or multipart."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dogubako.contract.errors import ValidationError
from dogubako.openapi.definitions import RequestPlan, SentArgument
from dogubako.outbound.http import segment

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_DELIMITERS: Final = {"form": ",", "simple": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that goes into a body."""

    name: str
    content: bytes


@dataclass(kw_only=True)
class Request:
    """A request without its server and its credentials."""

    method: str
    path: str
    query: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)
    content: bytes | None = None


def write_request(plan: RequestPlan, arguments: Mapping[str, Any], files: Mapping[str, File]) -> Request:
    """The request for these arguments. `files` has the content of those that name files."""
    request = Request(method=plan.method.upper(), path=plan.path)
    fields: dict[str, Any] = {}
    body: Any = None
    for name, sent in plan.arguments.items():
        value = arguments.get(name, sent.fixed)
        if value is None and name not in arguments:
            continue
        if sent.is_file and name in files:
            value = files[name]
        if sent.place == "field":
            fields[sent.name] = value
        elif sent.place == "body":
            body = value
        else:
            _place(request, name, sent, value)
    if plan.body:
        _write_body(
            request, plan, fields if fields or body is None else body, has_body=body is not None or bool(fields)
        )
    return request


def _place(request: Request, name: str, sent: SentArgument, value: Any) -> None:
    if sent.place == "path":
        written = _in_path(sent, value)
        if not written:
            raise ValidationError.of(name, f"Invalid value for parameter {name}: must not be empty")
        request.path = request.path.replace(f"{{{sent.name}}}", written)
    elif sent.place == "query":
        request.query += _in_query(sent, value)
    elif sent.place == "header":
        request.headers[sent.name] = _header(name, _joined(sent, value))
    else:
        request.cookies += [f"{key}={text}" for key, text in _pairs(sent, value)]


def _in_path(sent: SentArgument, value: Any) -> str:
    if sent.is_json:
        return segment(_json(value))
    if sent.style == "matrix":
        if sent.explode and isinstance(value, dict):
            return "".join(f";{_encoded(key)}={_encoded(one)}" for key, one in value.items())
        if sent.explode and isinstance(value, list):
            return "".join(f";{sent.name}={_encoded(one)}" for one in value)
        return f";{sent.name}={_list(sent, value)}"
    if sent.style == "label":
        separator = "." if sent.explode else ","
        return "." + separator.join(_items(sent, value))
    if isinstance(value, list | dict):
        return _list(sent, value)
    # A dot alone would change the path.
    return segment(_text(value))


def _in_query(sent: SentArgument, value: Any) -> list[str]:
    name = _encoded(sent.name)
    if sent.is_json:
        return [f"{name}={_encoded(_json(value))}"]
    if sent.style == "deepObject" and isinstance(value, dict):
        return _deep(sent.name, value)
    return [f"{key}={text}" for key, text in _pairs(sent, value)]


def _deep(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [part for key, one in value.items() for part in _deep(f"{name}[{key}]", one)]
    if isinstance(value, list):
        return [part for one in value for part in _deep(f"{name}[]" if isinstance(one, dict) else name, one)]
    return [f"{_encoded(name)}={_encoded(value)}"]


def _pairs(sent: SentArgument, value: Any) -> list[tuple[str, str]]:
    """The names and values of the styles `form`, `spaceDelimited` and `pipeDelimited`."""
    name = _encoded(sent.name)
    if sent.explode and isinstance(value, list):
        return [(name, _value(sent, one)) for one in value]
    if sent.explode and isinstance(value, dict):
        return [(_encoded(key), _value(sent, one)) for key, one in value.items()]
    return [(name, _list(sent, value))]


def _list(sent: SentArgument, value: Any) -> str:
    return _DELIMITERS.get(sent.style, ",").join(_items(sent, value))


def _items(sent: SentArgument, value: Any) -> list[str]:
    if isinstance(value, dict):
        if sent.explode:
            return [f"{_encoded(key)}={_value(sent, one)}" for key, one in value.items()]
        return [text for key, one in value.items() for text in (_encoded(key), _value(sent, one))]
    return [_value(sent, one) for one in value] if isinstance(value, list) else [_value(sent, value)]


def _joined(sent: SentArgument, value: Any) -> str:
    """A value in a header, which is not percent-encoded."""
    if sent.is_json:
        return _json(value)
    if isinstance(value, dict):
        join = "=" if sent.explode else ","
        return ",".join(f"{key}{join}{_text(one)}" for key, one in value.items())
    return ",".join(_text(one) for one in value) if isinstance(value, list) else _text(value)


def _header(name: str, text: str) -> str:
    if any(not " " <= character <= "~" for character in text):
        raise ValidationError.of(name, f"Invalid value for parameter {name}: a header holds plain characters only")
    return text


def _value(sent: SentArgument, value: Any) -> str:
    return quote(_text(value), safe=_RESERVED if sent.allow_reserved else "")


def _encoded(value: Any) -> str:
    return quote(_text(value), safe="")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value if isinstance(value, str) else _json(value) if isinstance(value, dict | list) else str(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _write_body(request: Request, plan: RequestPlan, value: Any, *, has_body: bool) -> None:
    if not has_body:
        return
    request.headers["Content-Type"] = plan.media_type if plan.media_type != "*/*" else "application/json"
    if plan.body == "json":
        request.content = msgspec.json.encode(value)
    elif plan.body == "form":
        pairs = [
            pair for name, one in _fields(value).items() for pair in _pairs(SentArgument(name=name, place="field"), one)
        ]
        request.content = "&".join(f"{key}={text}" for key, text in pairs).encode()
    elif plan.body == "multipart":
        boundary = secrets.token_hex(16)
        request.headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
        request.content = _multipart(_fields(value), boundary)
    elif isinstance(value, File):
        request.content = value.content
    else:
        request.content = _text(value).encode()


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _multipart(fields: Mapping[str, Any], boundary: str) -> bytes:
    parts: list[bytes] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            parts.append(_part(name, one, boundary))
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def _part(name: str, value: Any, boundary: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
    if isinstance(value, File):
        head += f'; filename="{_quoted(value.name)}"\r\nContent-Type: application/octet-stream'
        return head.encode() + b"\r\n\r\n" + value.content + b"\r\n"
    kind = "\r\nContent-Type: application/json" if isinstance(value, dict | list) else ""
    return f"{head}{kind}\r\n\r\n".encode() + _text(value).encode() + b"\r\n"


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
