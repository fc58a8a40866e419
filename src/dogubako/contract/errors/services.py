"""Failures of the services behind our tools, with the typed contexts that the log keeps."""

from dataclasses import asdict, dataclass
from typing import Final

from dogubako.contract.errors.base import DogubakoError

# Gateways say these while the service behind them restarts; a second try often works.
_PASSING_STATUSES: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiErrorContext:
    """What we asked of the service, and what it said."""

    operation: str
    resource_type: str | None = None
    resource_id: str | None = None
    status_code: int | None = None
    error_details: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NotFoundErrorContext:
    """What we looked for."""

    operation: str
    resource_type: str
    resource_id: str


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
        self._retry_after = retry_after
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
        return {"status_code": self.status_code, **(asdict(self.context) if self.context else {})}


class NotFoundError(DogubakoError):
    """The service has no such thing, or does not show it to us."""

    code = "NOT_FOUND"
    http_status = 404
    log_level = "warning"

    def __init__(self, message: str, *, context: NotFoundErrorContext | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.context = context

    @property
    def log_fields(self) -> dict[str, object]:
        return asdict(self.context) if self.context else {}
