"""Time that does not pass while nobody looks."""


class Clock:
    """A clock that only goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now
