"""Errors of the services behind tools, and of the web."""

from typing import ClassVar, Final

import msgspec

from dogubako.contract.errors.base import DogubakoError, bounded_wait

# Gateways answer with these while the service behind them restarts; a retry often works.
_PASSING_STATUSES: Final = frozenset({502, 503, 504})


class ApiErrorContext(msgspec.Struct, frozen=True, kw_only=True):
    """What was requested from the service, and what it answered. For the log only."""

    operation: str
    resource_type: str | None = None
    resource_id: str | None = None
    status_code: int | None = None
    error_details: str | None = None


class NotFoundErrorContext(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked for. For the log only."""

    operation: str
    resource_type: str
    resource_id: str


def _fields_of(context: ApiErrorContext | NotFoundErrorContext | None) -> dict[str, object]:
    return msgspec.structs.asdict(context) if context else {}


class ApiError(DogubakoError):
    """A service refused, failed, or could not be reached (then it has no status code)."""

    code = "API_ERROR"
    http_status = 502

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        context: ApiErrorContext | None = None,
        retry_after: float | None = None,
        unreachable: bool = False,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status_code = status_code
        self.context = context
        self.unreachable = unreachable
        self._retry_after = bounded_wait(retry_after)
        self.retryable = self.transient or status_code == 429

    @property
    def transient(self) -> bool:
        asked_to_wait = self.status_code == 429 and self._retry_after is not None
        return self.unreachable or self.status_code in _PASSING_STATUSES or asked_to_wait

    @property
    def retry_after(self) -> float | None:
        return self._retry_after

    @property
    def log_fields(self) -> dict[str, object]:
        return {"status_code": self.status_code, **_fields_of(self.context)}


class NotFoundError(DogubakoError):
    """The service has no such record, or does not show it to this user."""

    code = "NOT_FOUND"
    http_status = 404
    log_level = "warning"

    def __init__(self, message: str, *, context: NotFoundErrorContext | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.context = context

    @property
    def log_fields(self) -> dict[str, object]:
        return _fields_of(self.context)


class ConflictError(DogubakoError):
    """Somebody else changed the record since it was read, in the same place."""

    code = "CONFLICT"
    http_status = 409
    log_level = "warning"


class WebSearchError(DogubakoError):
    """A web request or a search failed. `cause` is for the log only."""

    sentence: ClassVar[str] = "Web search failed."

    def __init__(self, cause: str = "", *, message: str | None = None, hint: str | None = None) -> None:
        super().__init__(message or self.sentence, hint=hint)
        self.cause = cause

    @property
    def log_fields(self) -> dict[str, object]:
        return {"cause": self.cause} if self.cause else {}


class HttpError(WebSearchError):
    """The request could not be sent, or was answered with an error status."""

    code = "HTTP_ERROR"
    http_status = 502
    sentence = "Failed to fetch search results. Please try again later."
    retryable = True

    def __init__(
        self,
        cause: str = "",
        *,
        passing: bool = False,
        lasting: bool = False,
        retry_after: float | None = None,
        message: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(cause, message=message, hint=hint)
        # Another attempt would have the same outcome: a page that does not exist, or is too large.
        self.retryable = not lasting
        self._passing = passing
        self._retry_after = bounded_wait(retry_after)

    @property
    def transient(self) -> bool:
        return self._passing

    @property
    def retry_after(self) -> float | None:
        return self._retry_after


class HtmlParseError(WebSearchError):
    """The page has neither results, nor "no results", nor a challenge."""

    code = "HTML_PARSE_ERROR"
    http_status = 502
    sentence = "Failed to parse search results. The page structure may have changed."


class JsonParseError(WebSearchError):
    """An API answered with unexpected JSON, or with none."""

    code = "JSON_PARSE_ERROR"
    http_status = 502
    sentence = "Failed to parse API response."


class EmptyQuery(WebSearchError):  # noqa: N818 - the word of the design documents
    """The query is empty."""

    code = "EMPTY_QUERY"
    http_status = 400
    log_level = "warning"
    sentence = "Query must not be empty."


class Timeout(WebSearchError):  # noqa: N818 - the word of the design documents
    """The request timed out."""

    code = "TIMEOUT"
    http_status = 408
    log_level = "warning"
    sentence = "Request timed out. Please try again."
    retryable = True

    @property
    def transient(self) -> bool:
        return True


class NoResults(WebSearchError):  # noqa: N818 - the word of the design documents
    """The search worked and found nothing: an answer, not a failure."""

    code = "NO_RESULTS"
    http_status = 200
    log_level = "info"
    is_error = False
    sentence = "No results found."


class Blocked(WebSearchError):  # noqa: N818 - the word of the design documents
    """The provider sent a CAPTCHA challenge. It must never look like "no results"."""

    code = "SEARCH_BLOCKED"
    http_status = 503
    log_level = "warning"
    sentence = "Search was blocked by the provider. The query may have results; they could not be fetched."
    retryable = True

    def __init__(self, cause: str = "", *, message: str | None = None, hint: str | None = None) -> None:
        super().__init__(cause, message=message, hint=hint or "Use another provider, or wait before searching again.")


class UrlNotAllowed(WebSearchError):  # noqa: N818 - the word of the design documents
    """The URL is private, or of a kind that may not be fetched."""

    code = "URL_NOT_ALLOWED"
    http_status = 403
    log_level = "warning"
    sentence = "This URL may not be fetched."
