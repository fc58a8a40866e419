"""OAuth 2.1 resource server: validate the access tokens of a trusted authorization server."""

import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import jwt
import structlog

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import ApiError, AuthenticationError, AuthorizationError
from dogubako.contract.pack import HealthCheck
from dogubako.gate.authentication import Headers, bearer_of, proof_in, step_up
from dogubako.gate.code_flow import AuthorizationCodeFlow
from dogubako.gate.jwk import ALGORITHMS, SigningKey
from dogubako.gate.jwks import Jwks
from dogubako.gate.scopes import LEVELS, known_scopes
from dogubako.settings import Settings

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def metadata_url(audience: str) -> str:
    """The metadata URL: the well-known part stands between the host and the path of the resource."""
    parts = urlsplit(audience)
    return f"{parts.scheme}://{parts.netloc}{_of(parts.path)}"


def metadata_paths(audience: str) -> tuple[str, ...]:
    """The metadata paths that clients try: for the resource as seen from outside, and for the whole server."""
    return tuple(dict.fromkeys((_WELL_KNOWN, _of("/mcp"), _of(urlsplit(audience).path))))


def metadata(audience: str, issuer: str, name: str) -> dict[str, Any]:
    return {
        "resource": audience,
        "authorization_servers": [issuer],
        "scopes_supported": list(LEVELS),
        "bearer_methods_supported": ["header"],
        "resource_name": name,
    }


def _of(path: str) -> str:
    return f"{_WELL_KNOWN}{path.rstrip('/')}"


log = structlog.get_logger("dogubako.gate")

_REQUIRED: Final = ("exp", "iss", "aud", "sub")
_CLOCKS_DIFFER_SECONDS: Final = 30
_MOST_REMEMBERED: Final = 10_000
# Not longer than keys are cached: a token whose key was withdrawn must stop working before it expires.
_REMEMBERED_SECONDS: Final = 600.0
_LONGEST_NAME: Final = 200
_MOST_TRIED: Final = 4
# The library raises these for a token, including one that was made to confuse it.
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, AttributeError)


class TokenAuthentication:
    """Validates JWTs: signature, issuer, audience, expiry. Keeps the scopes that Dogubako defines."""

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        keys: Jwks,
        metadata_url: str,
        code_flow: AuthorizationCodeFlow | None = None,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys
        self._metadata_url = metadata_url
        self.code_flow = code_flow
        self._remembered: dict[bytes, tuple[float, Caller]] = {}

    def authenticate_cached(self, headers: Headers) -> Caller | None:
        """The caller of a token that was validated recently: checking a signature is slow."""
        return self.recall(proof_in(headers))

    def recall(self, proof: bytes) -> Caller | None:
        until, caller = self._remembered.get(proof, (0.0, None))
        return caller if time.time() < until else None

    async def authenticate(self, headers: Headers) -> Caller:
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
        """The challenge with the resource metadata (RFC 9728) and the scope."""
        where = f'Bearer resource_metadata="{self._metadata_url}"'
        if isinstance(error, AuthorizationError):
            return f"{where}, {step_up(error.scope)}" if error.scope else where
        return where if error.missing else f'{where}, error="invalid_token"'

    async def check(self) -> list[HealthCheck]:
        try:
            await self._keys.check()
        except ApiError as error:
            advice = "Look at DOGUBAKO_OAUTH_ISSUER and DOGUBAKO_OAUTH_JWKS_URL; the log has the reason."
            return [HealthCheck(ok=False, subject="OAuth", message=error.message, advice=advice, severity="warning")]
        known = HealthCheck(ok=True, subject="OAuth", message=f"the keys of {self._issuer} are known")
        return [known] if self.code_flow is None else [known, await _sign_in_check(self.code_flow)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._keys.running())
            if self.code_flow is not None:
                await stack.enter_async_context(self.code_flow.running())
            yield

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
            # The only key may have been replaced. A token that names its key is forged.
            claims = self._verified(token, await self._keys.find(kid, algorithm, renewed=True), algorithm)
        if claims is None:
            raise self._not_valid(jwt.InvalidSignatureError() if keys else jwt.InvalidKeyError())
        # The audit log must not confuse a token's subject with nobody, or with trusted callers.
        if str(claims["sub"]).strip().casefold() in ("", TRUSTED.name):
            raise AuthenticationError("The access token names nobody.", hint="It needs a `sub`.")
        return claims

    def _header(self, token: str) -> tuple[str | None, str]:
        """The key id and the algorithm in the token's header. Refuses tokens that can never be accepted."""
        try:
            header = jwt.get_unverified_header(token)
        except _UNREADABLE as error:
            raise self._not_valid(error) from error
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise self._not_valid(jwt.InvalidAlgorithmError())
        return kid if isinstance(kid, str) else None, algorithm

    def _verified(self, token: str, keys: Sequence[SigningKey], algorithm: str) -> dict[str, Any] | None:
        """The claims, if one of the keys fits the signature. Several keys may share an id."""
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
        """The error without the reason, which would help to forge a token; the log has it."""
        log.warning("Access token refused", reason=type(reason).__name__, **self._expected(reason))
        hint = "Get a new one; the operator's log names the reason."
        return AuthenticationError("The access token is not valid.", hint=hint)

    def _expected(self, reason: Exception) -> dict[str, str]:
        """The expected value of a wrong claim, for the log. An extra slash is easily overlooked."""
        if isinstance(reason, jwt.MissingRequiredClaimError):
            return {"missing": str(reason.claim)}
        if isinstance(reason, jwt.InvalidAudienceError):
            return {"expected": self._audience}
        return {"expected": self._issuer} if isinstance(reason, jwt.InvalidIssuerError) else {}


def token_authentication(settings: Settings, transport: Any = None) -> TokenAuthentication:
    """Build from settings, which have been validated."""
    issuer, audience = settings.oauth_issuer or "", settings.oauth_audience or ""
    keys = Jwks(issuer, settings.oauth_jwks_url, transport)
    flow = AuthorizationCodeFlow(settings, transport) if settings.oauth_client_id else None
    return TokenAuthentication(
        issuer=issuer, audience=audience, keys=keys, metadata_url=metadata_url(audience), code_flow=flow
    )


async def _sign_in_check(flow: AuthorizationCodeFlow) -> HealthCheck:
    try:
        await flow.check()
    except ApiError as error:
        advice = "The description of the authorization server needs authorization_endpoint and token_endpoint."
        return HealthCheck(
            ok=False, subject="Console sign-in", message=error.message, advice=advice, severity="warning"
        )
    message = f"people sign in at {flow.issuer}, which sends them back to {flow.redirect_uri}"
    return HealthCheck(ok=True, subject="Console sign-in", message=message)


def _name(subject: str) -> str:
    """A caller name from a subject: printable, and distinct for long subjects with the same beginning."""
    return subject if len(subject) <= _LONGEST_NAME and subject.isprintable() else _digest(subject)


def _digest(subject: str) -> str:
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()


def _scopes_in(claims: dict[str, Any]) -> list[str]:
    """`scope` is a string (RFC 9068); some servers send `scp`, as a string or a list."""
    scopes: list[str] = []
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            # RFC 6749: separated by one space, and by no other white space.
            scopes += value.split(" ")
        elif isinstance(value, list):
            scopes += [one for one in value if isinstance(one, str)]
    return scopes
