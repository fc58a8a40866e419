"""Authenticate requests: from credentials to a caller."""

import hashlib
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import AuthenticationError, AuthorizationError
from dogubako.contract.pack import HealthCheck
from dogubako.gate.api_keys import ApiKey, KeyLookup, KeysError

_LONGEST: Final = 8_192
_OWN_HEADER: Final = b"x-api-key"
_ONE_OF_TWO: Final = "Send one: as a bearer token, or in the header X-API-Key."
_CARRIERS: Final = frozenset({b"authorization", _OWN_HEADER})


def proof_in(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Hash of the credential headers: a cache key that does not hold the secret."""
    return hashlib.sha256(b"\n".join([name + value for name, value in headers if name in _CARRIERS])).digest()


def bearer_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The token of `Authorization: Bearer …` or `X-API-Key: …`, or None. Two different ones are refused."""
    credential: str | None = None
    for name, value in headers:
        if name in _CARRIERS:
            token = _token(name, value)
            if credential not in (None, token):
                raise AuthenticationError("The request brings two different credentials.", hint=_ONE_OF_TWO)
            credential = token
    return credential


def _token(name: bytes, value: bytes) -> str:
    if name == _OWN_HEADER:
        return _text(value)
    scheme, _, rest = value.strip().partition(b" ")
    if scheme.lower() != b"bearer":
        raise AuthenticationError("Only the scheme Bearer is understood here.", hint=_ONE_OF_TWO)
    return _text(rest)


def _text(value: bytes) -> str:
    if len(value) > _LONGEST:
        raise AuthenticationError("The credentials are too long.", hint=_ONE_OF_TWO)
    return value.strip().decode("latin-1")


log = structlog.get_logger("dogubako.gate")

Headers = Iterable[tuple[bytes, bytes]]

_HOW: Final = "Send it as a bearer token, or in the header X-API-Key. `dogubako keys create` makes one."


class Authenticator(Protocol):
    """Authenticates callers."""

    def authenticate_cached(self, headers: Headers) -> Caller | None:
        """The caller, if that needs no waiting; None means: use `authenticate`."""

    def recall(self, proof: bytes) -> Caller | None:
        """The caller whose credential headers have this proof (`proof_in`), if that is known and still true."""

    async def authenticate(self, headers: Headers) -> Caller:
        """The caller; the authorization server may have to be asked first."""

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        """The value of `WWW-Authenticate` for a refused request."""

    async def check(self) -> list[HealthCheck]:
        """Whether authentication can work."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Run the authenticator's background work."""


def step_up(scope: str) -> str:
    """The challenge parameters for a missing scope (RFC 6750)."""
    return f'error="insufficient_scope", scope="{scope}"'


class NoAuthentication:
    """Trust every caller."""

    def authenticate_cached(self, headers: Headers) -> Caller:
        return TRUSTED

    def recall(self, proof: bytes) -> Caller:
        return TRUSTED

    async def authenticate(self, headers: Headers) -> Caller:
        return TRUSTED

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        return "Bearer"

    async def check(self) -> list[HealthCheck]:
        return []

    def running(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


_MOST_REMEMBERED: Final = 1_000


# Decrypts a stored credential: id of the API key, service, encrypted text.
OpenCredential = Callable[[str, str, str], Credential | None]


class KeyAuthentication:
    """Authenticates callers by API key."""

    def __init__(self, keys: KeyLookup, open_credential: OpenCredential | None = None) -> None:
        self._keys = keys
        self._open_credential = open_credential
        self._callers: dict[Hashable, Caller] = {}
        self._remembered: dict[bytes, tuple[float, Caller]] = {}
        self._unreadable = False

    def authenticate_cached(self, headers: Headers) -> Caller:
        proof = proof_in(headers)
        if (known := self.recall(proof)) is not None:
            return known
        secret = bearer_of(headers)
        if not secret:
            raise AuthenticationError("An API key is required.", hint=_HOW, missing=True)
        caller = self._checked(secret)
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        if (look := self._keys.last_look()) is not None:
            self._remembered[proof] = (look, caller)
        return caller

    def recall(self, proof: bytes) -> Caller | None:
        remembered = self._remembered.get(proof)
        # Cached no longer than the store's own check interval, so that a revoked key stops working.
        if remembered is None or remembered[0] != self._keys.last_look():
            return None
        return remembered[1]

    def caller_of_key(self, key_id: str) -> Caller:
        """The caller of a key that was proved before. It raises as soon as the key is revoked or expired."""
        return self._caller(self._look_up(lambda: self._keys.get(key_id)))

    def _checked(self, secret: str) -> Caller:
        return self._caller(self._look_up(lambda: self._keys.find(secret)))

    def _caller(self, key: ApiKey | None) -> Caller:
        if key is None:
            raise AuthenticationError("The API key is not valid.", hint=_HOW)
        state = key.state(datetime.now(UTC))
        if state != "active":
            raise AuthenticationError(f"The API key is {state}.", hint="Ask the operator for a new one.")
        who = (key.id, key.name, key.scopes, *key.credentials.items())
        caller = self._callers.get(who)
        if caller is None:
            # The same object for the same key: caches of decisions depend on it.
            caller = self._callers[who] = Caller(
                name=key.name, scopes=frozenset(key.scopes), id=key.id, credentials=self._credentials(key)
            )
        return caller

    def _credentials(self, key: ApiKey) -> tuple[tuple[str, Credential], ...]:
        if self._open_credential is None:
            return ()
        stored = key.credentials.items()
        opened = {service: self._open_credential(key.id, service, sealed) for service, sealed in stored}
        for service in (service for service, credential in opened.items() if credential is None):
            log.error("A stored credential cannot be decrypted", key=key.name, service=service)
        return tuple((service, credential) for service, credential in opened.items() if credential is not None)

    def _look_up(self, find: Callable[[], ApiKey | None]) -> ApiKey | None:
        try:
            key = find()
        except KeysError as error:
            self._say_once(error)
            # The path and the defect of the file are for the operator only.
            raise AuthenticationError("API keys cannot be checked now.", hint="The operator's log says why.") from error
        self._unreadable = False
        return key

    def _say_once(self, error: KeysError) -> None:
        if not self._unreadable:
            self._unreadable = True
            log.error("API keys cannot be read", reason=error.message, advice=error.hint)

    async def authenticate(self, headers: Headers) -> Caller:
        return self.authenticate_cached(headers)

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        if isinstance(error, AuthorizationError) and error.scope:
            return f"Bearer {step_up(error.scope)}"
        return 'Bearer realm="dogubako"'

    async def check(self) -> list[HealthCheck]:
        try:
            active = sum(key.state(datetime.now(UTC)) == "active" for key in self._keys.all())
            trouble = self._keys.trouble()
        except KeysError as error:
            return [HealthCheck(ok=False, subject="API keys", message=error.message, advice=error.hint)]
        if not active:
            nobody = " ".join(filter(None, ("No key is active, so nobody can come in.", trouble)))
            advice = self._keys.advice
            return [HealthCheck(ok=False, subject="API keys", message=nobody, advice=advice, severity="warning")]
        message = f"{active} active. {trouble}" if trouble else f"{active} active"
        return [HealthCheck(ok=trouble is None, subject="API keys", message=message, severity="warning")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        for finding in await self.check():
            if not finding.ok:
                log.warning(finding.message, advice=finding.advice)
        yield
