"""Errors for Redmine's refusals, and for changes that it ignored.

ApiError
├── RedmineRefused        it refused: 401, 403, 409, 422, …, with its own reasons if it gave some
├── NotDoneError          it reported success and did something else
└── UnseenError           it reported success, and we could not read it back
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError
from dogubako.outbound.http import Operation


class RedmineRefused(ApiError):  # noqa: N818 - a refusal, whose reasons others explain
    """Redmine refused the request."""

    def __init__(
        self,
        operation: Operation,
        reason: str,
        *,
        status: int,
        reasons: Sequence[str] = (),
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        context = ApiErrorContext(
            operation=operation.name,
            resource_type=operation.resource_type,
            resource_id=operation.resource_id,
            status_code=status,
            error_details=reason,
        )
        message = f"Failed to {operation.name}: {reason}"
        super().__init__(message, status_code=status, context=context, hint=hint, retry_after=retry_after)
        self.operation = operation
        self.reasons = tuple(reasons)
        self.explained = False

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": "", "message": reason} for reason in self.reasons]

    def because(self, reason: str, hint: str | None = None) -> "RedmineRefused":
        """A copy of the refusal with a better reason."""
        assert self.status_code is not None
        better = RedmineRefused(self.operation, reason, status=self.status_code, hint=hint or self.hint)
        better.explained = True
        return better

    def with_facts(self, facts: Sequence[str]) -> "RedmineRefused":
        """A copy of the refusal with what we know beside Redmine's own reasons."""
        assert self.status_code is not None
        told = "; ".join((*self.reasons, *facts))
        better = RedmineRefused(self.operation, told, status=self.status_code, reasons=self.reasons, hint=self.hint)
        better.explained = True
        return better


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """One requested change that did not happen, and the reason if it is known."""

    field: str
    reason: str


class NotDoneError(ApiError):
    """Redmine reported success, but not every requested change happened."""

    def __init__(self, message: str, undone: Sequence[Undone], *, context: ApiErrorContext, hint: str) -> None:
        listed = "; ".join(f"{one.field}: {one.reason}" for one in undone)
        super().__init__(f"{message}: {listed}", status_code=context.status_code, context=context, hint=hint)
        self.undone = tuple(undone)

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": one.field, "message": one.reason} for one in self.undone]


class UnseenError(ApiError):
    """Redmine reported success, but the result could not be read. A repetition might do it twice."""

    def __init__(self, message: str, trouble: DogubakoError, hint: str) -> None:
        super().__init__(f"{message}: {trouble.message}", context=getattr(trouble, "context", None), hint=hint)


def reason_of(error: DogubakoError) -> str:
    """The reason without the words around it, for a list in which they would repeat."""
    details = getattr(getattr(error, "context", None), "error_details", None)
    return str(details or error.message)
