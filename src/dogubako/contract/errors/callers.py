"""Failures that concern who is calling us, and how often."""

from dogubako.contract.errors.base import DogubakoError


class AuthenticationError(DogubakoError):
    """We do not know who is calling. `missing`: nobody even said so, which is not the same as saying it wrongly."""

    code = "AUTHENTICATION_ERROR"
    http_status = 401
    log_level = "warning"

    def __init__(self, message: str, *, hint: str | None = None, missing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class AuthorizationError(DogubakoError):
    """We know who is calling, and they may not do this. `scope` would allow it."""

    code = "AUTHORIZATION_ERROR"
    http_status = 403
    log_level = "warning"

    def __init__(self, message: str, *, scope: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.scope = scope


class RateLimitError(DogubakoError):
    """The caller asks too often."""

    code = "RATE_LIMIT_EXCEEDED"
    http_status = 429
    log_level = "warning"
    retryable = True

    def __init__(
        self, message: str = "Rate limit exceeded", *, retry_after: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self._retry_after = retry_after

    @property
    def retry_after(self) -> float | None:
        return self._retry_after
