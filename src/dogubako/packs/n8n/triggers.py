"""Triggers of a workflow: which of them can be called from outside, and with which request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote
from uuid import uuid4

import msgspec

from dogubako.contract.errors import ValidationError

JsonObject = dict[str, Any]
Kind = Literal["webhook", "form", "chat", "manual", "schedule", "other"]

_KINDS: Final[Mapping[str, Kind]] = {
    "n8n-nodes-base.webhook": "webhook",
    "n8n-nodes-base.formTrigger": "form",
    "@n8n/n8n-nodes-langchain.chatTrigger": "chat",
    "n8n-nodes-base.manualTrigger": "manual",
    "n8n-nodes-base.scheduleTrigger": "schedule",
}
CALLABLE: Final = ("webhook", "form", "chat")
WITHOUT_BODY: Final = ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """A node that starts a workflow."""

    node: Mapping[str, Any]
    kind: Kind

    @property
    def name(self) -> str:
        return str(self.node.get("name"))

    @property
    def parameters(self) -> Mapping[str, Any]:
        found = self.node.get("parameters")
        return found if isinstance(found, Mapping) else {}

    @property
    def credential_names(self) -> list[str]:
        used = self.node.get("credentials")
        return [str(one.get("name")) for one in (used if isinstance(used, Mapping) else {}).values()]

    @property
    def asks_for_login(self) -> str | None:
        wanted = self.parameters.get("authentication")
        return None if wanted in (None, "none") else str(wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a caller wants to send."""

    data: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    method: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerRequest:
    """The request that starts a published workflow."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # What the execution will show of it: fields of a form or a chat. `unique` if no other request has the same.
    shown: Mapping[str, Any] = field(default_factory=dict)
    unique: bool = False


def is_trigger_name(node_type: str) -> bool:
    """Whether a type starts workflows, by its name: the two that do not end in Trigger are known."""
    short = node_type.rpartition(".")[2]
    return short.lower().endswith("trigger") or short in ("webhook", "start", "cron", "interval", "emailReadImap")


def triggers_of(nodes: Sequence[Mapping[str, Any]]) -> list[Trigger]:
    """The triggers that are switched on."""
    found = [node for node in nodes if not node.get("disabled") and is_trigger_name(str(node.get("type")))]
    return [Trigger(node=node, kind=_KINDS.get(str(node.get("type")), "other")) for node in found]


def request_for(trigger: Trigger, call: Call) -> TriggerRequest:
    """The request to the trigger's production address, or a ValidationError that says what is missing."""
    match trigger.kind:
        case "form":
            return _form_request(trigger, call)
        case "chat":
            return _chat_request(trigger, call)
        case _:
            return _webhook_request(trigger, call)


def _webhook_request(trigger: Trigger, call: Call) -> TriggerRequest:
    method = _method(trigger, call.method)
    path = _filled(trigger, call.path_parameters)
    if method in WITHOUT_BODY:
        return TriggerRequest(method=method, path=path, query={**_as_query(call.data), **_as_query(call.query)})
    return TriggerRequest(method=method, path=path, query=_as_query(call.query), json=dict(call.data))


def _method(trigger: Trigger, wanted: str | None) -> str:
    written = trigger.parameters.get("httpMethod") or ("GET" if not trigger.parameters.get("multipleMethods") else None)
    methods = [str(one) for one in written] if isinstance(written, list) else [str(written or "GET")]
    if trigger.parameters.get("multipleMethods") and written is None:
        methods = ["GET", "POST"]
    if wanted is not None and wanted not in methods:
        raise ValidationError.of("method", f"Invalid value for parameter method: it may be {', '.join(methods)}")
    return wanted or methods[0]


def _filled(trigger: Trigger, given: Mapping[str, str]) -> str:
    """The path with its `:parameters`. n8n puts the webhook's id before a path that has some."""
    webhook_id = str(trigger.node.get("webhookId") or "")
    parts = str(trigger.parameters.get("path") or webhook_id).strip("/").split("/")
    names = [part[1:] for part in parts if part.startswith(":")]
    missing, unknown = [one for one in names if one not in given], [one for one in given if one not in names]
    if missing or unknown:
        wanted = f"the path needs {', '.join(names)}" if names else "the path has no parameters"
        raise ValidationError.of("pathParameters", f"Invalid value for parameter pathParameters: {wanted}")
    if any("/" in one for one in given.values()):
        # n8n decodes the path before it splits it.
        raise ValidationError.of(
            "pathParameters", "Invalid value for parameter pathParameters: no value may have a slash"
        )
    filled = [quote(given[part[1:]] if part.startswith(":") else part, safe="") for part in parts]
    return "/webhook/" + "/".join([webhook_id, *filled] if names else filled)


def _form_request(trigger: Trigger, call: Call) -> TriggerRequest:
    """A form counts its fields; callers name them by label or name."""
    options = trigger.parameters.get("options")
    own = options.get("path") if isinstance(options, Mapping) else None
    path = str(own or trigger.parameters.get("path") or trigger.node.get("webhookId") or "").strip("/")
    numbers = _field_numbers(trigger)
    unknown = [name for name in call.data if name not in numbers]
    if unknown:
        labels = ", ".join(dict.fromkeys(numbers)) or "none"
        raise ValidationError.of("data", f"Invalid value for parameter data: the form's fields are {labels}")
    boundary = uuid4().hex
    parts = [_part(boundary, f"field-{numbers[name]}", value) for name, value in call.data.items()]
    content = b"".join(parts) + f"--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    place = "/form/" + quote(path, safe="/")
    return TriggerRequest(
        method="POST", path=place, query=_as_query(call.query), content=content, headers=headers, shown=call.data
    )


def _field_numbers(trigger: Trigger) -> dict[str, int]:
    fields = trigger.parameters.get("formFields")
    rows = fields.get("values") if isinstance(fields, Mapping) else None
    numbers: dict[str, int] = {}
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        for key in ("fieldLabel", "fieldName", "elementName") if isinstance(row, Mapping) else ():
            if row.get(key):
                numbers.setdefault(str(row[key]), number)
    return numbers


def _part(boundary: str, name: str, value: Any) -> bytes:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
    return f"{head}{text}\r\n".encode()


def _chat_request(trigger: Trigger, call: Call) -> TriggerRequest:
    if not trigger.parameters.get("public"):
        message = f"Invalid value for parameter trigger: the chat of '{trigger.name[:100]}' is not public"
        raise ValidationError.of("trigger", message)
    if not isinstance(call.data.get("chatInput"), str):
        raise ValidationError.of("data", "Invalid value for parameter data: a chat needs chatInput, a text")
    body = {"action": "sendMessage", "sessionId": uuid4().hex, **call.data}
    path = f"/webhook/{quote(str(trigger.node.get('webhookId') or ''), safe='')}/chat"
    shown = {name: body[name] for name in ("sessionId", "chatInput")}
    unique = "sessionId" not in call.data
    return TriggerRequest(method="POST", path=path, query=_as_query(call.query), json=body, shown=shown, unique=unique)


def _as_query(data: Mapping[str, Any]) -> dict[str, str]:
    """Values of a query are texts; objects and lists are written as JSON."""
    return {name: one if isinstance(one, str) else msgspec.json.encode(one).decode() for name, one in data.items()}
