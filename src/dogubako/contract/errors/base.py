"""The root of everything that can go wrong, and what each failure must be able to say about itself."""

from typing import ClassVar, Literal

LogLevel = Literal["debug", "info", "warning", "error"]
_WEIGHTS: dict[LogLevel, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class DogubakoError(Exception):
    """A failure with a stable code, a sentence that is safe to show, and advice for whoever reads it."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    http_status: ClassVar[int] = 500
    log_level: ClassVar[LogLevel] = "error"
    is_error: ClassVar[bool] = True
    retryable: bool = False
    # Set on the copy that a caller is shown: `details` without secrets, and no more than fit the budget.
    shown_details: list[dict[str, str]] | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.error_id: str | None = None

    def drop_traceback(self) -> None:
        """Forget where it was raised and why, once that was logged: the frames would keep all that they worked on."""
        self.__traceback__ = self.__cause__ = self.__context__ = None

    @property
    def log_weight(self) -> int:
        """`log_level` as loggers count it."""
        return _WEIGHTS[self.log_level]

    @property
    def transient(self) -> bool:
        """Whether the engine itself may try again. `retryable` only advises the agent."""
        return False

    @property
    def retry_after(self) -> float | None:
        """Seconds that the other side asked us to wait."""
        return None

    @property
    def details(self) -> list[dict[str, str]]:
        """What is wrong, field by field, where the failure has fields."""
        return []

    @property
    def log_fields(self) -> dict[str, object]:
        """Typed context for the log; never shown to a caller."""
        return {}
