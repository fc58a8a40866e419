"""n8n's public API as a service: its refusals and its odd answers, in our words."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

from dogubako.contract.errors import ApiError, NotFoundError, NotFoundErrorContext
from dogubako.outbound.bounds import Bound
from dogubako.outbound.http import Answer, Asked, ServiceHttp
from dogubako.outbound.url_parts import segment

API: Final = "/api/v1"
_STARTING_UP: Final = b"n8n is starting up"
_LONGEST_REASON: Final = 500
_WRONG_ADDRESS: Final = (
    "Check N8N_URL: it should be the address of n8n itself, without a path, not of a page in front of it."
)


def place(*parts: str) -> str:
    """A path below the API. Ids come from outside, so nothing in them may lead elsewhere."""
    return "/".join((API, *map(segment, parts)))


class N8nService:
    """Asks, and understands the answer. Only the API hears our key."""

    def __init__(self, http: ServiceHttp, key: str) -> None:
        self._http = http
        self._headers = {"X-N8N-API-KEY": key, "Accept": "application/json"}

    async def get(self, path: str, asked: Asked, **params: Any) -> Any:
        """The decoded answer to a reading request; ApiError for everything but a good one."""
        return await self.decoded(await self.ask("GET", path, asked, params=params), asked)

    async def page(self, path: str, asked: Asked, **params: Any) -> dict[str, Any]:
        """One page of a list: `data`, whose rows all have an id, and `nextCursor`."""
        answer = await self.get(path, asked, **params)
        if not isinstance(answer, dict) or not are_objects(answer.get("data"), "id"):
            raise self.cut_off(asked)
        self._check_length(answer["data"], params.get("limit"), asked)
        return answer

    def _check_length(self, rows: Sequence[Any], limit: int | None, asked: Asked) -> None:
        """A page with more rows than were asked for is no page of n8n: where the next one begins would be a guess."""
        if limit is not None and len(rows) > limit:
            reason = f"n8n answered with {len(rows):,} rows where {limit:,} were asked for"
            raise self._http.failed(asked, reason, hint=_WRONG_ADDRESS)

    async def ask(
        self,
        method: str,
        path: str,
        asked: Asked,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        seconds: float | None = None,
        at_most: Bound | None = None,
    ) -> Answer:
        """A good answer, or an ApiError with n8n's own reason."""
        answer = await self._http.request(
            method, path, asked, params=params, json=json, headers=self._headers, seconds=seconds, at_most=at_most
        )
        if answer.ok and not answer.is_json:
            raise self._not_the_api(answer, asked)
        if not answer.ok:
            raise self._refused(answer, asked)
        return answer

    async def knock(self, method: str, path: str, asked: Asked, *, json: Any, seconds: float | None) -> Answer:
        """Whatever is answered outside of the API: a webhook may say anything."""
        return await self._http.request(method, path, asked, json=json, seconds=seconds)

    async def decoded(self, answer: Answer, asked: Asked) -> Any:
        try:
            return await answer.json()
        except ValueError:
            raise self.cut_off(asked) from None

    async def object_in(self, answer: Answer, asked: Asked, *keys: str) -> dict[str, Any]:
        """The object that was asked for; one without these keys is something else."""
        found = await self.decoded(answer, asked)
        if not are_objects([found], *keys):
            raise self.cut_off(asked)
        return dict(found)

    def too_large(self, asked: Asked, allowed: str) -> ApiError:
        return self._http.too_large(asked, allowed)

    def cut_off(self, asked: Asked) -> ApiError:
        """An answer that began as it should and is no complete one."""
        hint = "Try again. If it stays so, look at what stands between us and n8n, and into n8n's own log."
        return self._http.failed(asked, "n8n's answer was empty or incomplete", hint=hint, unreachable=True)

    def _refused(self, answer: Answer, asked: Asked) -> ApiError:
        hint = None
        if answer.status == 401:
            hint = "Check N8N_API_KEY: it may be wrong or expired. n8n makes new ones under Settings → n8n API."
        elif answer.status == 403:
            hint = "The API key may lack the scope for this, or the instance the licence."
        elif answer.status == 429 or answer.status >= 500:
            hint = "Try again later. If it stays so, n8n's own log tells more."
        seconds = answer.headers.get("retry-after", "")
        return self._http.failed(
            asked,
            _reason(answer),
            status=answer.status,
            hint=hint,
            retry_after=float(seconds) if seconds.isdecimal() else None,
        )

    def _not_the_api(self, answer: Answer, asked: Asked) -> ApiError:
        if _STARTING_UP in answer.body[:200]:
            hint = "Try again in some seconds."
            return self._http.failed(asked, "n8n is still starting up", status=503, hint=hint)
        if not answer.body:
            return self.cut_off(asked)
        reason = "n8n answered with a page instead of data"
        return self._http.failed(asked, reason, status=answer.status, hint=_WRONG_ADDRESS)


def are_objects(found: Any, *keys: str) -> TypeGuard[list[dict[str, Any]]]:
    """Whether this is a list of objects that all have these keys."""
    return isinstance(found, list) and all(isinstance(one, dict) and all(key in one for key in keys) for one in found)


def missing(asked: Asked, hint: str | None = None) -> NotFoundError:
    """`Workflow 'abc123' not found`."""
    kind, name = asked.resource_type or "Resource", asked.resource_id or ""
    context = NotFoundErrorContext(operation=asked.operation, resource_type=kind, resource_id=name)
    return NotFoundError(f"{kind} '{name}' not found", context=context, hint=hint)


def _reason(answer: Answer) -> str:
    """n8n's own sentence where there is one. A page of HTML says nothing to an agent, and may show too much."""
    try:
        said = answer.short_json().get("message")
    except (ValueError, AttributeError):
        said = None
    if not isinstance(said, str) or not said.strip():
        return f"n8n answered with status {answer.status}"
    return said.strip()[:_LONGEST_REASON]
