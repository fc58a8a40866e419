"""A small authorization server: it describes itself, shows its keys, and signs whatever a test wants to see signed."""

import base64
import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ISSUER: Final = "https://id.example/tenant"
AUDIENCE: Final = "https://tools.example/mcp"
METADATA: Final = "https://tools.example/.well-known/oauth-protected-resource/mcp"
JWKS: Final = "https://id.example/keys"
AUTHORIZE: Final = "https://id.example/authorize"
TOKEN: Final = "https://id.example/token"
CLIENT: Final = "console"

OAUTH_PATH: Final = "/.well-known/oauth-authorization-server/tenant"
OPENID_PATH: Final = "/tenant/.well-known/openid-configuration"
OPENID_PATH_BEFORE: Final = "/.well-known/openid-configuration/tenant"


class AuthorizationServer:
    """Keys by id, tokens, and a count of what was asked for. `down` makes it unreachable."""

    def __init__(self, *, describes_at: str | None = OAUTH_PATH, algorithm: str = "RS256") -> None:
        self.keys: dict[str, tuple[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        self.down = False
        self.description: dict[str, Any] = {
            "issuer": ISSUER,
            "jwks_uri": JWKS,
            "authorization_endpoint": AUTHORIZE,
            "token_endpoint": TOKEN,
        }
        # Codes that were given out, with what was asked; claims and members that a test puts into the answer.
        self.codes: dict[str, dict[str, str]] = {}
        self.claims: dict[str, Any] = {}
        self.answer_members: dict[str, Any] = {}
        self.secret: str | None = None
        self.described_at = describes_at
        self.add("first", algorithm)

    def add(self, kid: str, algorithm: str = "RS256") -> None:
        self.keys[kid] = (algorithm, private_key(algorithm, kid))

    def token(
        self,
        *,
        kid: str | None = "first",
        scope: Any = "read",
        without: str | None = None,
        headers: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """A good token, unless the test says otherwise."""
        algorithm, key = self.keys.get(kid or "first", self.keys[next(iter(self.keys))])
        payload = {**good_claims(scope), **claims}
        payload.pop(without or "", None)
        named = {} if kid is None else {"kid": kid}
        return jwt.encode(payload, key, algorithm=algorithm, headers={**named, **(headers or {})})

    def transport(self) -> httpx2.AsyncBaseTransport:
        """The way to it, without a socket."""
        return _Line(self)

    def approve(self, address: str) -> dict[str, str]:
        """What a person's browser brings back who signs in at this address and agrees."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def redeem(self, body: bytes, authorization: str = "") -> tuple[int, dict[str, Any]]:
        """The answer of the token endpoint. A code counts once, for the client and the browser that began."""
        form = dict(parse_qsl(body.decode()))
        asked = self.codes.pop(form.get("code", ""), None)
        if self._client(form, authorization) != (CLIENT, self.secret):
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or (asked["code_challenge"], asked["redirect_uri"]) != (challenge, form["redirect_uri"]):
            return 400, {"error": "invalid_grant"}
        token = self.token(**{"scope": asked["scope"], "aud": asked["resource"], **self.claims})
        return 200, {"access_token": token, "token_type": "Bearer", **self.answer_members}

    @staticmethod
    def _client(form: Mapping[str, str], authorization: str) -> tuple[str | None, str | None]:
        if authorization:
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            return unquote_plus(name), unquote_plus(secret)
        return form.get("client_id"), form.get("client_secret")

    def app(self) -> Starlette:
        paths = (OAUTH_PATH, OPENID_PATH, OPENID_PATH_BEFORE)
        described = [Route(path, self._describe) for path in paths]
        token = Route("/token", self._give_token, methods=["POST"])
        return Starlette(routes=[*described, token, Route("/keys", self._show_keys)])

    def jwks(self) -> dict[str, Any]:
        return {"keys": [{**_public(key), "kid": kid, "use": "sig"} for kid, (_, key) in self.keys.items()]}

    async def _describe(self, request: Request) -> Response:
        if request.url.path != self.described_at:
            return JSONResponse({"error": "not here"}, status_code=404)
        return JSONResponse(self.description)

    async def _give_token(self, request: Request) -> Response:
        status, document = self.redeem(await request.body(), request.headers.get("authorization", ""))
        return JSONResponse(document, status_code=status)

    async def _show_keys(self, request: Request) -> Response:
        return JSONResponse(self.jwks())


class _Line(httpx2.AsyncBaseTransport):
    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server
        self._inner = httpx2.ASGITransport(app=server.app())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._server.asked[request.url.path] += 1
        if self._server.down:
            raise httpx2.ConnectError("nobody listens", request=request)
        return await self._inner.handle_async_request(request)


def good_claims(scope: Any = "read") -> dict[str, Any]:
    now = int(time.time())
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "exp": now + 300, "iat": now, "scope": scope}


def signed_with_secret(claims: Mapping[str, Any], secret: bytes, kid: str = "first") -> str:
    """A token under a shared secret. Made by hand: the library refuses to make what it would refuse to take."""
    head, body = encoded_part({"alg": "HS256", "typ": "JWT", "kid": kid}), encoded_part(claims)
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = algorithm.sign(f"{head}.{body}".encode(), secret)
    return f"{head}.{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def encoded_part(content: Mapping[str, Any]) -> str:
    """Header or claims, as a token holds them."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


@cache
def private_key(algorithm: str, kid: str) -> Any:
    """Made once: large primes take their time."""
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _public(key: Any) -> dict[str, Any]:
    kinds = (
        (rsa.RSAPrivateKey, jwt.algorithms.RSAAlgorithm),
        (ec.EllipticCurvePrivateKey, jwt.algorithms.ECAlgorithm),
        (ed25519.Ed25519PrivateKey, jwt.algorithms.OKPAlgorithm),
    )
    form = next(algorithm for kind, algorithm in kinds if isinstance(key, kind))
    shown: dict[str, Any] = form.to_jwk(key.public_key(), as_dict=True)
    return shown
