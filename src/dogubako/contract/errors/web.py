"""Failures of web search and page reading. Each class has the sentence that a person reads."""

from typing import ClassVar

from dogubako.contract.errors.base import DogubakoError


class WebSearchError(DogubakoError):
    """Something between us and the web went wrong. `cause` is for the log only."""

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
        retry_after: float | None = None,
        message: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(cause, message=message, hint=hint)
        self._passing = passing
        self._retry_after = retry_after

    @property
    def transient(self) -> bool:
        return self._passing

    @property
    def retry_after(self) -> float | None:
        return self._retry_after


class HtmlParseError(WebSearchError):
    """The page is neither results, nor an empty answer, nor a challenge."""

    code = "HTML_PARSE_ERROR"
    http_status = 502
    sentence = "Failed to parse search results. The page structure may have changed."


class JsonParseError(WebSearchError):
    """An API answered something that is not the JSON we know."""

    code = "JSON_PARSE_ERROR"
    http_status = 502
    sentence = "Failed to parse API response."


class EmptyQuery(WebSearchError):  # noqa: N818 - the word of the design documents
    """A search for nothing."""

    code = "EMPTY_QUERY"
    http_status = 400
    log_level = "warning"
    sentence = "Query must not be empty."


class Timeout(WebSearchError):  # noqa: N818 - the word of the design documents
    """The web did not answer in time."""

    code = "TIMEOUT"
    http_status = 408
    log_level = "warning"
    sentence = "Request timed out. Please try again."
    retryable = True

    @property
    def transient(self) -> bool:
        return True


class NoResults(WebSearchError):  # noqa: N818 - the word of the design documents
    """The search worked and found nothing, which is an answer and not a failure."""

    code = "NO_RESULTS"
    http_status = 200
    log_level = "info"
    is_error = False
    sentence = "No results found."


class Blocked(WebSearchError):  # noqa: N818 - the word of the design documents
    """The provider asked for a proof that we are human. It must never read as "no results"."""

    code = "SEARCH_BLOCKED"
    http_status = 503
    log_level = "warning"
    sentence = "Search was blocked by the provider. The query may have results; they could not be fetched."
    retryable = True

    def __init__(self, cause: str = "", *, message: str | None = None, hint: str | None = None) -> None:
        super().__init__(cause, message=message, hint=hint or "Use another provider, or wait before searching again.")


class UrlNotAllowed(WebSearchError):  # noqa: N818 - the word of the design documents
    """The address is private, or of a kind that we do not fetch."""

    code = "URL_NOT_ALLOWED"
    http_status = 403
    log_level = "warning"
    sentence = "This URL may not be fetched."
