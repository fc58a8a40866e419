"""Sign-ins at servers that want OAuth: where their tokens are kept, and who signs requests with them.

Tokens are encrypted like the credentials of callers (`gate/credential_vault.py`), one file for each server, and one for
each caller that signed in at it. A file opens only for the server and the caller that it was made for.
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from dogubako._lazy import load
from dogubako.contract.credentials import Credential
from dogubako.gateway.definitions import DefinitionStore, read_json, write_json

if TYPE_CHECKING:
    import httpx2

    from dogubako.gate.credential_vault import CredentialVault
    from dogubako.gateway.settings import ServerSettings

_KIND: Final = "oauth"
# The owner of the sign-in that all callers share. No caller has this id.
_OWNER: Final = "servers"

# Shows a person the address to sign in at.
ShowAddress = Callable[[str], Awaitable[None]]


class SignIns:
    """The sign-ins at all servers, of one caller or of all. Another process may sign in while this one runs."""

    def __init__(self, store: DefinitionStore, open_vault: "Callable[[], CredentialVault]", caller: str = "") -> None:
        self._store = store
        self._open_vault = open_vault
        # Empty for the sign-in that all callers share.
        self._caller = caller
        self._signers: dict[str, tuple[float, httpx2.Auth]] = {}

    @cached_property
    def _vault(self) -> "CredentialVault":
        # Opened late: cryptography is slow to import, and most servers want no sign-in.
        return self._open_vault()

    def of(self, caller: str) -> "SignIns":
        """The sign-ins of one caller, by the id that nobody else has."""
        return SignIns(self._store, self._open_vault, caller)

    def is_signed_in(self, server: str) -> bool:
        """Whether there are tokens for a server."""
        return bool(self.changed_at(server) and self.read(server).get("tokens"))

    def auth(self, server: str, settings: "ServerSettings") -> "httpx2.Auth | None":
        """Signs the requests to a server, and refreshes its token once at a time. None if nobody has signed in."""
        changed = self.changed_at(server)
        has_own_key = any(name.lower() == "authorization" for name in settings.headers)
        # A caller that has not signed in must not act as our client.
        as_client = settings.client_secret is not None and not self._caller
        if has_own_key or not (changed or as_client):
            return None
        known = self._signers.get(server)
        # Our own refreshes change the file as well; the signer keeps what it wrote.
        if known is None or (known[0] != changed and not getattr(known[1], "wrote", lambda time: False)(changed)):
            known = (changed, load("dogubako.gateway.oauth").signer(settings, StoredTokens(self, server)))
            self._signers[server] = known
        return known[1]

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
            self.write(server, fresh.read())
        except OSError as error:
            raise SignInFailed(f"The sign-in cannot be stored: {error.strerror}.") from error
        self._signers.pop(server, None)
        return True

    def sign_out(self, server: str) -> None:
        """Forget the tokens of a server."""
        self._signers.pop(server, None)
        self._path(server).unlink(missing_ok=True)

    def changed_at(self, server: str) -> float:
        """When the tokens of a server last changed; 0 if there are none."""
        try:
            return self._path(server).stat().st_mtime
        except OSError:
            return 0.0

    def read(self, server: str) -> dict[str, Any]:
        """What is stored; empty if there is nothing that can be decrypted."""
        sealed = read_json(self._path(server))
        opened = self._vault.open(self._caller or _OWNER, server, sealed) if isinstance(sealed, str) else None
        try:
            kept = msgspec.json.decode(opened.key) if opened is not None else {}
        except msgspec.DecodeError:
            kept = {}
        return kept if isinstance(kept, dict) else {}

    def write(self, server: str, kept: dict[str, Any]) -> None:
        """Store tokens. Raises OSError if that is not possible."""
        secret = Credential(key=msgspec.json.encode(kept).decode())
        write_json(self._path(server), self._vault.seal(self._caller or _OWNER, server, secret))

    def _path(self, server: str) -> Path:
        if not self._caller:
            return self._store.path(server, _KIND)
        # An id may hold any character, of an OAuth subject for example.
        return self._store.path(server, f"{_KIND}-{hashlib.sha256(self._caller.encode()).hexdigest()[:32]}")


class Tokens(Protocol):
    """Where a sign-in keeps its tokens and its registered client."""

    @property
    def written_at(self) -> float: ...

    def read(self) -> dict[str, Any]: ...

    def write(self, **changes: Any) -> None: ...


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

    def write(self, **changes: Any) -> None:
        self._sign_ins.write(self.server, {**self.read(), **changes})
        self.written_at = self._sign_ins.changed_at(self.server)


class NewTokens:
    """The tokens of a sign-in that is not complete."""

    written_at = 0.0

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        return self._kept

    def write(self, **changes: Any) -> None:
        self._kept |= changes


class RedirectTarget(NamedTuple):
    """Where the browser comes back to after a sign-in, and the parameters of the address that it comes with."""

    redirect_uri: str
    query: "Callable[[], Awaitable[dict[str, str]]]"


class SignInFailed(Exception):  # noqa: N818 - its text is a sentence for the person who signs in
    """Nobody could sign in."""
