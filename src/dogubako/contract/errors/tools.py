"""Failures of our own path: finding, allowing, checking and running a tool."""

from collections.abc import Sequence
from dataclasses import dataclass

from dogubako.contract.errors.base import DogubakoError


class ToolNotFoundError(DogubakoError):
    """Nobody registered a tool of this name."""

    code = "TOOL_NOT_FOUND"
    http_status = 404
    log_level = "warning"
    # Asked for inside another call it is that call's failure, not one of the protocol.
    asked_directly: bool = True


class ToolDisabledError(DogubakoError):
    """The tool exists but is switched off, or its service is not configured."""

    code = "TOOL_DISABLED"
    http_status = 403
    log_level = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidationErrorContext:
    """One wrong field. The received value itself is never kept."""

    field: str
    message: str
    expected_type: str | None = None
    received_type: str | None = None
    constraint: str | None = None


class ValidationError(DogubakoError):
    """The arguments do not fit; every wrong field is named at once."""

    code = "VALIDATION_ERROR"
    http_status = 400
    log_level = "warning"

    def __init__(self, errors: Sequence[ValidationErrorContext], *, hint: str | None = None) -> None:
        super().__init__("; ".join(error.message for error in errors), hint=hint)
        self.errors = list(errors)

    @classmethod
    def of(cls, field: str, message: str, *, hint: str | None = None) -> "ValidationError":
        """The common case of one wrong field."""
        return cls([ValidationErrorContext(field=field, message=message)], hint=hint)

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": error.field, "message": error.message} for error in self.errors]

    @property
    def log_fields(self) -> dict[str, object]:
        return {"fields": [error.field for error in self.errors]}


class ToolExecutionError(DogubakoError):
    """An exception that no tool author foresaw. Its text stays in the log, found by `error_id`."""

    code = "TOOL_EXECUTION_ERROR"
    http_status = 500


class ToolTimeoutError(DogubakoError):
    """The tool did not finish in the time it was given."""

    code = "TIMEOUT"
    http_status = 408
    log_level = "warning"
    retryable = True

    def __init__(self, message: str, *, hint: str | None = None, repeatable: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.retryable = repeatable

    @property
    def transient(self) -> bool:
        return self.retryable


class BusyError(DogubakoError):
    """Too many calls are running and waiting already."""

    code = "BUSY"
    http_status = 503
    log_level = "warning"
    retryable = True

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self._retry_after = retry_after

    @property
    def retry_after(self) -> float | None:
        return self._retry_after


class CancelledError(DogubakoError):
    """The call was stopped before it finished."""

    code = "CANCELLED"
    http_status = 499
    log_level = "warning"


class ConfirmationRequiredError(DogubakoError):
    """A destructive tool was called without a word that it is meant."""

    code = "CONFIRMATION_REQUIRED"
    http_status = 400
    log_level = "warning"


class ReadOnlyError(DogubakoError):
    """The server only reads, and this tool writes."""

    code = "READ_ONLY"
    http_status = 403
    log_level = "warning"


class CapabilityRequiredError(DogubakoError):
    """The tool must talk to the person or the model behind the client, and this client offers no way."""

    code = "CAPABILITY_REQUIRED"
    http_status = 400
    log_level = "warning"

    def __init__(self, capability: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"This tool needs a client that supports {capability}.",
            hint=hint or "Call it from an MCP client that declares this capability.",
        )
        self.capability = capability


class AnswerTooLargeError(DogubakoError):
    """A picture, a sound or a file does not fit the response budget, and half of one is no use to anybody."""

    code = "ANSWER_TOO_LARGE"
    http_status = 500
    log_level = "warning"
