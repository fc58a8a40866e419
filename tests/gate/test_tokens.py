"""Access tokens: only what the trusted server signed, for us, for now, gets in."""

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .authorization_server import (
    AUDIENCE,
    ISSUER,
    AuthorizationServer,
    encoded_part,
    good_claims,
    private_key,
    signed_with_secret,
)
from .token_gate import taking_tokens, verdict

_REFUSED = "The access token is not valid."
_EXPIRED = "The access token has expired."


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_a_good_token_opens(algorithm: str) -> None:
    server = AuthorizationServer(algorithm=algorithm)
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"


async def test_a_token_may_be_for_several_and_name_no_key_where_there_is_one() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(aud=["https://other.example", AUDIENCE], kid=None)) == "somebody"


def _soon(seconds: float) -> int:
    return int(time.time() + seconds)


BAD_CLAIMS = [
    pytest.param({"iss": "https://evil.example"}, _REFUSED, id="another issuer"),
    pytest.param({"iss": ISSUER + "/"}, _REFUSED, id="nearly our issuer"),
    pytest.param({"aud": "https://other.example/mcp"}, _REFUSED, id="for somebody else"),
    pytest.param({"aud": ["https://a.example", "https://b.example"]}, _REFUSED, id="for some others"),
    pytest.param({"aud": AUDIENCE + "/x"}, _REFUSED, id="for somebody beside us"),
    pytest.param({"exp": -40}, _EXPIRED, id="expired"),
    pytest.param({"nbf": 40}, _REFUSED, id="not yet valid"),
    pytest.param({"iat": 40}, _REFUSED, id="from the future"),
    pytest.param({"sub": 17}, _REFUSED, id="a caller that is a number"),
    pytest.param({"exp": "soon"}, _REFUSED, id="an end that is no time"),
    pytest.param({"exp": float("inf")}, _REFUSED, id="an end that never comes"),
]


@pytest.mark.parametrize(("claims", "said"), BAD_CLAIMS)
async def test_a_token_with_a_wrong_claim_is_refused(claims: dict[str, Any], said: str) -> None:
    server = AuthorizationServer()
    moments = {key: _soon(value) for key, value in claims.items() if isinstance(value, int) and key != "sub"}
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(**{**claims, **moments})) == said


@pytest.mark.parametrize("claim", ["exp", "iss", "aud", "sub"])
async def test_a_token_without_a_claim_that_we_need_is_refused(claim: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(without=claim)) == _REFUSED


async def test_clocks_may_differ_by_half_a_minute() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        for _ in range(2):
            assert await verdict(gate, server.token(exp=_soon(-20), nbf=_soon(20), iat=_soon(20))) == "somebody"


def _forged(server: AuthorizationServer) -> dict[str, str]:
    """Tokens that nobody with the private key has signed."""
    good = server.token()
    head, body, signature = good.split(".")
    public = server.keys["first"][1].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims, named = good_claims("admin"), {"kid": "first"}
    other = private_key("RS256", "somebody else's")
    return {
        "another key": jwt.encode(claims, other, algorithm="RS256", headers=named),
        "its own key in the header": jwt.encode(
            claims, other, algorithm="RS256", headers={**named, "jwk": jwt.algorithms.RSAAlgorithm.to_jwk(other, True)}
        ),
        "no algorithm": ".".join((encoded_part({"alg": "none", "kid": "first"}), encoded_part(claims), "")),
        "the public key as a shared secret": signed_with_secret(claims, pem),
        "the modulus as a shared secret": signed_with_secret(claims, str(public.public_numbers().n).encode()),
        "another kind of key": jwt.encode(claims, private_key("ES256", "x"), algorithm="ES256", headers=named),
        "other claims under the signature": ".".join((head, encoded_part(claims), signature)),
        "no signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{signature[: len(signature) // 2]}",
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.{signature}",
        "an algorithm in another spelling": ".".join((encoded_part({"alg": "nOnE", "kid": "first"}), body, "")),
        "a critical extension": server.token(headers={"crit": ["x"], "x": 1}),
        "an unknown key id": server.token(kid="second"),
        "no text": "\xff\xfe.\xff.\xff",
        "no token": "dgb_00000000_AAAA",
        "an endless header": "a" * 8_000,
    }


async def test_nothing_that_was_forged_gets_in() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        verdicts = {name: await verdict(gate, token) for name, token in _forged(server).items()}
        good = await verdict(gate, server.token())

    assert verdicts == dict.fromkeys(verdicts, _REFUSED)
    assert good == "somebody"


SCOPES = [
    pytest.param({"scope": "read redmine:write openid profile"}, {"read", "redmine:write"}, id="a text"),
    pytest.param({"scp": "read  write"}, {"read", "write"}, id="the other name"),
    pytest.param({"scope": "profile\u00a0admin"}, set(), id="a space that does not break"),
    pytest.param({"scope": "openid\tadmin\nwrite\u2003destroy\x1cread"}, set(), id="other white space"),
    pytest.param({"scope": "\nadmin read\r"}, set(), id="white space at the ends"),
    pytest.param({"scp": ["read admin", "write\n"]}, set(), id="white space in a list"),
    pytest.param({"scp": ["read", "tool:list_*", 5, None]}, {"read", "tool:list_*"}, id="a list"),
    pytest.param({"scope": "read", "scp": ["write"]}, {"read", "write"}, id="both"),
    pytest.param({"scope": "offline_access READ"}, set(), id="none of ours"),
    pytest.param({"scope": None}, set(), id="nothing"),
    pytest.param({"scope": 17}, set(), id="a number"),
    pytest.param({"scope": {"admin": True}}, set(), id="an object"),
]


@pytest.mark.parametrize(("claims", "scopes"), SCOPES)
async def test_scopes_that_mean_something_here_are_taken(claims: dict[str, Any], scopes: set[str]) -> None:
    server = AuthorizationServer()
    token = server.token(**{"scope": None, **claims})
    async with taking_tokens(server) as gate:
        caller = await gate.authenticate([(b"authorization", f"Bearer {token}".encode())])

    assert caller.scopes == scopes


async def test_long_names_that_begin_alike_stay_two_callers() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        names = {await verdict(gate, server.token(sub="a" * 300 + end)) for end in ("x", "y")}

    assert len(names) == 2 and all(len(name) <= 200 for name in names)


async def test_a_token_is_checked_once_and_again_when_its_key_may_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    checked: list[str] = []
    decode = jwt.decode

    def check(token: str, *args: Any, **options: Any) -> dict[str, Any]:
        checked.append(token)
        return decode(token, *args, **options)

    monkeypatch.setattr("dogubako.gate.oauth.jwt.decode", check)
    token = server.token(exp=_soon(100_000))
    async with taking_tokens(server) as gate:
        for _ in range(5):
            await verdict(gate, token)
        once = len(checked)
        later = time.time() + 601
        monkeypatch.setattr("dogubako.gate.oauth.time.time", lambda: later)
        await verdict(gate, token)

    assert (once, len(checked)) == (1, 2)


async def test_a_remembered_token_ends_when_it_was_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    token = server.token(exp=_soon(60))
    async with taking_tokens(server) as gate:
        assert await verdict(gate, token) == "somebody"
        later = time.time() + 61
        monkeypatch.setattr("dogubako.gate.oauth.time.time", lambda: later)
        remembered = gate.authenticate_cached([(b"authorization", f"Bearer {token}".encode())])

    assert remembered is None


async def test_a_token_may_be_meant_to_last_for_ever() -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(exp=10**400)) == "somebody"
