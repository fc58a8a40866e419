"""Turn the answer of an API into an answer of a tool: errors in our words, chosen fields, the next page."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from dogubako.contract.errors import ApiError, ApiErrorContext, NotFoundError
from dogubako.contract.output import Content, Guidance, Image, Json, Link, Message, Text, call_text
from dogubako.openapi.definitions import RequestPlan
from dogubako.outbound.http import ServiceResponse

_LONGEST_REASON: Final = 500
_REASONS: Final = ("message", "detail", "error_description", "error", "title", "reason", "description", "msg", "errors")
_NEXT_LINK: Final = re.compile(r'<([^<>]{1,8000}+)>\s{0,10}+;[^,<>]{0,500}?\brel="?next"?', re.IGNORECASE)
# Where answers keep the mark of the next page, and the parameters that take it.
_CURSORS: Final = ("nextCursor", "next_cursor", "nextPageToken", "next_page_token", "next", "cursor", "after")
_CURSOR_PARAMETERS: Final = ("cursor", "pageToken", "page_token", "starting_after", "after", "next", "continuation")
_TEXTS: Final = ("text/", "application/xml", "application/yaml", "application/javascript")


def failed(service: str, operation: str, response: ServiceResponse, *, may_sign_in: bool = False) -> Exception:
    """The error for an answer with an error status, with the service's own reason."""
    reason = _reason(response)
    said = f": {reason}" if reason else ""
    if response.status == 404:
        return NotFoundError(f"{service} found nothing{said}", hint="Check the ids in the arguments.")
    wait = response.headers.get("retry-after", "")
    return ApiError(
        f"{service} refused {operation} with status {response.status}{said}",
        status_code=response.status,
        context=ApiErrorContext(operation=operation, status_code=response.status, error_details=reason),
        retry_after=float(wait) if wait.isdecimal() else None,
        hint=_hint(response.status, service, may_sign_in=may_sign_in),
    )


def _hint(status: int, service: str, *, may_sign_in: bool) -> str | None:
    if status == 401 and may_sign_in:
        return f"Somebody has to sign in: dogubako services login {service}"
    if status in (401, 403):
        return f"The credentials of {service} in the settings are missing, wrong, or not allowed to do this."
    return "Correct the arguments and call again." if status in (400, 409, 422) else None


def _reason(response: ServiceResponse) -> str:
    try:
        found = _sentence(response.short_json())
    except ValueError:
        is_text = response.content_type.startswith("text/plain")
        found = response.body[:2000].decode("utf-8", "replace") if is_text else ""
    return " ".join(found.split())[:_LONGEST_REASON]


def _sentence(value: Any, depth: int = 0) -> str:
    if isinstance(value, str):
        return value
    if depth > 3:
        return ""
    if isinstance(value, list):
        return "; ".join(text for text in (_sentence(one, depth + 1) for one in value[:5]) if text)
    if isinstance(value, Mapping):
        texts = (_sentence(value[key], depth + 1) for key in _REASONS if key in value)
        return next((text for text in texts if text), "")
    return ""


async def answer_of(
    tool: str, plan: RequestPlan, arguments: Mapping[str, Any], fields: Sequence[str], response: ServiceResponse
) -> Content:
    """The answer for a success: JSON, text, a picture, or a sentence about what else it is."""
    kind = response.content_type.partition(";")[0].strip()
    if not response.body:
        return Text(text=f"Done. The service answered with status {response.status} and no content.")
    if (
        kind == "application/json"
        or kind.endswith("+json")
        or (not kind and response.body.lstrip()[:1] in (b"{", b"["))
    ):
        data = await response.json()
        following = next_page(tool, plan, arguments, data, response)
        shown = narrowed(data, fields) if fields else data
        return Json(data=shown, message=Message(en="Answer", ja="回答"), guidance=following)
    if kind.startswith("image/"):
        return Image(data=response.body, mime_type=kind)
    if kind.startswith(_TEXTS) or kind.endswith("+xml"):
        return Text(text=response.body.decode(_charset(response.content_type), "replace"))
    uri = f"{plan.base}{plan.path}"
    return Link(
        uri=uri, name=plan.path, mime_type=kind or None, size=len(response.body), description="A file; not shown."
    )


def _charset(content_type: str) -> str:
    match = re.search(r"charset=\"?([A-Za-z0-9_-]{1,30})", content_type)
    try:
        "".encode(match[1] if match else "utf-8")
    except LookupError:
        return "utf-8"
    return match[1] if match else "utf-8"


def narrowed(data: Any, fields: Sequence[str]) -> Any:
    """Only these fields. A path goes through lists: `items.id` is the id of every item."""
    wanted: dict[str, Any] = {}
    for field in fields:
        node = wanted
        for part in field.split("."):
            node = node.setdefault(part, {})
    return _kept(data, wanted)


def _kept(data: Any, wanted: Mapping[str, Any]) -> Any:
    if not wanted:
        return data
    if isinstance(data, list):
        return [_kept(one, wanted) for one in data]
    if isinstance(data, Mapping):
        return {key: _kept(data[key], inner) for key, inner in wanted.items() if key in data}
    return data


def next_page(
    tool: str, plan: RequestPlan, arguments: Mapping[str, Any], data: Any, response: ServiceResponse
) -> Guidance | None:
    """The call that gets the next page, where the answer says that there is one."""
    asked = {name: sent for name, sent in plan.arguments.items() if sent.fixed is None}
    queries = {sent.name: name for name, sent in asked.items() if sent.place == "query"}
    following = _from_link(queries, response.headers.get("link", "")) or _from_body(queries, data)
    if following is None:
        return None
    changed = {"query": {**arguments["query"], **following}} if plan.generic else following
    call = call_text(tool, {**arguments, **changed})
    return Guidance(message="There is more. This call gets the next page.", example=call)


def _from_link(queries: Mapping[str, str], header: str) -> dict[str, Any] | None:
    match = _NEXT_LINK.search(header[:20_000])
    return _from_url(queries, match[1]) if match else None


def _from_url(queries: Mapping[str, str], url: str) -> dict[str, Any] | None:
    try:
        pairs = dict(parse_qsl(urlsplit(url).query))
    except ValueError:
        return None
    known = {queries[name]: _number(value) for name, value in pairs.items() if name in queries}
    return known or None


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


def _from_body(queries: Mapping[str, str], data: Any) -> dict[str, Any] | None:
    if not isinstance(data, Mapping):
        return None
    places = [
        data,
        *(data[key] for key in ("meta", "pagination", "paging", "links") if isinstance(data.get(key), Mapping)),
    ]
    for place in places:
        for key in _CURSORS:
            value = place.get(key)
            if not isinstance(value, str) or not value:
                continue
            if value.startswith(("http://", "https://", "/", "?")):
                return _from_url(queries, value)
            parameter = next((queries[one] for one in (key, *_CURSOR_PARAMETERS) if one in queries), None)
            return {parameter: value} if parameter else None
    return None
