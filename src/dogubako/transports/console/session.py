"""Console sessions: a sealed cookie that refers to an API key, and the CSRF token that belongs to it.

The cookie never holds a key. It names the id of one, so it ends when the key is revoked or expires, and when somebody
signs out, for every copy of it, on all machines that share a Redis. Without authentication it only carries the random
id that CSRF tokens are bound to.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from typing import Final, Literal, TypeVar

import anyio.to_thread
import jwt
import msgspec
import structlog

from dogubako.contract.call import Caller
from dogubako.contract.errors import AuthenticationError
from dogubako.contract.storage import SharedStore
from dogubako.gate.authentication import Authenticator, KeyAuthentication, NoAuthentication
from dogubako.gate.code_flow import SignInRequest
from dogubako.gate.files import load_or_create_secret
from dogubako.key_ring import KeyRing, RingCipher, RingKey
from dogubako.settings import Settings
from dogubako.transports.console.ended_sessions import EndedSessions

log = structlog.get_logger("dogubako.console")

COOKIE: Final = "dogubako_console"
PATH: Final = "/console"
SESSION_SECONDS: Final = 12 * 3600
# An access token may be withdrawn, and nobody tells us.
TOKEN_SESSION_SECONDS: Final = 3600
_LONGEST_COOKIE: Final = 4_000
_KEY_FILE: Final = "console.key"
_PURPOSE: Final = b"dogubako console sessions"
_CSRF_PURPOSE: Final = b"dogubako console forms"


class Session(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The plain text of the cookie."""

    id: str
    until: float
    kind: Literal["visitor", "key", "token"] = "visitor"
    # The id of the API key, or of the subject of a token.
    subject: str = ""
    name: str = ""
    scopes: tuple[str, ...] = ()
    begun: float = 0.0


class PendingSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """The plain text of the cookie of a sign-in that has begun at the authorization server."""

    request: SignInRequest
    back: str
    until: float


Sealed = TypeVar("Sealed", Session, PendingSignIn)


class Sessions:
    """Makes, opens and checks sessions."""

    def __init__(self, settings: Settings, authenticator: Authenticator, store: SharedStore | None = None) -> None:
        self._settings = settings
        self._authenticator = authenticator
        self._store = store
        self._ended = EndedSessions(settings.data_dir, SESSION_SECONDS)

    @property
    def needed(self) -> bool:
        """Whether visitors have to sign in."""
        return not isinstance(self._authenticator, NoAuthentication)

    def visitor(self) -> Session:
        """A session of somebody who has not signed in."""
        return Session(id=secrets.token_urlsafe(16), until=time.time() + SESSION_SECONDS)

    async def sign_in(self, secret: str) -> Session:
        """A session for the holder of this key or access token, or AuthenticationError."""
        caller = await self._authenticator.authenticate([(b"authorization", b"Bearer " + secret.strip().encode())])
        by_key = isinstance(self._authenticator, KeyAuthentication)
        seconds = SESSION_SECONDS if by_key else min(TOKEN_SESSION_SECONDS, _seconds_left(secret.strip()))
        now = time.time()
        return Session(
            id=secrets.token_urlsafe(16),
            begun=now,
            until=now + seconds,
            kind="key" if by_key else "token",
            subject=caller.id,
            name=caller.name,
            scopes=() if by_key else tuple(sorted(caller.scopes)),
        )

    async def caller(self, session: Session | None) -> Caller:
        """Who is signed in, or AuthenticationError. A key is looked up again each time."""
        if not self.needed:
            return await self._authenticator.authenticate(())
        if session is None or session.kind == "visitor":
            raise AuthenticationError("Sign in first.", missing=True)
        if self._has_ended(session) or await self._has_ended_elsewhere(session):
            raise AuthenticationError("Sign in again: this session was signed out.")
        if isinstance(self._authenticator, KeyAuthentication):
            if session.kind != "key":
                raise AuthenticationError("Sign in again: the server takes keys now.")
            return self._authenticator.caller_of_key(session.subject)
        if session.kind != "token":
            raise AuthenticationError("Sign in again: the server takes access tokens now.")
        return Caller(name=session.name, scopes=frozenset(session.scopes), id=session.subject)

    async def end(self, session: Session) -> bool:
        """End a session for every copy of its cookie. False if other processes cannot be told."""
        if session.kind == "visitor":
            return True
        kept = await anyio.to_thread.run_sync(self._ended.add, session.subject, session.id)
        if self._store is None:
            return kept
        return await self._store.put(_ended_name(session), b"1", ttl=max(1.0, session.until - time.time()))

    async def _has_ended_elsewhere(self, session: Session) -> bool:
        """Whether another machine ended it. While nobody can tell, the session goes on, like everything that reads."""
        return self._store is not None and await self._store.get(_ended_name(session)) is not None

    def _has_ended(self, session: Session) -> bool:
        signed_in = session.kind != "visitor"
        return signed_in and self._ended.includes(session.subject, session.id, session.begun)

    def seal(self, content: Session | PendingSignIn) -> str:
        sealed = self._cipher.seal(type(content).__name__.encode(), msgspec.json.encode(content))
        return urlsafe_b64encode(sealed).decode()

    def open(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if it was changed, has ended or was sealed with another key."""
        session = self._opened(cookie, Session)
        return None if session is None or self._has_ended(session) else session

    def open_pending(self, cookie: str | None) -> PendingSignIn | None:
        """The sign-in that this browser began, if it is not too old."""
        return self._opened(cookie, PendingSignIn)

    def _opened(self, cookie: str | None, kind: type[Sealed]) -> Sealed | None:
        if not cookie or len(cookie) > _LONGEST_COOKIE:
            return None
        try:
            # One kind of cookie must not be taken for the other.
            text = self._cipher.open(kind.__name__.encode(), urlsafe_b64decode(cookie))
            content = None if text is None else msgspec.json.decode(text, type=kind)
        except (ValueError, msgspec.DecodeError):
            return None
        return content if content is not None and content.until > time.time() else None

    def csrf_token(self, session: Session) -> str:
        """The token that every form of this session carries."""
        return _csrf_token(self._ring.sealing, session)

    def check_csrf(self, session: Session | None, token: str) -> bool:
        # The form may come from a process that seals with another key of the ring.
        return session is not None and any(
            hmac.compare_digest(_csrf_token(key, session).encode(), token.encode()) for key in self._ring.keys
        )

    @cached_property
    def _cipher(self) -> RingCipher:
        return RingCipher(self._ring, _PURPOSE)

    @cached_property
    def _ring(self) -> KeyRing:
        """Shared by all processes of this server; a new one at every start where nothing can be written."""
        if (shared := KeyRing.of(self._settings)) is not None:
            return shared
        try:
            secret = load_or_create_secret(self._settings.data_dir / _KEY_FILE)
        except OSError as error:
            log.warning("The key of console sessions cannot be kept; they end with this process", reason=str(error))
            secret = secrets.token_bytes(32)
        return KeyRing([secret])


def _ended_name(session: Session) -> str:
    return f"ended session {session.id}"


def _csrf_token(key: RingKey, session: Session) -> str:
    return hmac.digest(key.derive(_CSRF_PURPOSE), session.id.encode(), "sha256").hex()


def _seconds_left(token: str) -> float:
    """How long an access token is still valid. Its signature was verified before."""
    claims = jwt.decode(token, options={"verify_signature": False, "verify_aud": False})
    return float(claims["exp"]) - time.time()
