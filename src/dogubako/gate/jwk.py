"""The keys of a JWK set (RFC 7517), each with the algorithms that it may be used with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
import structlog

log = structlog.get_logger("dogubako.gate")

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_BY_CURVE: Final = {
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
# Asymmetric signatures only: a key that checks tokens cannot create them.
ALGORITHMS: Final = frozenset().union(_RSA, *_BY_CURVE.values())
# An authorization server has a few keys. A document of a megabyte could hold a hundred thousand.
_MOST_KEYS: Final = 1_000
# The library raises these for a key, including one that was made to confuse it.
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, AttributeError, KeyError)


@dataclass(frozen=True, kw_only=True, slots=True)
class SigningKey:
    """A public key for checking signatures, with its id if it has one."""

    kid: str | None
    algorithms: frozenset[str]
    key: Any


def signing_keys(document: Mapping[str, Any]) -> tuple[SigningKey, ...]:
    """All keys of the set that can check signatures; unusable keys are skipped."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise TypeError("the document holds no list of keys")
    if len(listed) > _MOST_KEYS:
        log.warning("The authorization server has too many keys; only the first are used", used=_MOST_KEYS)
    keys = tuple(key for one in listed[:_MOST_KEYS] if (key := _signing_key(one)) is not None)
    if not keys:
        raise ValueError("none of the keys is for signatures")
    return keys


def _signing_key(jwk: Any) -> SigningKey | None:
    if not isinstance(jwk, dict) or not _is_for_verifying(jwk):
        return None
    kid, algorithms = jwk.get("kid"), _algorithms_of(jwk)
    if not algorithms or not isinstance(kid, str | None):
        return None
    try:
        key = jwt.PyJWK(jwk, algorithm=min(algorithms)).key
    except _UNREADABLE:
        return None
    return SigningKey(kid=kid, algorithms=algorithms, key=key)


def _is_for_verifying(jwk: Mapping[str, Any]) -> bool:
    operations = jwk.get("key_ops")
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        return False
    # A private key in a public document proves nothing.
    return jwk.get("use") in (None, "sig") and "d" not in jwk


def _algorithms_of(jwk: Mapping[str, Any]) -> frozenset[str]:
    """The algorithms of the key's type and curve, restricted to its own `alg` if it has one."""
    kind, curve, named = (jwk.get(name) for name in ("kty", "crv", "alg"))
    if not isinstance(kind, str) or not isinstance(curve, str | None):
        return frozenset()
    possible = _RSA if kind == "RSA" else _BY_CURVE.get((kind, curve or ""), frozenset())
    return possible if named is None else frozenset(one for one in possible if one == named)
