"""Which key of a JWK set may check which token: by id, type, curve, algorithm, use and operations."""

from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from dogubako.gate.jwk import signing_keys

from .authorization_server import AuthorizationServer, good_claims, private_key
from .token_gate import taking_tokens, verdict

_REFUSED = "The access token is not valid."


def _token(key: Any, algorithm: str, kid: str | None = "first") -> str:
    return jwt.encode(good_claims(), key, algorithm=algorithm, headers={"kid": kid} if kid else None)


async def _verdict(document: dict[str, Any], token: str, monkeypatch: pytest.MonkeyPatch) -> str:
    server = AuthorizationServer()
    monkeypatch.setattr(server, "jwks", lambda: document)
    async with taking_tokens(server) as gate:
        return await verdict(gate, token)


RULES = [
    pytest.param({}, "RS256", True, id="no alg: RS256"),
    pytest.param({}, "PS256", True, id="no alg: PS256"),
    pytest.param({"alg": "RS256"}, "RS256", True, id="RS256 for RS256"),
    pytest.param({"alg": "RS256"}, "PS256", False, id="RS256 for PS256"),
    pytest.param({"alg": "RS256"}, "RS512", False, id="RS256 for RS512"),
    pytest.param({"alg": "PS256"}, "RS256", False, id="PS256 for RS256"),
    pytest.param({"alg": "PS256"}, "PS256", True, id="PS256 for PS256"),
    pytest.param({"alg": "ES256"}, "RS256", False, id="an alg of another type"),
    pytest.param({"alg": "RSA-OAEP"}, "RS256", False, id="an alg for encryption"),
    pytest.param({"alg": 5}, "RS256", False, id="an alg that is a number"),
    pytest.param({"use": "enc"}, "RS256", False, id="for encryption"),
    pytest.param({"use": None, "alg": None, "key_ops": None}, "RS256", True, id="nothing said"),
    pytest.param({"key_ops": ["verify"]}, "RS256", True, id="to verify"),
    pytest.param({"key_ops": ["sign", "verify"]}, "RS256", True, id="to sign and verify"),
    pytest.param({"key_ops": ["encrypt", "wrapKey"]}, "RS256", False, id="to encrypt"),
    pytest.param({"key_ops": []}, "RS256", False, id="for nothing"),
    pytest.param({"key_ops": "verify"}, "RS256", False, id="operations that are no list"),
    pytest.param({"kid": ["first"]}, "RS256", False, id="an id that is a list"),
    pytest.param({"kty": "EC", "crv": "P-256"}, "RS256", False, id="another type"),
]


@pytest.mark.parametrize(("says", "algorithm", "fits"), RULES)
async def test_a_key_checks_only_what_it_says_it_is_for(
    monkeypatch: pytest.MonkeyPatch, says: dict[str, Any], algorithm: str, fits: bool
) -> None:
    server = AuthorizationServer()
    other = {**jwt.algorithms.RSAAlgorithm.to_jwk(private_key("RS256", "x").public_key(), as_dict=True), "kid": "other"}
    [shown] = server.jwks()["keys"]
    document = {"keys": [{**{k: v for k, v in shown.items() if k not in ("key_ops", "use")}, **says}, other]}

    said = await _verdict(document, _token(server.keys["first"][1], algorithm), monkeypatch)

    assert said == ("somebody" if fits else _REFUSED)


@pytest.mark.parametrize(
    ("curve", "fits"), [(ec.SECP256R1(), "ES256"), (ec.SECP384R1(), "ES384"), (ec.SECP521R1(), "ES512")]
)
@pytest.mark.parametrize("claimed", ["P-256", "P-384", "P-521", None, 5])
def test_a_key_of_one_curve_is_for_one_algorithm(curve: ec.EllipticCurve, fits: str, claimed: Any) -> None:
    shown = jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(curve).public_key(), as_dict=True)
    good = jwt.algorithms.RSAAlgorithm.to_jwk(private_key("RS256", "x").public_key(), as_dict=True)
    found = [key for key in signing_keys({"keys": [{**shown, "crv": claimed}, good]}) if "RS256" not in key.algorithms]

    assert [key.algorithms for key in found] == ([{fits}] if claimed == shown["crv"] else [])


async def test_of_two_keys_with_one_id_the_one_that_fits_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    for kid, algorithm in (("a", "ES256"), ("b", "EdDSA"), ("c", "RS256"), ("d", "RS256")):
        server.add(kid, algorithm)
    document = {"keys": [{**key, "kid": "same"} for key in server.jwks()["keys"]]}

    for kid, (algorithm, key) in server.keys.items():
        assert await _verdict(document, _token(key, algorithm, "same"), monkeypatch) == "somebody", kid
    assert await _verdict(document, _token(private_key("RS256", "x"), "RS256", "same"), monkeypatch) == _REFUSED


async def test_a_token_without_an_id_is_of_the_only_key_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    server = AuthorizationServer()
    server.add("second", "ES256")
    nameless = {"keys": [{k: v for k, v in key.items() if k != "kid"} for key in server.jwks()["keys"]]}
    for document in (server.jwks(), nameless):
        for algorithm, key in server.keys.values():
            assert await _verdict(document, _token(key, algorithm, None), monkeypatch) == "somebody"


BAD_KEYS: list[Any] = [
    5,
    None,
    [],
    {},
    {"kty": ["RSA"]},
    {"kty": "RSA"},
    {"kty": "RSA", "n": 5, "e": "AQAB", "kid": "x"},
    {"kty": "RSA", "n": "!", "e": "AQAB"},
    {"kty": "RSA", "n": "", "e": ""},
    {"kty": "EC", "crv": "P-256", "x": "AQAB"},
    {"kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"},
    {"kty": "EC", "crv": ["P-256"], "x": "AQAB", "y": "AQAB"},
    {"kty": "OKP", "crv": "Ed25519", "x": "A"},
    {"kty": "oct", "k": "c2VjcmV0"},
    {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AQAB"},
]


@pytest.mark.parametrize("bad", BAD_KEYS, ids=repr)
async def test_one_bad_key_does_not_spoil_the_others(monkeypatch: pytest.MonkeyPatch, bad: Any) -> None:
    server = AuthorizationServer()
    document = {"keys": [bad, *server.jwks()["keys"], bad]}

    assert await _verdict(document, server.token(), monkeypatch) == "somebody"


def test_a_private_key_that_everybody_can_read_is_not_used() -> None:
    private = jwt.algorithms.RSAAlgorithm.to_jwk(private_key("RS256", "x"), as_dict=True)

    with pytest.raises(ValueError, match="none of the keys"):
        signing_keys({"keys": [private]})
