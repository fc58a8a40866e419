"""OAuth 2.1 resource server: callers bring tokens of an authorization server that the operator trusts."""

import hashlib
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import jwt
import structlog

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import ApiError, AuthenticationError, AuthorizationError
from dogubako.contract.pack import Finding
from dogubako.gate.authentication import Headers, step_up
from dogubako.gate.credentials import bearer_of, proof_in
from dogubako.gate.jwk import ALGORITHMS, SigningKey
from dogubako.gate.key_set import KeySet
from dogubako.gate.resource_metadata import metadata_url
from dogubako.gate.scopes import known_scopes
from dogubako.settings import Settings

log = structlog.get_logger("dogubako.gate")

_REQUIRED: Final = ("exp", "iss", "aud", "sub")
_CLOCKS_DIFFER_SECONDS: Final = 30
_MOST_REMEMBERED: Final = 10_000
# Not longer than keys are kept: a token whose key was withdrawn must stop working, however long it was meant to last.
_REMEMBERED_SECONDS: Final = 600.0
_LONGEST_NAME: Final = 200
_MOST_TRIED: Final = 4
# What the library raises for a token, also for one that was made to confuse it.
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, AttributeError)


class TokenAuthentication:
    """Checks JWTs: signature, issuer, audience, expiry; takes the scopes that mean something here."""

    def __init__(self, *, issuer: str, audience: str, keys: KeySet, metadata_url: str) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys
        self._metadata_url = metadata_url
        self._remembered: dict[bytes, tuple[float, Caller]] = {}

    def known(self, headers: Headers) -> Caller | None:
        """Checking a signature takes a while; a token that was checked is remembered for a while."""
        until, caller = self._remembered.get(proof_in(headers), (0.0, None))
        return caller if time.time() < until else None

    async def find(self, headers: Headers) -> Caller:
        token = self._token(headers)
        claims = await self._claims(token)
        subject = str(claims["sub"])
        scopes = known_scopes(_scopes_in(claims))
        caller = Caller(name=_name(subject), scopes=scopes, id=_digest(f"{self._issuer}\n{subject}"))
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[proof_in(headers)] = (min(int(claims["exp"]), time.time() + _REMEMBERED_SECONDS), caller)
        return caller

    def challenge(self, error: AuthenticationError | AuthorizationError) -> str:
        """Where a client learns which authorization server to ask (RFC 9728), and for what."""
        where = f'Bearer resource_metadata="{self._metadata_url}"'
        if isinstance(error, AuthorizationError):
            return f"{where}, {step_up(error.scope)}" if error.scope else where
        return where if error.missing else f'{where}, error="invalid_token"'

    async def check(self) -> list[Finding]:
        try:
            await self._keys.check()
        except ApiError as error:
            advice = "Look at DOGUBAKO_OAUTH_ISSUER and DOGUBAKO_OAUTH_JWKS_URL; the log has the reason."
            return [Finding(ok=False, subject="OAuth", message=error.message, advice=advice, severity="warning")]
        return [Finding(ok=True, subject="OAuth", message=f"the keys of {self._issuer} are known")]

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._keys.running()

    def _token(self, headers: Headers) -> str:
        token = bearer_of(headers)
        if not token:
            hint = f"{self._metadata_url} names the authorization server."
            raise AuthenticationError("An access token is required.", hint=hint, missing=True)
        return token

    async def _claims(self, token: str) -> dict[str, Any]:
        kid, algorithm = self._header(token)
        keys = await self._keys.find(kid, algorithm)
        claims = self._verified(token, keys, algorithm)
        if claims is None and keys and kid is None:
            # The only key may have been exchanged for another one. A token that names its key is forged.
            claims = self._verified(token, await self._keys.find(kid, algorithm, renewed=True), algorithm)
        if claims is None:
            raise self._not_valid(jwt.InvalidSignatureError() if keys else jwt.InvalidKeyError())
        # Nobody at all, and those who need no token: the audit log must not take anybody for them.
        if str(claims["sub"]).strip().casefold() in ("", TRUSTED.name):
            raise AuthenticationError("The access token names nobody.", hint="It needs a `sub`.")
        return claims

    def _header(self, token: str) -> tuple[str | None, str]:
        """The id of the key and the algorithm, as the token says. Nobody is asked for what can never be accepted."""
        try:
            header = jwt.get_unverified_header(token)
        except _UNREADABLE as error:
            raise self._not_valid(error) from error
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise self._not_valid(jwt.InvalidAlgorithmError())
        return kid if isinstance(kid, str) else None, algorithm

    def _verified(self, token: str, keys: Sequence[SigningKey], algorithm: str) -> dict[str, Any] | None:
        """The claims, if one of the keys fits the signature. Several keys may have one id."""
        for key in keys[:_MOST_TRIED]:
            try:
                return self._decoded(token, key, algorithm)
            except jwt.InvalidSignatureError:
                continue
        return None

    def _decoded(self, token: str, key: SigningKey, algorithm: str) -> dict[str, Any]:
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=_CLOCKS_DIFFER_SECONDS,
                options={"require": list(_REQUIRED)},
            )
        except jwt.InvalidSignatureError:
            raise
        except jwt.ExpiredSignatureError as error:
            raise AuthenticationError("The access token has expired.", hint="Get a new one.") from error
        except _UNREADABLE as error:
            raise self._not_valid(error) from error

    def _not_valid(self, reason: Exception) -> AuthenticationError:
        """What exactly is wrong with it helps an operator, and only helps others to forge one."""
        log.warning("Access token refused", reason=type(reason).__name__, **self._expected(reason))
        hint = "Get a new one; the operator's log names the reason."
        return AuthenticationError("The access token is not valid.", hint=hint)

    def _expected(self, reason: Exception) -> dict[str, str]:
        """What a token must say, where it says something else. One slash too many is easily overlooked."""
        if isinstance(reason, jwt.MissingRequiredClaimError):
            return {"missing": str(reason.claim)}
        if isinstance(reason, jwt.InvalidAudienceError):
            return {"expected": self._audience}
        return {"expected": self._issuer} if isinstance(reason, jwt.InvalidIssuerError) else {}


def token_authentication(settings: Settings, transport: Any = None) -> TokenAuthentication:
    """As the settings say; that both addresses are there was checked when they were read."""
    issuer, audience = settings.oauth_issuer or "", settings.oauth_audience or ""
    keys = KeySet(issuer, settings.oauth_jwks_url, transport)
    return TokenAuthentication(issuer=issuer, audience=audience, keys=keys, metadata_url=metadata_url(audience))


def _name(subject: str) -> str:
    """Two long names that begin alike must not become one caller, and nobody is called by what cannot be shown."""
    return subject if len(subject) <= _LONGEST_NAME and subject.isprintable() else _digest(subject)


def _digest(subject: str) -> str:
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()


def _scopes_in(claims: dict[str, Any]) -> list[str]:
    """`scope` is a text (RFC 9068); some servers say `scp`, as a text or a list."""
    found: list[str] = []
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            # RFC 6749: one space, and no other white space.
            found += value.split(" ")
        elif isinstance(value, list):
            found += [one for one in value if isinstance(one, str)]
    return found
