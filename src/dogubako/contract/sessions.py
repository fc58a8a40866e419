"""Sessions of MCP clients that all processes of a server know, whichever of them opened one."""

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

import msgspec

# What became of a session that somebody wants to use on: it is known, it was ended, or the store lost it.
SessionFate = Literal["known", "ended", "lost"]


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs to serve a session. `opening` is the client's `initialize` request."""

    opening: bytes
    # The identity of the caller; empty if nobody has to say who he is.
    owner: str
    # Sessions are counted by holder: a caller, or an address.
    holder: str
    log_level: str | None = None
    subscriptions: frozenset[str] = frozenset()


class ListenerChange(msgspec.Struct, frozen=True, kw_only=True):
    """Which process has the stream of a session that is told news, and since which version; empty for none."""

    told: str
    version: int
    before: str
    # The processes that serve the session.
    processes: Collection[str]


class SessionStore(Protocol):
    """The sessions of all processes. Every method raises `BusyError` when nobody can tell."""

    async def open(self, session: str, record: SessionRecord, *, most: int) -> None:
        """Add a session that this process opens, or raise `BusyError`: its holder has `most` that are in use."""

    async def join(self, session: str) -> SessionRecord | None:
        """The session, which this process serves from now on, too; None if there is none."""

    async def set_log_level(self, session: str, level: str) -> Collection[str]:
        """Change the log level. Returns the processes that serve the session, as the next three methods do."""

    async def subscribe(self, session: str, uri: str) -> Collection[str]: ...

    async def unsubscribe(self, session: str, uri: str) -> Collection[str]: ...

    async def end(self, session: str) -> Collection[str]: ...

    async def listen(self, session: str, *, instead_of: str | None = None) -> ListenerChange | None:
        """Have the stream at this process told news; None if there is no such session.

        With `instead_of` another process than that one stays the one that is told.
        """

    async def unlisten(self, session: str, version: int) -> ListenerChange | None:
        """Have nobody told any more; None if somebody else is told, or this process since another version."""

    async def processes(self, session: str) -> Collection[str]:
        """The processes that serve the session. Some may be gone."""

    async def renew(self, sessions: Sequence[str]) -> Sequence[SessionFate]:
        """Start the idle time of these sessions anew."""

    async def restore(self, session: str, record: SessionRecord) -> None:
        """Add a session again that the store lost."""

    async def was_emptied(self) -> bool:
        """Whether the store lost what it knew since somebody asked last."""
