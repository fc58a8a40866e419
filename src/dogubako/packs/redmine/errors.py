"""What Redmine's refusals, and its silences, mean.

ApiError
├── RedmineRefused        it said no: 401, 403, 409, 422, …, with its own reasons where it gave some
├── NotDoneError          it said yes and did something else
└── UnseenError           it said yes, and we could not look whether it is so
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError
from dogubako.outbound.http import Asked


class RedmineRefused(ApiError):  # noqa: N818 - a refusal, whose reasons others explain
    """Redmine answered, and the answer is no."""

    def __init__(
        self,
        asked: Asked,
        reason: str,
        *,
        status: int,
        reasons: Sequence[str] = (),
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        context = ApiErrorContext(
            operation=asked.operation,
            resource_type=asked.resource_type,
            resource_id=asked.resource_id,
            status_code=status,
            error_details=reason,
        )
        message = f"Failed to {asked.operation}: {reason}"
        super().__init__(message, status_code=status, context=context, hint=hint, retry_after=retry_after)
        self.asked = asked
        self.reasons = tuple(reasons)
        self.explained = False

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": "", "message": reason} for reason in self.reasons]

    def because(self, reason: str, hint: str | None = None) -> "RedmineRefused":
        """The same refusal with a better reason, once somebody has looked for it."""
        assert self.status_code is not None
        better = RedmineRefused(self.asked, reason, status=self.status_code, hint=hint or self.hint)
        better.explained = True
        return better


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """One thing that was asked for and did not happen, and why, where that can be known."""

    field: str
    reason: str


class NotDoneError(ApiError):
    """Redmine reported success, but not everything that was asked for happened."""

    def __init__(self, message: str, undone: Sequence[Undone], *, context: ApiErrorContext, hint: str) -> None:
        listed = "; ".join(f"{one.field}: {one.reason}" for one in undone)
        super().__init__(f"{message}: {listed}", status_code=context.status_code, context=context, hint=hint)
        self.undone = tuple(undone)

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": one.field, "message": one.reason} for one in self.undone]


class UnseenError(ApiError):
    """Redmine reported success, but then did not let us look. A repetition might do it twice."""

    def __init__(self, message: str, trouble: DogubakoError, hint: str) -> None:
        super().__init__(f"{message}: {trouble.message}", context=getattr(trouble, "context", None), hint=hint)
