"""From credentials to a caller. Every HTTP request passes here before anything else looks at it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from dogubako.contract.call import ANONYMOUS, Caller
from dogubako.contract.errors import AuthenticationError
from dogubako.gate.credentials import bearer_of
from dogubako.gate.keys import ApiKey, KeysError, KeyStore

log = structlog.get_logger("dogubako.gate")

Headers = Iterable[tuple[bytes, bytes]]

_HOW: Final = "Send it as a bearer token, or in the header X-API-Key. `dogubako keys create` makes one."


class Authenticator(Protocol):
    """Finds out who is calling."""

    def known(self, headers: Headers) -> Caller | None:
        """The caller, if that can be told at once; AuthenticationError when it is nobody."""

    async def find(self, headers: Headers) -> Caller:
        """The caller, if it takes longer to find out."""

    def challenge(self, error: AuthenticationError) -> str:
        """What `WWW-Authenticate` says."""


class NoAuthentication:
    """Everybody who can reach us is trusted."""

    def known(self, headers: Headers) -> Caller:
        return ANONYMOUS

    async def find(self, headers: Headers) -> Caller:
        return ANONYMOUS

    def challenge(self, error: AuthenticationError) -> str:
        return "Bearer"


_MOST_REMEMBERED: Final = 1_000
_NOBODY: Final[tuple[float | None, Caller | None]] = (None, None)


class KeyAuthentication:
    """Callers prove themselves with an API key of ours."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._callers: dict[tuple[str, tuple[str, ...]], Caller] = {}
        self._remembered: dict[str, tuple[float | None, Caller | None]] = {}

    def known(self, headers: Headers) -> Caller:
        secret = bearer_of(headers)
        if not secret:
            raise AuthenticationError("An API key is required.", hint=_HOW)
        look, caller = self._remembered.get(secret, _NOBODY)
        # Not longer than the store itself goes without looking: a revoked key must stop working then.
        if caller is not None and look is not None and look == self._keys.last_look():
            return caller
        caller = self._checked(secret)
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[secret] = (self._keys.last_look(), caller)
        return caller

    def _checked(self, secret: str) -> Caller:
        key = self._found(secret)
        if key is None:
            raise AuthenticationError("The API key is not valid.", hint=_HOW)
        state = key.state(datetime.now(UTC))
        if state != "active":
            raise AuthenticationError(f"The API key is {state}.", hint="Ask the operator for a new one.")
        who = (key.name, key.scopes)
        caller = self._callers.get(who)
        if caller is None:
            # The same object for the same key: what is decided for it once need not be decided again.
            caller = self._callers[who] = Caller(name=key.name, scopes=frozenset(key.scopes))
        return caller

    def _found(self, secret: str) -> ApiKey | None:
        try:
            return self._keys.find(secret)
        except KeysError as error:
            # Where the file is and what is wrong with it is for the operator.
            log.error("API keys cannot be read", reason=error.message)
            raise AuthenticationError("API keys cannot be checked now.", hint="The operator's log says why.") from error

    async def find(self, headers: Headers) -> Caller:
        return self.known(headers)

    def challenge(self, error: AuthenticationError) -> str:
        return 'Bearer realm="dogubako"'
