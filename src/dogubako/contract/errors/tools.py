"""Errors of the pipeline: finding, authorizing, validating and running a tool."""

from collections.abc import Sequence

import msgspec

from dogubako.contract.errors.base import DogubakoError, bounded_wait


class ToolNotFoundError(DogubakoError):
    """There is no tool of this name."""

    code = "TOOL_NOT_FOUND"
    http_status = 404
    log_level = "warning"
    # False inside another call: then it is a failure of that call, not a protocol error.
    asked_directly: bool = True


class ToolDisabledError(DogubakoError):
    """The tool is disabled, or its service is not configured."""

    code = "TOOL_DISABLED"
    http_status = 403
    log_level = "warning"


class ValidationErrorContext(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong field. The received value is never stored."""

    field: str
    message: str
    expected_type: str | None = None
    received_type: str | None = None
    constraint: str | None = None


class ValidationError(DogubakoError):
    """The arguments are invalid; every wrong field is named at once."""

    code = "VALIDATION_ERROR"
    http_status = 400
    log_level = "warning"

    def __init__(self, errors: Sequence[ValidationErrorContext], *, hint: str | None = None) -> None:
        super().__init__("; ".join(error.message for error in errors), hint=hint)
        self.errors = list(errors)

    @classmethod
    def of(cls, field: str, message: str, *, hint: str | None = None) -> "ValidationError":
        """An error with one wrong field."""
        return cls([ValidationErrorContext(field=field, message=message)], hint=hint)

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": error.field, "message": error.message} for error in self.errors]

    @property
    def log_fields(self) -> dict[str, object]:
        return {"fields": [error.field for error in self.errors]}


class ToolExecutionError(DogubakoError):
    """The tool raised an unexpected exception. The log has it under `error_id`."""

    code = "TOOL_EXECUTION_ERROR"
    http_status = 500


class ToolTimeoutError(DogubakoError):
    """The tool did not finish within its timeout."""

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
    """Too many calls are running and waiting."""

    code = "BUSY"
    http_status = 503
    log_level = "warning"
    retryable = True

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self._retry_after = bounded_wait(retry_after)

    @property
    def retry_after(self) -> float | None:
        return self._retry_after


class CancelledError(DogubakoError):
    """The call was stopped before it finished."""

    code = "CANCELLED"
    http_status = 499
    log_level = "warning"


class ConfirmationRequiredError(DogubakoError):
    """A destructive tool was called without a confirmation."""

    code = "CONFIRMATION_REQUIRED"
    http_status = 400
    log_level = "warning"


class ReadOnlyError(DogubakoError):
    """The server is read-only, and this tool writes."""

    code = "READ_ONLY"
    http_status = 403
    log_level = "warning"


class CapabilityRequiredError(DogubakoError):
    """The tool must ask the client's user or model, and this client does not support that."""

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
    """An image, a sound or a file does not fit the response budget, and cannot be truncated."""

    code = "ANSWER_TOO_LARGE"
    http_status = 500
    log_level = "warning"


class AuthenticationError(DogubakoError):
    """The caller is not authenticated. `missing`: the request has no credentials, instead of wrong ones."""

    code = "AUTHENTICATION_ERROR"
    http_status = 401
    log_level = "warning"

    def __init__(self, message: str, *, hint: str | None = None, missing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class AuthorizationError(DogubakoError):
    """The caller is authenticated, but not allowed to do this. `scope` would allow it."""

    code = "AUTHORIZATION_ERROR"
    http_status = 403
    log_level = "warning"

    def __init__(self, message: str, *, scope: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.scope = scope


class CredentialRequiredError(DogubakoError):
    """The service is used with credentials of callers, and this caller has none."""

    code = "CREDENTIAL_REQUIRED"
    http_status = 403
    log_level = "warning"


class RateLimitError(DogubakoError):
    """The caller exceeded its rate limit."""

    code = "RATE_LIMIT_EXCEEDED"
    http_status = 429
    log_level = "warning"
    retryable = True

    def __init__(
        self, message: str = "Rate limit exceeded", *, retry_after: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self._retry_after = bounded_wait(retry_after)

    @property
    def retry_after(self) -> float | None:
        return self._retry_after
