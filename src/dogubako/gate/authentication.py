"""From credentials to a caller. Every HTTP request passes here before anything else looks at it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import AuthenticationError, AuthorizationError
from dogubako.contract.pack import Finding
from dogubako.gate.credentials import bearer_of, proof_in
from dogubako.gate.keys import ApiKey, KeysError, KeyStore

log = structlog.get_logger("dogubako.gate")

Headers = Iterable[tuple[bytes, bytes]]

_HOW: Final = "Send it as a bearer token, or in the header X-API-Key. `dogubako keys create` makes one."


class Authenticator(Protocol):
    """Finds out who is calling."""

    def known(self, headers: Headers) -> Caller | None:
        """Who it is, if that can be told without waiting; None means: ask `find`."""

    async def find(self, headers: Headers) -> Caller:
        """Who it is, if the authorization server may have to be asked first."""

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        """What `WWW-Authenticate` says to somebody who did not get in, or not far enough."""

    async def check(self) -> list[Finding]:
        """Whether anybody can come in."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """For as long as the server runs."""


def step_up(scope: str) -> str:
    """What a client needs to ask for more (RFC 6750)."""
    return f'error="insufficient_scope", scope="{scope}"'


class NoAuthentication:
    """Everybody who can reach us is trusted."""

    def known(self, headers: Headers) -> Caller:
        return TRUSTED

    async def find(self, headers: Headers) -> Caller:
        return TRUSTED

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        return "Bearer"

    async def check(self) -> list[Finding]:
        return []

    def running(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


_MOST_REMEMBERED: Final = 1_000


class KeyAuthentication:
    """Callers prove themselves with an API key of ours."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._callers: dict[tuple[str, str, tuple[str, ...]], Caller] = {}
        self._remembered: dict[bytes, tuple[float, Caller]] = {}
        self._unreadable = False

    def known(self, headers: Headers) -> Caller:
        proof = proof_in(headers)
        remembered = self._remembered.get(proof)
        # Not longer than the store itself goes without looking: a revoked key must stop working then.
        if remembered is not None and remembered[0] == self._keys.last_look():
            return remembered[1]
        secret = bearer_of(headers)
        if not secret:
            raise AuthenticationError("An API key is required.", hint=_HOW, missing=True)
        caller = self._checked(secret)
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        if (look := self._keys.last_look()) is not None:
            self._remembered[proof] = (look, caller)
        return caller

    def _checked(self, secret: str) -> Caller:
        key = self._found(secret)
        if key is None:
            raise AuthenticationError("The API key is not valid.", hint=_HOW)
        state = key.state(datetime.now(UTC))
        if state != "active":
            raise AuthenticationError(f"The API key is {state}.", hint="Ask the operator for a new one.")
        who = (key.id, key.name, key.scopes)
        caller = self._callers.get(who)
        if caller is None:
            # The same object for the same key: what is decided for it once need not be decided again.
            caller = self._callers[who] = Caller(name=key.name, scopes=frozenset(key.scopes), id=key.id)
        return caller

    def _found(self, secret: str) -> ApiKey | None:
        try:
            found = self._keys.find(secret)
        except KeysError as error:
            self._say_once(error)
            # Where the file is and what is wrong with it is for the operator.
            raise AuthenticationError("API keys cannot be checked now.", hint="The operator's log says why.") from error
        self._unreadable = False
        return found

    def _say_once(self, error: KeysError) -> None:
        if not self._unreadable:
            self._unreadable = True
            log.error("API keys cannot be read", reason=error.message, advice=error.hint)

    async def find(self, headers: Headers) -> Caller:
        return self.known(headers)

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        if isinstance(error, AuthorizationError) and error.scope:
            return f"Bearer {step_up(error.scope)}"
        return 'Bearer realm="dogubako"'

    async def check(self) -> list[Finding]:
        try:
            active = sum(key.state(datetime.now(UTC)) == "active" for key in self._keys.all())
        except KeysError as error:
            return [Finding(ok=False, subject="API keys", message=error.message, advice=error.hint)]
        if not active:
            advice = "`dogubako keys create --name … --scope …` makes one."
            nobody = "No key is active, so nobody can come in."
            return [Finding(ok=False, subject="API keys", message=nobody, advice=advice, severity="warning")]
        return [Finding(ok=True, subject="API keys", message=f"{active} active")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        for finding in await self.check():
            if not finding.ok:
                log.warning(finding.message, advice=finding.advice)
        yield
