"""Sign-ins at servers that want OAuth: who signs requests with their tokens, and how a person signs in."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dogubako._lazy import load
from dogubako.contract.errors import DogubakoError
from dogubako.gateway.sign_in_stores import Account, SignInStore

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

# Shows a person the address to sign in at.
ShowAddress = Callable[[str], Awaitable[None]]


class SignIns:
    """The sign-ins at all servers, of one caller or of all. Another process may sign in while this one runs."""

    def __init__(self, store: SignInStore, caller: str = "") -> None:
        self._store = store
        # Empty for the sign-in that all callers share.
        self._caller = caller
        self._signers: dict[str, tuple[float, httpx2.Auth]] = {}

    def keep_in(self, store: SignInStore) -> None:
        """Keep all sign-ins there. Called before any server is connected."""
        self._store = store

    def of(self, caller: str) -> "SignIns":
        """The sign-ins of one caller, by the id that nobody else has."""
        return SignIns(self._store, caller)

    def opened(self) -> AbstractAsyncContextManager[None]:
        """For one command: read what is stored, and close the connection at the end."""
        return self._store.opened()

    def is_signed_in(self, server: str) -> bool:
        """Whether there are tokens for a server."""
        return bool(self.changed_at(server) and self.read(server).get("tokens"))

    def auth(self, server: str, settings: "ServerSettings") -> "httpx2.Auth | None":
        """Signs the requests to a server, and refreshes its token once at a time. None if nobody has signed in."""
        changed = self.changed_at(server)
        has_own_key = any(name.lower() == "authorization" for name in settings.headers)
        # A caller that has not signed in must not act as our client.
        as_client = settings.client_secret is not None and not self._caller
        if has_own_key or not (changed or as_client) or self._is_of_another(server, settings):
            return None
        known = self._signers.get(server)
        # Our own refreshes change the tokens as well; the signer keeps what it wrote.
        if known is None or (known[0] != changed and not getattr(known[1], "wrote", lambda time: False)(changed)):
            known = (changed, load("dogubako.gateway.oauth").signer(settings, StoredTokens(self, server)))
            self._signers[server] = known
        return known[1]

    def _is_of_another(self, server: str, settings: "ServerSettings") -> bool:
        """Whether the tokens are those of another address that had this name before. They are not sent to this one."""
        return self.read(server).get("url", settings.url) != settings.url

    async def sign_in(
        self,
        server: str,
        settings: "ServerSettings",
        show: ShowAddress,
        redirect_target: "RedirectTarget | None" = None,
    ) -> bool:
        """Have a person sign in with a browser. False if the server wants nobody to.

        The browser comes back by `redirect_target`; without one, to a port of this machine. What was stored before
        stays until the new sign-in is complete. Raises `SignInFailed` with a sentence for the person.
        """
        fresh = NewTokens()
        if not await load("dogubako.gateway.oauth").sign_in(settings, fresh, show, redirect_target):
            return False
        try:
            await self._store.write(self._at(server), {**fresh.read(), "url": settings.url})
        except OSError as error:
            raise SignInFailed(f"The sign-in cannot be stored: {error.strerror}.") from error
        except DogubakoError as error:
            raise SignInFailed(f"The sign-in cannot be stored. {error.message}") from error
        self._signers.pop(server, None)
        return True

    async def sign_out(self, server: str) -> None:
        """Forget the tokens of a server."""
        self._signers.pop(server, None)
        await self._store.remove(self._at(server))

    async def forget(self, server: str) -> None:
        """Forget the tokens of all callers for a server that is no more."""
        await self._store.forget(server)

    def changed_at(self, server: str) -> float:
        """When the tokens of a server last changed; 0 if there are none."""
        return self._store.changed_at(self._at(server))

    def read(self, server: str) -> dict[str, Any]:
        """What is stored; empty if there is nothing that can be decrypted."""
        return self._store.read(self._at(server))

    async def write(self, server: str, kept: dict[str, Any]) -> None:
        """Store tokens that were refreshed. Raises OSError if that is not possible."""
        await self._store.write(self._at(server), kept, refreshed=True)

    def lock(self, server: str) -> AbstractAsyncContextManager[None]:
        """Refresh the tokens of a server inside, as the only process that does."""
        return self._store.lock(self._at(server))

    def _at(self, server: str) -> Account:
        return Account(server, self._caller)


class Tokens(Protocol):
    """Where a sign-in keeps its tokens and its registered client."""

    @property
    def written_at(self) -> float: ...

    def read(self) -> dict[str, Any]: ...

    async def write(self, **changes: Any) -> None: ...

    def lock(self) -> AbstractAsyncContextManager[None]: ...


class StoredTokens:
    """The tokens and the registered client of one server."""

    def __init__(self, sign_ins: SignIns, server: str) -> None:
        self._sign_ins = sign_ins
        self.server = server
        self.written_at = 0.0

    @property
    def changed_at(self) -> float:
        """When they last changed; 0 if there are none."""
        return self._sign_ins.changed_at(self.server)

    def read(self) -> dict[str, Any]:
        return self._sign_ins.read(self.server)

    async def write(self, **changes: Any) -> None:
        await self._sign_ins.write(self.server, {**self.read(), **changes})
        self.written_at = self._sign_ins.changed_at(self.server)

    def lock(self) -> AbstractAsyncContextManager[None]:
        return self._sign_ins.lock(self.server)


class NewTokens:
    """The tokens of a sign-in that is not complete."""

    written_at = 0.0

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        return self._kept

    async def write(self, **changes: Any) -> None:
        self._kept |= changes

    def lock(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


class RedirectTarget(NamedTuple):
    """Where the browser comes back to after a sign-in, and the parameters of the address that it comes with."""

    redirect_uri: str
    query: "Callable[[], Awaitable[dict[str, str]]]"


class SignInFailed(Exception):  # noqa: N818 - its text is a sentence for the person who signs in
    """Nobody could sign in."""
