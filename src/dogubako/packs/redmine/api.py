"""Redmine's API: requests, answers and records."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import anyio

from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError, NotFoundError, NotFoundErrorContext
from dogubako.contract.offload import has_more_values, offload_if_large
from dogubako.contract.redaction import Redactor
from dogubako.outbound.bounds import MEGABYTE, Bound
from dogubako.outbound.http import Operation, ServiceHttp, ServiceResponse, path_below
from dogubako.outbound.json_answers import UnreadableJson, decode_any_json
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.models import PROJECT, WIKI_PAGE, JsonObject, Kind, Listing
from dogubako.response.jsonable import clean_text

_LONGEST_REASON: Final = 500
_MOST_REASONS: Final = 50
# An issue with 5,000 journals has this many. Tools process all of them on the event loop.
MOST_VALUES: Final = 80_000
_BEFORE_VALUES: Final = b"[{,"
SAVED_FILE: Final = Bound(most_bytes=128 * MEGABYTE)
SHOWN_FILE: Final = Bound(most_bytes=24 * MEGABYTE)

# Redmine answers a wrong key on public pages like an anonymous request, so the user is checked now and then.
_SURE_FOR_SECONDS: Final = 60.0

_CHECK_KEY: Final = Operation(name="check the API key")
_WRONG_KEY: Final = (
    "Check REDMINE_API_KEY: it may be wrong, or its user locked. Redmine shows the key under My account."
)
_WRONG_OWN_KEY: Final = (
    "Check your own key for Redmine: it may be wrong, or its user locked. Redmine shows it under My account."
)
_WRONG_ADDRESS: Final = "Check REDMINE_URL: it should be the address of Redmine itself, not of a page in front of it."
_LOOK_FIRST: Final = "Redmine may have done it all the same: look before you try again."
_TOO_MANY: Final = 429
_NO_API: Final = (
    "An administrator can switch on the REST API under Administration, Settings, API. "
    "Or the user of this key has to log in once, to set a new password."
)
_REFUSALS: Final = {
    403: "Redmine does not allow it",
    406: "Redmine does not accept this kind of content",
    409: "somebody else has changed it in the meantime",
    412: "Redmine does not know the user to act for",
    413: "Redmine does not take requests of this size",
    422: "Redmine rejected it without a reason",
}


def place(*parts: str | int) -> str:
    """A path of the API. Parts come from outside and are quoted, so that they cannot change the path."""
    return path_below("", *map(str, parts)) + ".json"


class RedmineService:
    """Sends requests as one user, and checks the answers."""

    def __init__(self, http: ServiceHttp, key: str, *, login: str = "", own: bool = False) -> None:
        self._http = http
        self._wrong_key = _WRONG_OWN_KEY if own else _WRONG_KEY
        self._discreet = Redactor((key,))
        self._headers = {"X-Redmine-API-Key": key, "Accept": "application/json"}
        if login:
            self._headers["X-Redmine-Switch-User"] = login
        self._me: JsonObject | None = None
        self._sure_until = 0.0
        self._asking = anyio.Lock()

    async def me(self) -> JsonObject:
        """The user of our key, with memberships. Raises an error if the key is invalid."""
        async with self._asking:
            if self._me is None or time.monotonic() > self._sure_until:
                self._me = None
                self._me = await self._ask_who_we_are()
                self._sure_until = time.monotonic() + _SURE_FOR_SECONDS
            return self._me

    async def _ask_who_we_are(self) -> JsonObject:
        params = {"include": "memberships,groups"}
        try:
            answer = await self._request("GET", place("users", "current"), _CHECK_KEY, params=params)
        except NotFoundError as error:
            raise self._http.failed(_CHECK_KEY, "there is no Redmine at this address", hint=_WRONG_ADDRESS) from error
        except RedmineRefused as refusal:
            if refusal.status_code == 403:
                raise refusal.because("Redmine does not let its API be used", _NO_API) from refusal
            raise
        return await self._object(answer, _CHECK_KEY, "user")

    def forget_me(self) -> None:
        """Check the user again before the next request: memberships may have changed."""
        self._me = None

    async def get(self, path: str, operation: Operation, **params: Any) -> JsonObject:
        """The object in the answer to a reading request."""
        await self.me()
        answer = await self._request("GET", path, operation, params=params)
        return await self._object(answer, operation)

    async def send(
        self, method: str, path: str, operation: Operation, body: JsonObject | None = None, **params: Any
    ) -> JsonObject | None:
        """Send a write. Redmine answers with the record, or with an empty body."""
        await self.me()
        try:
            answer = await self._request(method, path, operation, params=params, json=body)
            return await self._object(answer, operation) if answer.body.strip() else None
        except ApiError as error:
            raise _unsure(error) from error.__cause__

    async def upload(self, body: bytes, filename: str, operation: Operation) -> JsonObject:
        await self.me()
        answer = await self._request(
            "POST",
            place("uploads"),
            operation,
            params={"filename": filename},
            content=body,
            headers={"Content-Type": "application/octet-stream"},
        )
        return await self._object(answer, operation, "upload")

    async def page(self, path: str, operation: Operation, **params: Any) -> bytes:
        """A page as people see it, for the few facts that the API does not tell."""
        await self.me()
        return (await self._request("GET", path, operation, params=params, headers={"Accept": "text/html"})).body

    async def download(self, path: str, operation: Operation, at_most: Bound = SAVED_FILE) -> bytes:
        await self.me()
        return (await self._request("GET", path, operation, at_most=at_most)).body

    async def _request(
        self, method: str, path: str, operation: Operation, *, headers: Mapping[str, str] | None = None, **rest: Any
    ) -> ServiceResponse:
        try:
            answer = await self._http.request(
                method, path, operation, headers={**self._headers, **(headers or {})}, **rest
            )
        except ApiError as error:
            raise _network_error(error) from error
        if answer.status == 401:
            self.forget_me()
        if not answer.ok:
            raise await self._refused(answer, operation)
        return answer

    async def _object(self, answer: ServiceResponse, operation: Operation, key: str | None = None) -> JsonObject:
        try:
            decoded = await offload_if_large(answer.body, _decoded, answer.body)
        except TooManyValues:
            raise self._http.too_large(operation, f"{MOST_VALUES:,} values") from None
        except UnreadableJson as error:
            raise self._http.unreadable(operation, error) from None
        except ValueError:
            raise self._no_api(answer, operation) from None
        decoded = decoded.get(key) if key and isinstance(decoded, dict) else decoded
        if not isinstance(decoded, dict):
            raise self._no_api(answer, operation)
        return decoded

    async def _refused(self, answer: ServiceResponse, operation: Operation) -> DogubakoError:
        if answer.status == 404:
            return missing(operation)
        # They are shown unchanged, also as details, so they must hold no secret and no lone surrogate.
        messages = await offload_if_large(answer.body, _reasons, answer.body)
        reasons = [self._discreet.mask_all(clean_text(reason)) for reason in messages]
        seconds = answer.headers.get("retry-after", "")
        reason = "; ".join(reasons) or _REFUSALS.get(answer.status, f"Redmine answered with status {answer.status}")
        hint = None
        if answer.status == 401:
            reason, hint = "Redmine does not accept the API key", self._wrong_key
        elif answer.status == _TOO_MANY or answer.status >= 500:
            hint = "Try again later. If it stays so, Redmine's own log tells more."
        return RedmineRefused(
            operation,
            reason,
            status=answer.status,
            reasons=reasons,
            hint=hint,
            retry_after=float(seconds) if seconds.isdecimal() else None,
        )

    def _no_api(self, answer: ServiceResponse, operation: Operation) -> ApiError:
        if answer.is_json or not answer.body.strip():
            hint = "Try again. If it stays so, look at what stands between us and Redmine, and into Redmine's own log."
            return self._http.failed(operation, "Redmine's answer was empty or incomplete", hint=hint, unreachable=True)
        reason = "Redmine answered with a page instead of data"
        return self._http.failed(operation, reason, status=answer.status, hint=_WRONG_ADDRESS)


def missing(operation: Operation, hint: str | None = None) -> NotFoundError:
    """`Issue '8' not found`."""
    kind, name = operation.resource_type or "Resource", operation.resource_id or ""
    context = NotFoundErrorContext(operation=operation.name, resource_type=kind, resource_id=name)
    unnamed = f"Failed to {operation.name}: Redmine has nothing at this place"
    return NotFoundError(f"{kind} '{name}' not found" if name else unnamed, context=context, hint=hint)


def unlike_redmine(operation: Operation, oddity: str) -> ApiError:
    """The error for JSON that Redmine would not send. It must not be taken for "nothing found"."""
    reason = f"the answer is not one of Redmine's: {oddity}"
    context = ApiErrorContext(operation=operation.name, resource_type=operation.resource_type, error_details=reason)
    return ApiError(f"Failed to {operation.name}: {reason}", context=context, hint=_WRONG_ADDRESS)


class TooManyValues(ValueError):  # noqa: N818 - a signal to the service, which has the words for callers
    """The answer holds more values than a tool can process without blocking others."""


def _decoded(body: bytes) -> Any:
    """The body as data; ValueError when it is none. A large one is decoded in a worker thread."""
    # Lone surrogates are replaced, and counted, where the answer is written.
    decoded = decode_any_json(body, keep_surrogates=True)
    # Before each value stands one of these: where there are few of them, nothing needs to be counted.
    if len(body) - len(body.translate(None, _BEFORE_VALUES)) > MOST_VALUES and has_more_values(decoded, MOST_VALUES):
        raise TooManyValues
    # Redmine sends administrators the keys of all users.
    return _without_keys(decoded) if b'"api_key"' in body else decoded


def _network_error(error: ApiError) -> ApiError:
    """Translate every transport error to one kind of error."""
    reason = error.context.error_details if error.context else None
    return ApiError(
        f"Network error: {reason or error.message}",
        status_code=error.status_code,
        context=error.context,
        unreachable=error.unreachable,
        hint=error.hint,
    )


def _unsure(error: ApiError) -> ApiError:
    """The error after a write without a clear answer: it may have been done, and repeating it may be worse."""
    if error.transient and error.status_code != _TOO_MANY:
        error.retryable, error.hint = False, _LOOK_FIRST
    return error


def _reasons(body: bytes) -> list[str]:
    """The first of Redmine's `errors`. Most refusals have no body, and HTML pages are left out."""
    try:
        body_data = decode_any_json(body, keep_surrogates=True)
    except ValueError:
        return []
    errors = body_data.get("errors") if isinstance(body_data, dict) else None
    listed = [errors] if isinstance(errors, str) else errors if isinstance(errors, list) else []
    reasons = [one[:_LONGEST_REASON] for one in listed[:_MOST_REASONS] if isinstance(one, str) and one.strip()]
    more = len(listed) - _MOST_REASONS
    return [*reasons, f"and {more:,} more reasons"] if more > 0 else reasons


def _without_keys(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_keys(value) for key, value in data.items() if key != "api_key"}
    return [_without_keys(one) for one in data] if isinstance(data, list) else data


MOST_PER_PAGE: Final = 100
_MOST_PAGES: Final = 20


def to(act: str, kind: Kind, id_: str | int | None = None) -> Operation:
    """The operation, for messages and the log: `update issue`."""
    named = str(id_) if id_ is not None else None
    return Operation(
        name=f"{act} {kind.many.replace('_', ' ') if act == 'list' else kind.noun}",
        resource_type=kind.label,
        resource_id=named,
    )


class RecordsApi:
    """Lists and records of all kinds."""

    def __init__(self, service: RedmineService) -> None:
        self.service = service

    async def page(
        self, kind: Kind, path: str | None = None, *, operation: Operation | None = None, **params: Any
    ) -> Listing:
        """One page of a list, with Redmine's total."""
        operation = operation or to("list", kind)
        try:
            answer = await self.service.get(path or place(kind.many), operation, **params)
        except NotFoundError:
            raise _of_nothing(operation, kind, path or "", params) from None
        rows = rows_of(answer, kind)
        _check_length(rows, answer, params.get("limit"), kind)
        return Listing(
            rows=rows,
            # A search for one letter has no total, and lists without pages have none.
            total=answer.get("total_count") if isinstance(answer.get("total_count"), int) else len(rows),  # type: ignore[arg-type]
            offset=answer.get("offset") or 0,
            limit=answer.get("limit") or max(len(rows), 1),
        )

    async def all(self, kind: Kind, path: str | None = None, **params: Any) -> list[JsonObject]:
        """Every row of a small list, page by page."""
        rows: list[JsonObject] = []
        for _ in range(_MOST_PAGES):
            page = await self.page(kind, path, limit=MOST_PER_PAGE, offset=len(rows), **params)
            rows += page.rows
            if not page.rows or len(rows) >= page.total:
                break
        return rows

    async def show(
        self,
        kind: Kind,
        id_: str | int,
        include: Sequence[str] = (),
        *,
        path: str | None = None,
        operation: Operation | None = None,
    ) -> JsonObject:
        """One complete record. The error for a missing one says how to find ids."""
        operation = operation or to("show", kind, id_)
        params = {"include": ",".join(include)} if include else {}
        try:
            answer = await self.service.get(path or place(kind.many, id_), operation, **params)
        except NotFoundError:
            raise missing(operation, kind.finder) from None
        record = answer.get(kind.one)
        if not isinstance(record, dict):
            raise unlike_redmine(operation, f"it has no '{kind.one}'")
        return record


def _of_nothing(operation: Operation, kind: Kind, path: str, params: JsonObject) -> NotFoundError:
    """The error for a list of a project that does not exist."""
    parts = path.split("/")
    project = params.get("project_id") or (unquote(parts[2]) if parts[:2] == ["", "projects"] else None)
    if project is None:
        return missing(operation)
    named = Operation(name=operation.name, resource_type=PROJECT.label, resource_id=str(project))
    return missing(named, f"{PROJECT.finder} Or it has no wiki." if kind is WIKI_PAGE else PROJECT.finder)


def _check_length(rows: Sequence[JsonObject], answer: JsonObject, limit: int | None, kind: Kind) -> None:
    """Refuse a page with more rows than requested. Lists without pages have no limit."""
    if limit is not None and "limit" in answer and len(rows) > limit:
        oddity = f"it has {len(rows):,} {kind.many.replace('_', ' ')} where {limit:,} were asked for"
        raise unlike_redmine(to("list", kind), oddity)


def rows_of(answer: JsonObject, kind: Kind) -> list[JsonObject]:
    """The rows of a list, without entries that are no objects. An answer without a list is an error."""
    rows = answer.get(kind.many)
    if not isinstance(rows, list):
        raise unlike_redmine(to("list", kind), f"it has no '{kind.many}'")
    return [row for row in rows if isinstance(row, dict)]
