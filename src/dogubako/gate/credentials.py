"""What a request brings to prove who it is."""

import hashlib
from collections.abc import Iterable
from typing import Final

from dogubako.contract.errors import AuthenticationError

_LONGEST: Final = 8_192
_OWN_HEADER: Final = b"x-api-key"
_ONE_OF_TWO: Final = "Send one: as a bearer token, or in the header X-API-Key."
_CARRIERS: Final = frozenset({b"authorization", _OWN_HEADER})


def proof_in(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A digest of what a request brings, by which it is known again: cheaper than reading it, and no secret is kept."""
    return hashlib.sha256(b"\n".join([name + value for name, value in headers if name in _CARRIERS])).digest()


def bearer_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The token of `Authorization: Bearer …` or `X-API-Key: …`; two that differ are refused, none is nothing."""
    found: str | None = None
    for name, value in headers:
        if name in _CARRIERS:
            token = _token(name, value)
            if found not in (None, token):
                raise AuthenticationError("The request brings two different credentials.", hint=_ONE_OF_TWO)
            found = token
    return found


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
