"""Redmine's REST API as a service: who we are to it, its refusals and its empty answers, in our words."""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

import anyio

from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError, NotFoundError, NotFoundErrorContext
from dogubako.contract.offload import has_more_values, offload_if_large
from dogubako.contract.secrets import Redactor
from dogubako.outbound.bounds import MEGABYTE, Bound
from dogubako.outbound.http import Answer, Asked, ServiceHttp, decode_json
from dogubako.outbound.url_parts import segment
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.models import Json
from dogubako.response.plain import clean_text

_LONGEST_REASON: Final = 500
_MOST_REASONS: Final = 50
# An issue with 5,000 journals has as many. Tools look through all of them on the event loop.
MOST_VALUES: Final = 80_000
# The lenient reader takes ten times as long as the strict one.
_LENIENT: Final = Bound(most_bytes=8 * MEGABYTE, most_values=100_000)
SAVED_FILE: Final = Bound(most_bytes=128 * MEGABYTE)
SHOWN_FILE: Final = Bound(most_bytes=24 * MEGABYTE)

# Redmine answers a wrong key on public pages as if nobody had asked, so we have to ask who we are now and then.
_SURE_FOR_SECONDS: Final = 60.0

_CHECK_KEY: Final = Asked(operation="check the API key")
_WRONG_KEY: Final = (
    "Check REDMINE_API_KEY: it may be wrong, or its user locked. Redmine shows the key under My account."
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
    """A path of the API. Parts come from outside, so nothing in them may lead elsewhere."""
    return "/" + "/".join(segment(str(part)) for part in parts) + ".json"


class RedmineService:
    """Asks as one user, and understands the answer."""

    def __init__(self, http: ServiceHttp, key: str) -> None:
        self._http = http
        self._discreet = Redactor((key,))
        self._headers = {"X-Redmine-API-Key": key, "Accept": "application/json"}
        self._me: Json | None = None
        self._sure_until = 0.0
        self._asking = anyio.Lock()

    async def me(self) -> Json:
        """The user whose key we have, with memberships. An error when the key is nobody's."""
        async with self._asking:
            if self._me is None or time.monotonic() > self._sure_until:
                self._me = None
                self._me = await self._ask_who_we_are()
                self._sure_until = time.monotonic() + _SURE_FOR_SECONDS
            return self._me

    async def _ask_who_we_are(self) -> Json:
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
        """Ask again who we are before the next request: memberships may have changed."""
        self._me = None

    async def get(self, path: str, asked: Asked, **params: Any) -> Json:
        """The object that is answered to a reading request."""
        await self.me()
        answer = await self._request("GET", path, asked, params=params)
        return await self._object(answer, asked)

    async def send(self, method: str, path: str, asked: Asked, body: Json | None = None, **params: Any) -> Json | None:
        """Write something. Redmine answers with the record, or with nothing at all."""
        await self.me()
        try:
            answer = await self._request(method, path, asked, params=params, json=body)
            return await self._object(answer, asked) if answer.body.strip() else None
        except ApiError as error:
            raise _unsure(error) from error.__cause__

    async def upload(self, body: bytes, filename: str, asked: Asked) -> Json:
        await self.me()
        answer = await self._request(
            "POST",
            place("uploads"),
            asked,
            params={"filename": filename},
            content=body,
            headers={"Content-Type": "application/octet-stream"},
        )
        return await self._object(answer, asked, "upload")

    async def download(self, path: str, asked: Asked, at_most: Bound = SAVED_FILE) -> bytes:
        await self.me()
        return (await self._request("GET", path, asked, at_most=at_most)).body

    async def _request(
        self, method: str, path: str, asked: Asked, *, headers: Mapping[str, str] | None = None, **rest: Any
    ) -> Answer:
        try:
            answer = await self._http.request(method, path, asked, headers={**self._headers, **(headers or {})}, **rest)
        except ApiError as error:
            raise _network_error(error) from error
        if answer.status == 401:
            self.forget_me()
        if not answer.ok:
            raise await self._refused(answer, asked)
        return answer

    async def _object(self, answer: Answer, asked: Asked, key: str | None = None) -> Json:
        try:
            found = await offload_if_large(answer.body, _decoded, answer.body)
        except TooManyValues:
            raise self._http.too_large(asked, f"{MOST_VALUES:,} values") from None
        except ValueError:
            raise self._no_api(answer, asked) from None
        found = found.get(key) if key and isinstance(found, dict) else found
        if not isinstance(found, dict):
            raise self._no_api(answer, asked)
        return found

    async def _refused(self, answer: Answer, asked: Asked) -> DogubakoError:
        if answer.status == 404:
            return missing(asked)
        # They are shown as they are, also as details, so nothing private and no half character may be in them.
        said = await offload_if_large(answer.body, _reasons, answer.body)
        reasons = [self._discreet.mask(clean_text(reason)) for reason in said]
        seconds = answer.headers.get("retry-after", "")
        reason = "; ".join(reasons) or _REFUSALS.get(answer.status, f"Redmine answered with status {answer.status}")
        hint = None
        if answer.status == 401:
            reason, hint = "Redmine does not accept the API key", _WRONG_KEY
        elif answer.status == _TOO_MANY or answer.status >= 500:
            hint = "Try again later. If it stays so, Redmine's own log tells more."
        return RedmineRefused(
            asked,
            reason,
            status=answer.status,
            reasons=reasons,
            hint=hint,
            retry_after=float(seconds) if seconds.isdecimal() else None,
        )

    def _no_api(self, answer: Answer, asked: Asked) -> ApiError:
        if answer.is_json or not answer.body.strip():
            hint = "Try again. If it stays so, look at what stands between us and Redmine, and into Redmine's own log."
            return self._http.failed(asked, "Redmine's answer was empty or incomplete", hint=hint, unreachable=True)
        reason = "Redmine answered with a page instead of data"
        return self._http.failed(asked, reason, status=answer.status, hint=_WRONG_ADDRESS)


def missing(asked: Asked, hint: str | None = None) -> NotFoundError:
    """`Issue '8' not found`."""
    kind, name = asked.resource_type or "Resource", asked.resource_id or ""
    context = NotFoundErrorContext(operation=asked.operation, resource_type=kind, resource_id=name)
    unnamed = f"Failed to {asked.operation}: Redmine has nothing at this place"
    return NotFoundError(f"{kind} '{name}' not found" if name else unnamed, context=context, hint=hint)


def unlike_redmine(asked: Asked, oddity: str) -> ApiError:
    """JSON, but not what Redmine would say. To take it for "nothing there" would be a lie."""
    reason = f"the answer is not one of Redmine's: {oddity}"
    context = ApiErrorContext(operation=asked.operation, resource_type=asked.resource_type, error_details=reason)
    return ApiError(f"Failed to {asked.operation}: {reason}", context=context, hint=_WRONG_ADDRESS)


class TooManyValues(ValueError):  # noqa: N818 - a signal to the service, which has the words for callers
    """The answer holds more than a tool can work on without keeping others waiting."""


def _decoded(body: bytes) -> Any:
    """The body as data; ValueError when it is none. A large one is decoded in a worker thread."""
    try:
        found = decode_json(body)
    except ValueError:
        found = _decoded_leniently(body)
    if has_more_values(found, MOST_VALUES):
        raise TooManyValues
    # Redmine gives administrators everybody's key.
    return _without_keys(found) if b'"api_key"' in body else found


def _decoded_leniently(body: bytes) -> Any:
    """Half a character stops a strict reader, and one such text must not hide everything beside it."""
    if not _LENIENT.allows_values_of(body):
        raise ValueError("too large to be read leniently")
    try:
        return json.loads(body.decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("not JSON") from error


def _network_error(error: ApiError) -> ApiError:
    """Whatever kept us from an answer reads as one kind of trouble."""
    reason = error.context.error_details if error.context else None
    return ApiError(
        f"Network error: {reason or error.message}",
        status_code=error.status_code,
        context=error.context,
        unreachable=error.unreachable,
        hint=error.hint,
    )


def _unsure(error: ApiError) -> ApiError:
    """After a write without a clear answer nobody knows whether it was done, and to do it twice may be worse."""
    if error.transient and error.status_code != _TOO_MANY:
        error.retryable, error.hint = False, _LOOK_FIRST
    return error


def _reasons(body: bytes) -> list[str]:
    """The first of Redmine's `errors`. Most refusals have no body, and a page of HTML says nothing to an agent."""
    try:
        said = decode_json(body)
    except ValueError:
        return []
    errors = said.get("errors") if isinstance(said, dict) else None
    listed = [errors] if isinstance(errors, str) else errors if isinstance(errors, list) else []
    reasons = [one[:_LONGEST_REASON] for one in listed[:_MOST_REASONS] if isinstance(one, str) and one.strip()]
    more = len(listed) - _MOST_REASONS
    return [*reasons, f"and {more:,} more reasons"] if more > 0 else reasons


def _without_keys(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _without_keys(value) for key, value in found.items() if key != "api_key"}
    return [_without_keys(one) for one in found] if isinstance(found, list) else found
