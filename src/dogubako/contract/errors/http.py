"""Failures that only an HTTP door knows, and the one for everything outside a tool."""

from dogubako.contract.errors.base import DogubakoError


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
    """The body is larger than we read."""

    code = "PAYLOAD_TOO_LARGE"
    http_status = 413
    log_level = "warning"


class UnsupportedMediaTypeError(DogubakoError):
    """The body is not JSON."""

    code = "UNSUPPORTED_MEDIA_TYPE"
    http_status = 415
    log_level = "warning"


class InternalError(DogubakoError):
    """An exception outside a tool: ours to mend. Its text stays in the log, found by `error_id`."""

    code = "INTERNAL_ERROR"
    http_status = 500
