"""The item with which a run of a draft begins: what its trigger would give if somebody called it."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.contract.output import example_call
from dogubako.packs.n8n.call_headers import check_headers, header
from dogubako.packs.n8n.form_fields import FormField
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.trigger_requests import (
    WITHOUT_BODY,
    as_query,
    chat_body,
    check_taken,
    filled_fields,
    methods_of,
    webhook_address,
    webhook_path,
    webhook_request,
)
from dogubako.packs.n8n.triggers import Call, Kind, Trigger

JsonObject = dict[str, Any]

# What n8n's own MCP server, or we as pinned data, can hand to a draft.
_TAKEN: Final[Mapping[Kind, tuple[str, ...]]] = {
    "webhook": ("data", "query", "headers", "pathParameters", "method"),
    "form": ("data", "query"),
    "chat": ("data",),
}
_OF_A_DRAFT: Final = "in a run of the draft"
_PIN_OR_PUBLISH: Final = "Publish it and call it again, or give the trigger's whole item as pinData."
_AS_FIELDS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
# n8n keeps the values of these as they were sent, without blanks at their ends.
_TRIMMED: Final = ("text", "email")


def started_item(workflow_id: str, trigger: Trigger, call: Call, url: str) -> JsonObject | None:
    """The item of a draft's trigger; None where n8n makes it itself, and takes nothing for it."""
    if trigger.kind not in _TAKEN:
        pins = example_call("run_workflow", id=workflow_id, pinData={trigger.name: [dict(call.data)]})
        check_taken(trigger, call, (), _OF_A_DRAFT, f"Pinned data can be its output: {pins}")
        return None
    item = pinned_item(trigger, call, url)
    surplus = [one for one in call.data if one != "chatInput"] if trigger.kind == "chat" else []
    if surplus:
        pins = example_call("run_workflow", id=workflow_id, pinData={trigger.name: [item]})
        message = "Invalid value for parameter data: the draft of a chat takes only chatInput"
        raise ValidationError.of("data", message, hint=f"Pinned data can be more: {pins}")
    return item


def pinned_item(trigger: Trigger, call: Call, url: str) -> JsonObject:
    """The item as pinned data. A trigger that nobody calls gives out the data itself."""
    check_taken(trigger, call, _TAKEN.get(trigger.kind, ("data",)), _OF_A_DRAFT)
    match trigger.kind:
        case "webhook":
            return _webhook_item(trigger, call, url)
        case "form":
            return _form_item(trigger, call)
        case "chat":
            return chat_body(call)
        case _:
            return dict(call.data)


def _webhook_item(trigger: Trigger, call: Call, url: str) -> JsonObject:
    check_headers(call.headers)
    # Only n8n knows a computed path, and a run of the draft needs none.
    is_computed = is_expression(trigger.parameters.get("path"))
    request = webhook_request(trigger, call, "" if is_computed else webhook_path(trigger, call.path_parameters))
    first = methods_of(trigger)[0]
    if request.method != first:
        # It has an output for each, and n8n gives pinned data out at the first.
        told = f"in a run of the draft it is {first}, the first of them"
        hint = f"Publish it, or pin the nodes behind the output of {request.method}."
        raise ValidationError.of("method", f"Invalid value for parameter method: {told}", hint=hint)
    if structured := next((name for name in request.query if "[" in name), None):
        told = f"n8n takes '{structured[:100]}' apart, which a run of the draft cannot do"
        raise ValidationError.of("query", f"Invalid value for parameter query: {told}", hint=_PIN_OR_PUBLISH)
    url = f"{url.rstrip('/')}/webhook-test/{webhook_address(trigger)}"
    return {
        "headers": {name.lower(): value for name, value in request.headers.items()},
        "params": dict(call.path_parameters),
        "query": _received(request.query),
        "body": {} if request.method in WITHOUT_BODY else _received_body(call, header(request.headers, "Content-Type")),
        **({} if is_computed else {"webhookUrl": url}),
        "executionMode": "test",
    }


def _received_body(call: Call, content_type: str | None) -> JsonObject:
    kind = str(content_type).partition(";")[0].strip().lower()
    if kind in _AS_FIELDS:
        return _received(as_query(call.data))
    if kind == "application/json":
        return dict(call.data)
    message = "Invalid value for parameter headers: a run of the draft takes JSON or fields as its Content-Type"
    raise ValidationError.of("headers", message, hint=_PIN_OR_PUBLISH)


def _received(texts: Mapping[str, Any]) -> JsonObject:
    """As n8n reads what was sent: a name that comes once is a text, and one without values did not come."""
    return {
        name: one[0] if isinstance(one, list) and len(one) == 1 else one for name, one in texts.items() if one != []
    }


def _form_item(trigger: Trigger, call: Call) -> JsonObject:
    item: JsonObject = {}
    for field, sent, is_given in filled_fields(trigger, call):
        if is_given and (field.kind == "file" or (field.kind == "date" and field.row.get("formatDate"))):
            raise field.wrong("is made of what the page sends by the form itself, which a run of the draft has not")
        if field.kind != "html" or field.identifier:
            item[field.identifier] = _received_field(field, sent)
    query = _received(as_query(call.query))
    return {**item, "formMode": "test", **({"formQueryParameters": query} if query else {})}


def _received_field(field: FormField, sent: str | list[str]) -> Any:
    if field.kind == "file":
        return None
    if field.kind == "number":
        return _as_number(str(sent))
    trimmed = isinstance(sent, str) and field.row.get("fieldType") in _TRIMMED
    return str(sent).strip() if trimmed else field.shown(sent)


def _as_number(text: str) -> float | None:
    """As JavaScript reads it; n8n writes what is no number as null."""
    try:
        number = float(text or 0)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number
