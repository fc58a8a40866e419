"""Requests to n8n's API, and the small endpoints: tags, credentials, users."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeGuard

import msgspec

from dogubako.contract.errors import ApiError, NotFoundError, NotFoundErrorContext
from dogubako.outbound.bounds import Bound
from dogubako.outbound.http import Operation, ServiceHttp, ServiceResponse, path_below
from dogubako.outbound.json_answers import UnreadableJson

API: Final = "/api/v1"
# The path of an endpoint: `place("workflows", workflow_id)`.
place: Final = partial(path_below, API)
_STARTING_UP: Final = b"n8n is starting up"
_LONGEST_REASON: Final = 500
# Some of n8n's messages are written for its own page.
_TAG: Final = re.compile(r"</?(?:a|b|br|code|i|strong)(?: [^<>]{0,300})?/?>")
_LONGEST_CURSOR: Final = 4_096
_WRONG_ADDRESS: Final = (
    "Check N8N_URL: it should be the address of n8n itself, without a path, not of a page in front of it."
)


class N8nService:
    """Sends requests and checks the answers. Only the API gets our key."""

    def __init__(self, http: ServiceHttp, key: str, *, own: bool = False) -> None:
        self._http = http
        self._which_key = "your own key for n8n" if own else "N8N_API_KEY"
        self._headers = {"X-N8N-API-KEY": key, "Accept": "application/json"}

    async def get(self, path: str, operation: Operation, **params: Any) -> Any:
        """The decoded answer to a reading request; ApiError for every other status."""
        return await self.decoded(await self.ask("GET", path, operation, params=params), operation)

    async def page(self, path: str, operation: Operation, *, key: str = "id", **params: Any) -> dict[str, Any]:
        """One page of a list: `data`, whose rows all have this key, and `nextCursor`."""
        answer = await self.get(path, operation, **params)
        if not isinstance(answer, dict) or not are_objects(answer.get("data"), key):
            raise self.cut_off(operation)
        self._check_length(answer["data"], params.get("limit"), operation)
        self._check_cursor(answer.get("nextCursor"), operation)
        return answer

    def _check_length(self, rows: Sequence[Any], limit: int | None, operation: Operation) -> None:
        """Refuse a page with more rows than requested: the beginning of the next one would be a guess."""
        if limit is not None and len(rows) > limit:
            reason = f"n8n answered with {len(rows):,} rows where {limit:,} were asked for"
            raise self._http.failed(operation, reason, hint=_WRONG_ADDRESS)

    def _check_cursor(self, cursor: Any, operation: Operation) -> None:
        """A cursor goes into the URL of the next request. n8n's own have about a hundred characters."""
        if not isinstance(cursor, str | None):
            raise self._http.failed(operation, "n8n answered with a nextCursor that is no text", hint=_WRONG_ADDRESS)
        if isinstance(cursor, str) and len(cursor) > _LONGEST_CURSOR:
            reason = f"n8n answered with a nextCursor of more than {_LONGEST_CURSOR:,} characters"
            raise self._http.failed(operation, reason, hint=_WRONG_ADDRESS)

    async def ask(
        self,
        method: str,
        path: str,
        operation: Operation,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        seconds: float | None = None,
        at_most: Bound | None = None,
    ) -> ServiceResponse:
        """A successful answer, or an ApiError with n8n's own reason."""
        answer = await self._http.request(
            method, path, operation, params=params, json=json, headers=self._headers, seconds=seconds, at_most=at_most
        )
        if answer.ok and not answer.is_json:
            raise self._not_the_api(answer, operation)
        if not answer.ok:
            raise self._refused(answer, operation)
        return answer

    async def knock(
        self,
        method: str,
        path: str,
        operation: Operation,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> ServiceResponse:
        """The answer of a URL outside the API, with any status: a webhook may return anything."""
        return await self._http.request(
            method,
            path,
            operation,
            params=params,
            json=json,
            content=content,
            headers=headers,
            seconds=seconds,
            may_redirect=True,
        )

    async def decoded(self, answer: ServiceResponse, operation: Operation) -> Any:
        try:
            return await answer.json()
        except UnreadableJson as error:
            raise self.unreadable(operation, error) from None
        except ValueError:
            raise self.cut_off(operation) from None

    async def object_in(self, answer: ServiceResponse, operation: Operation, *keys: str) -> dict[str, Any]:
        """The object in the answer; ApiError if it lacks these keys."""
        body = await self.decoded(answer, operation)
        if not are_objects([body], *keys):
            raise self.cut_off(operation)
        return dict(body)

    def too_large(self, operation: Operation, allowed: str) -> ApiError:
        return self._http.too_large(operation, allowed)

    def unreadable(self, operation: Operation, error: UnreadableJson) -> ApiError:
        return self._http.unreadable(operation, error)

    def cut_off(self, operation: Operation) -> ApiError:
        """An answer that began as it should and is no complete one."""
        hint = "Try again. If it stays so, look at what stands between us and n8n, and into n8n's own log."
        return self._http.failed(operation, "n8n's answer was empty or incomplete", hint=hint, unreachable=True)

    def _refused(self, answer: ServiceResponse, operation: Operation) -> ApiError:
        hint = None
        if answer.status == 401:
            hint = f"Check {self._which_key}: it may be wrong or expired. n8n makes new ones under Settings → n8n API."
        elif answer.status == 403:
            hint = "The API key may lack the scope for this, or the instance the licence."
        elif answer.status == 429 or answer.status >= 500:
            hint = "Try again later. If it stays so, n8n's own log tells more."
        seconds = answer.headers.get("retry-after", "")
        return self._http.failed(
            operation,
            _reason(answer),
            status=answer.status,
            hint=hint,
            retry_after=float(seconds) if seconds.isdecimal() else None,
        )

    def _not_the_api(self, answer: ServiceResponse, operation: Operation) -> ApiError:
        if _STARTING_UP in answer.body[:200]:
            hint = "Try again in some seconds."
            return self._http.failed(operation, "n8n is still starting up", status=503, hint=hint)
        if not answer.body:
            return self.cut_off(operation)
        reason = "n8n answered with a page instead of data"
        return self._http.failed(operation, reason, status=answer.status, hint=_WRONG_ADDRESS)


def are_objects(rows: Any, *keys: str) -> TypeGuard[list[dict[str, Any]]]:
    """Whether this is a list of objects that all have these keys."""
    return isinstance(rows, list) and all(isinstance(one, dict) and all(key in one for key in keys) for one in rows)


def missing(operation: Operation, hint: str | None = None) -> NotFoundError:
    """`Workflow 'abc123' not found`."""
    kind, name = operation.resource_type or "Resource", operation.resource_id or ""
    context = NotFoundErrorContext(operation=operation.name, resource_type=kind, resource_id=name)
    return NotFoundError(f"{kind} '{name}' not found", context=context, hint=hint)


def _reason(answer: ServiceResponse) -> str:
    """n8n's own message, if there is one. HTML pages are left out: they may show too much."""
    try:
        message = answer.short_json().get("message")
    except (ValueError, AttributeError):
        message = None
    if not isinstance(message, str) or not message.strip():
        return f"n8n answered with status {answer.status}"
    plain = _TAG.sub(" ", message[: 2 * _LONGEST_REASON])
    return (message if plain == message else " ".join(plain.split())).strip()[:_LONGEST_REASON]


_MOST_PER_PAGE: Final = 250
_MOST_PAGES: Final = 20
_REPORTING = re.compile(rb'name="n8n:config:sentry" content="([A-Za-z0-9+/=]+)"')


class LookupsApi:
    """Small lists, read whole."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def tags(self) -> list[dict[str, Any]]:
        return await self._all("tags", Operation(name="list tags"))

    async def create_tag(self, name: str) -> dict[str, Any]:
        operation = Operation(name="create tag", resource_type="Tag", resource_id=name)
        answer = await self._service.ask("POST", place("tags"), operation, json={"name": name})
        return await self._service.object_in(answer, operation, "id")

    async def credentials(self) -> list[dict[str, Any]]:
        """Names and types. n8n returns no secrets."""
        return await self._all("credentials", Operation(name="list credentials"))

    async def credential_schema(self, kind: str) -> dict[str, Any]:
        operation = Operation(name="get credential schema", resource_type="Credential type", resource_id=kind)
        try:
            answer = await self._service.ask("GET", place("credentials", "schema", kind), operation)
        except ApiError as error:
            if error.status_code == 404:
                raise missing(operation, "list_credentials shows types that are in use.") from error
            raise
        return await self._service.object_in(answer, operation)

    async def version(self) -> str | None:
        """The version, from the editor's page, because the API does not tell it."""
        operation = Operation(name="check the version")
        try:
            answer = await self._service.knock("GET", "/", operation, json=None, seconds=10)
        except ApiError:
            # The editor may be behind a login page although the API works.
            return None
        for encoded in _REPORTING.findall(answer.body):
            try:
                release = str(msgspec.json.decode(b64decode(encoded)).get("release"))
            except (ValueError, AttributeError):
                continue
            if release.startswith("n8n@"):
                return release.removeprefix("n8n@")
        return None

    async def scopes(self) -> set[str] | None:
        """The scopes of our key, if this version reports them."""
        try:
            answer = await self._service.get(place("discover"), Operation(name="check the API key"))
        except ApiError as error:
            if error.status_code == 404:
                return None
            raise
        found = answer.get("data", {}).get("scopes") if isinstance(answer, dict) else None
        return set(found) if isinstance(found, list) else None

    async def _all(self, what: str, operation: Operation) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._service.page(place(what), operation, limit=_MOST_PER_PAGE, cursor=cursor)
            rows += page["data"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return rows
