"""The request that starts a workflow from outside: what a caller, a form's page or a chat would send."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec

from dogubako.contract.errors import ValidationError
from dogubako.packs.n8n.call_headers import header, joined
from dogubako.packs.n8n.form_fields import FormField, fields_of, given_values
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.triggers import Call, Trigger, TriggerRequest

WITHOUT_BODY: Final = ("GET", "HEAD")
_JSON: Final = "application/json"
# Pages have one address and one method.
_TAKEN_BY_PAGES: Final = ("data", "query", "headers")
_FORM_ADDRESSES_SINCE: Final = 2
_BOUNDARY: Final = re.compile(r"(?i)boundary=\"?([0-9a-z'()+_,./:=?-]{1,70})")
_ENDING: Final = re.compile(r"\.[a-z0-9]{1,10}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part of a multipart body: a text, or a file with this text."""

    name: str
    text: str
    filename: str | None = None

    def head(self) -> str:
        named = f'Content-Disposition: form-data; name="{_quoted(self.name)}"'
        if self.filename is None:
            return named
        kind = guess_type(self.filename)[0] or "text/plain"
        return f'{named}; filename="{_quoted(self.filename)}"\r\nContent-Type: {kind}'


def request_for(trigger: Trigger, call: Call) -> TriggerRequest:
    """The request to the trigger's production address, or a ValidationError that says what is missing."""
    match trigger.kind:
        case "form":
            check_taken(trigger, call, _TAKEN_BY_PAGES)
            return _form_request(trigger, call)
        case "chat":
            check_taken(trigger, call, _TAKEN_BY_PAGES)
            return _chat_request(trigger, call)
        case _:
            return webhook_request(trigger, call, webhook_path(trigger, call.path_parameters))


def check_taken(trigger: Trigger, call: Call, taken: Collection[str], when: str = "", hint: str | None = None) -> None:
    """Refuse what the trigger cannot be given: nothing is dropped without a word."""
    if (surplus := next((name for name in call.given if name not in taken), None)) is not None:
        takes = f"takes only {', '.join(taken)}" if taken else "takes nothing"
        told = f"the {trigger.kind} trigger '{trigger.name[:100]}' {takes} {when}".rstrip()
        raise ValidationError.of(surplus, f"Invalid value for parameter {surplus}: {told}", hint=hint)


def webhook_request(trigger: Trigger, call: Call, path: str) -> TriggerRequest:
    """The request to a webhook at this path."""
    method = _method(trigger, call)
    twice = [one for one in call.data if one in call.query] if method in WITHOUT_BODY else []
    if twice:
        told = f"a {method} sends it as the query, which has {twice[0][:100]} already"
        message = f"Invalid value for parameter data: {told}"
        raise ValidationError.of("data", message)
    if method in WITHOUT_BODY:
        query = {**as_query(call.data), **as_query(call.query)}
        return TriggerRequest(method=method, path=path, query=query, headers=dict(call.headers))
    content, kind = _body(call.data, header(call.headers, "Content-Type") or _JSON)
    headers = {name: kind if name.lower() == "content-type" else value for name, value in call.headers.items()}
    headers = joined(headers, {"Content-Type": kind})
    return TriggerRequest(method=method, path=path, query=as_query(call.query), content=content, headers=headers)


def _body(data: Mapping[str, Any], kind: str) -> tuple[bytes, str]:
    """The body in the form that its type says, and the type, with the boundary that it may need."""
    match kind.partition(";")[0].strip().lower():
        case "application/x-www-form-urlencoded":
            return urlencode(as_query(data), doseq=True).encode(), kind
        case "multipart/form-data":
            given = _BOUNDARY.search(kind)
            boundary = given[1] if given else uuid4().hex
            texts = as_query(data).items()
            parts = [Part(name=name, text=one) for name, some in texts for one in _several(some)]
            return multipart(boundary, parts), kind if given else f"multipart/form-data; boundary={boundary}"
        case _:
            return msgspec.json.encode(dict(data)), kind


def methods_of(trigger: Trigger) -> list[str]:
    """The methods that a webhook takes. Each has an output of its own."""
    written, several = trigger.parameters.get("httpMethod"), trigger.parameters.get("multipleMethods")
    if isinstance(written, list):
        return [str(one) for one in written] or ["GET"]
    return ["GET", "POST"] if several and not written else [str(written or "GET")]


def _method(trigger: Trigger, call: Call) -> str:
    """The wanted one; of several without a wish, the only one with a body if there are data for it."""
    methods = methods_of(trigger)
    listed = ", ".join(methods)
    if call.method is not None:
        if call.method not in methods:
            raise ValidationError.of("method", f"Invalid value for parameter method: it may be {listed}")
        return call.method
    with_body = [one for one in methods if one not in WITHOUT_BODY]
    fitting = with_body if call.data and len(with_body) == 1 else methods
    if len(fitting) > 1:
        raise ValidationError.of("method", f"Required parameter missing: method. The webhook takes {listed}")
    return fitting[0]


def webhook_path(trigger: Trigger, given: Mapping[str, str]) -> str:
    """The path with the values of its `:parameters`."""
    if is_expression(trigger.parameters.get("path")):
        message = f"Invalid value for parameter trigger: the path of '{trigger.name[:100]}' is an expression"
        raise ValidationError.of("trigger", f"{message}, and only n8n knows what it is. Give it a fixed path")
    parts = webhook_address(trigger).split("/")
    names = [part[1:] for part in parts if part.startswith(":")]
    missing, unknown = [one for one in names if one not in given], [one for one in given if one not in names]
    if missing or unknown:
        surplus = f"; it has no {', '.join(one[:100] for one in unknown)}" if unknown else ""
        wanted = f"the path needs {', '.join(names)}{surplus}" if names else "the path has no parameters"
        raise ValidationError.of("pathParameters", f"Invalid value for parameter pathParameters: {wanted}")
    if any("/" in one or one in ("", ".", "..") for one in given.values()):
        # n8n decodes the path before it splits it, and dots lead to the address of another workflow.
        message = "Invalid value for parameter pathParameters: no value may be empty, have a slash, or be . or .."
        raise ValidationError.of("pathParameters", message)
    filled = [quote(given[part[1:]] if part.startswith(":") else part, safe="") for part in parts]
    return "/webhook/" + "/".join(filled)


def webhook_address(trigger: Trigger) -> str:
    """The path with the names of its `:parameters`. n8n puts the webhook's id before a path that has some."""
    webhook_id = str(trigger.node.get("webhookId") or "")
    path = str(trigger.parameters.get("path") or webhook_id).strip("/")
    return f"{webhook_id}/{path}" if any(part.startswith(":") for part in path.split("/")) else path


def _form_request(trigger: Trigger, call: Call) -> TriggerRequest:
    """What the form's page sends: every field by its number. Callers name fields by label or name."""
    query = as_query(call.query)
    parts: list[Part] = []
    shown: dict[str, Any] = {}
    for field, sent, is_given in filled_fields(trigger, call):
        parts += _form_parts(field, sent)
        if is_given and field.kind not in ("file", "html"):
            shown[field.identifier] = field.shown(sent)
    if header(call.headers, "Content-Type") is not None:
        message = "Invalid value for parameter headers: a form has a Content-Type of its own. Leave it out"
        raise ValidationError.of("headers", message)
    boundary = uuid4().hex
    headers = {**call.headers, "Content-Type": f"multipart/form-data; boundary={boundary}"}
    content, place = multipart(boundary, parts), _form_path(trigger)
    return TriggerRequest(method="POST", path=place, query=query, content=content, headers=headers, shown=shown)


def filled_fields(trigger: Trigger, call: Call) -> Iterator[tuple[FormField, str | list[str], bool]]:
    """Every field of a form, with what its page would send, and whether the caller gave it."""
    fields = fields_of(trigger.parameters, trigger.version)
    given = given_values(fields, call.data)
    asked = {name: ",".join(_several(one)) for name, one in as_query(call.query).items()}
    for field in fields:
        is_given = field.number in given
        sent = field.filled(given[field.number]) if is_given else field.untouched(asked)
        field.check_required(sent)
        yield field, sent, is_given


def _form_path(trigger: Trigger) -> str:
    """The form's address; in the first version of the node it was that of a webhook."""
    path = str(trigger.parameters.get("path") or "").strip("/")
    if trigger.version < _FORM_ADDRESSES_SINCE:
        return f"/webhook/{quote(path, safe='/')}/n8n-form"
    options = trigger.parameters.get("options")
    own = options.get("path") if isinstance(options, Mapping) else None
    return "/form/" + quote(str(own or path or trigger.node.get("webhookId") or "").strip("/"), safe="/")


def _form_parts(field: FormField, sent: str | list[str]) -> list[Part]:
    if field.kind != "file":
        return [Part(name=field.key, text=sent if isinstance(sent, str) else msgspec.json.encode(sent).decode())]
    accepted = str(field.row.get("acceptFileTypes") or "").split(",")[0].strip()
    ending = accepted if _ENDING.fullmatch(accepted) else ".txt"
    return [Part(name=field.key, text=one, filename=f"file{ending}") for one in sent]


def _chat_request(trigger: Trigger, call: Call) -> TriggerRequest:
    if trigger.is_private_chat:
        message = f"Invalid value for parameter trigger: the chat of '{trigger.name[:100]}' is not public"
        hint = "Set its parameter public, and publish it; or let an operator set N8N_MCP_TOKEN, then any chat runs."
        raise ValidationError.of("trigger", message, hint=hint)
    body = chat_body(call)
    path = f"/webhook/{quote(str(trigger.node.get('webhookId') or ''), safe='')}/chat"
    shown = {name: body[name] for name in ("sessionId", "chatInput")}
    unique = "sessionId" not in call.data
    headers = joined(call.headers, {"Content-Type": _JSON})
    content, query = msgspec.json.encode(body), as_query(call.query)
    return TriggerRequest(
        method="POST", path=path, query=query, content=content, headers=headers, shown=shown, unique=unique
    )


def chat_body(call: Call) -> dict[str, Any]:
    """A message as the page of a chat sends it."""
    if not isinstance(call.data.get("chatInput"), str):
        raise ValidationError.of("data", "Invalid value for parameter data: a chat needs chatInput, a text")
    return {"action": "sendMessage", "sessionId": uuid4().hex, **call.data}


def as_query(data: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Values of a query are texts. A list repeats its name, null leaves it out, and an object is written as JSON."""
    return {
        name: [_as_text(part) for part in one if part is not None] if isinstance(one, list) else _as_text(one)
        for name, one in data.items()
        if one is not None
    }


def _several(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def multipart(boundary: str, parts: Sequence[Part]) -> bytes:
    written = "".join(f"--{boundary}\r\n{one.head()}\r\n\r\n{one.text}\r\n" for one in parts)
    return f"{written}--{boundary}--\r\n".encode()


def _quoted(name: str) -> str:
    """As browsers write it."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
