"""The base class of all errors, and the errors that only an HTTP transport raises."""

import math
from typing import ClassVar, Literal

# How loudly the server logs an error of a class.
LogLevel = Literal["debug", "info", "warning", "error"]
_WEIGHTS: dict[LogLevel, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


# Nobody waits for longer.
MOST_WAIT_SECONDS = 7 * 24 * 3600.0


def bounded_wait(seconds: float | None) -> float | None:
    """Seconds to wait, from none to a week. An integer may be larger than any float."""
    if seconds is None or not -math.inf < seconds < math.inf:
        return seconds
    return max(0, min(seconds, MOST_WAIT_SECONDS))


class DogubakoError(Exception):
    """Base class of all errors. `message` is one sentence that is safe to show; `hint` says what to do next."""

    # Stable: programs may depend on it.
    code: ClassVar[str] = "INTERNAL_ERROR"
    # The status of the REST answer.
    http_status: ClassVar[int] = 500
    log_level: ClassVar[LogLevel] = "error"
    # Whether the answer is marked as an error (`isError`).
    is_error: ClassVar[bool] = True
    # Advises the caller that the same call may work later.
    retryable: bool = False
    # Set on the copy that a caller is shown: the redacted `details` that fit the response budget.
    shown_details: list[dict[str, str]] | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.error_id: str | None = None

    def drop_traceback(self) -> None:
        """Drop traceback and cause once they are logged, so that their frames do not keep data in memory."""
        self.__traceback__ = self.__cause__ = self.__context__ = None

    @property
    def log_weight(self) -> int:
        """`log_level` as a number."""
        return _WEIGHTS[self.log_level]

    @property
    def transient(self) -> bool:
        """Whether the engine itself may repeat the call. `retryable` only advises the caller."""
        return False

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next try, if the service named them."""
        return None

    @property
    def details(self) -> list[dict[str, str]]:
        """What is wrong, field by field."""
        return []

    @property
    def log_fields(self) -> dict[str, object]:
        """Fields for the server's log. A caller never sees them."""
        return {}


class RouteNotFoundError(DogubakoError):
    """No such path."""

    code = "ROUTE_NOT_FOUND"
    http_status = 404
    log_level = "warning"


class MethodNotAllowedError(DogubakoError):
    """The path exists, the method does not."""

    code = "METHOD_NOT_ALLOWED"
    http_status = 405
    log_level = "warning"

    def __init__(self, message: str, *, allowed: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or (f"Allowed: {allowed}." if allowed else None))
        self.allowed = allowed


class PayloadTooLargeError(DogubakoError):
    """The body is larger than the limit."""

    code = "PAYLOAD_TOO_LARGE"
    http_status = 413
    log_level = "warning"


class UnsupportedMediaTypeError(DogubakoError):
    """The body is not JSON."""

    code = "UNSUPPORTED_MEDIA_TYPE"
    http_status = 415
    log_level = "warning"


class GatewayLoopError(DogubakoError):
    """A gateway asks for the tools of a server that has the gateway's own tools."""

    code = "GATEWAY_LOOP"
    http_status = 508
    log_level = "warning"


class InternalError(DogubakoError):
    """An unexpected exception outside a tool. The log has it under `error_id`."""

    code = "INTERNAL_ERROR"
    http_status = 500
