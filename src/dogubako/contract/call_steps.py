"""What a call did on its way: requests to services, and repetitions. For the console and for traces."""

from contextvars import ContextVar
from typing import Final, Literal

import msgspec

# More of one call are not kept.
MOST_STEPS: Final = 50


class CallStep(msgspec.Struct, frozen=True, gc=False):
    """A request to a service (`name` is the service, `detail` the method), or a retry (`name` is the error's code)."""

    kind: Literal["request", "retry"]
    name: str
    detail: str
    # Seconds since the epoch.
    at: float
    ms: float
    status: int | None = None


# The steps of the running call; None where nobody collects them. Written in place, because every call passes here.
call_steps: ContextVar[list[CallStep] | None] = ContextVar("dogubako_call_steps", default=None)
