"""Work that only one of several processes does at a time: running a program that keeps state, for example."""

from collections.abc import Callable
from typing import Protocol

from dogubako.contract.storage import ProcessMessages


class Owners(Protocol):
    """Who owns what. An owner that ends, or that is killed, is followed by another process that takes part."""

    @property
    def messages(self) -> ProcessMessages:
        """How others reach an owner."""

    async def join(self, name: str, moved: Callable[[], None]) -> None:
        """Take part, and become the owner if there is none. `moved` is called when the owner changes."""

    async def leave(self, name: str, moved: Callable[[], None]) -> None:
        """Take part no longer. Another process may become the owner at once. Who has joined since stays."""

    def owner_of(self, name: str) -> str | None:
        """The process that owns it, as far as this one knows."""

    def owns(self, name: str) -> bool:
        """Whether this process is the owner."""

    def holds(self, name: str) -> bool:
        """Whether this process is the owner, and no other can have become it meanwhile."""
