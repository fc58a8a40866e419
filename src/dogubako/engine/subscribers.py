"""Those who want to hear of changes."""

from collections.abc import Callable
from typing import Generic, TypeVar

ChangeT = TypeVar("ChangeT")


class Subscribers(Generic[ChangeT]):
    """Tells every change to whoever asked for it and has not gone away since."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ChangeT], None]] = {}

    def add(self, listener: Callable[[ChangeT], None]) -> Callable[[], None]:
        """Tell this one too, until the returned function is called."""
        token = object()
        self._listeners[token] = listener

        def remove() -> None:
            self._listeners.pop(token, None)

        return remove

    def tell(self, change: ChangeT) -> None:
        for listener in list(self._listeners.values()):
            listener(change)
