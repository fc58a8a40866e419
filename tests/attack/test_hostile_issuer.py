"""Forged tokens, and an issuer that redirects, floods, dawdles and rotates: no way in, and honest callers stay."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.gate.authorization_server import AUDIENCE, encoded_part, good_claims, private_key, signed_with_secret
from tests.gate.issuer_service import IssuerService, issuing

from .conftest import Tally
from .lying_issuer import LIES, LyingIssuer, lying
from .server import Target, target

pytestmark = pytest.mark.attack

# The lies are told to as many servers.
_LIED_TO: Final = 3
_REFUSED: Final = (400, 401, 403, 431, 502)
_KEY_IDS: Final = (
    "../../../../etc/passwd",
    "/dev/null",
    "' OR 1=1 --",
    "first\x00",
    "first ",
    "FIRST",
    "http://127.0.0.1:9/keys",
    "$(id)",
    "{{7*7}}",
    "é" * 100,
    "k" * 20_000,
)


def _forged(issuer: IssuerService) -> dict[str, str]:
    """Tokens that somebody without the issuer's key can make, or took from elsewhere."""
    claims = {**good_claims("admin"), "iss": issuer.origin}
    stranger, public = private_key("RS256", "a stranger's"), issuer.keys["first"][1].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    modulus = issuer.jwks()["keys"][0]["n"].encode()
    bare = f"{encoded_part({'alg': 'none', 'kid': 'first'})}.{encoded_part(claims)}."
    own = jwt.algorithms.RSAAlgorithm.to_jwk(stranger.public_key(), as_dict=True)

    def by_stranger(**headers: Any) -> str:
        return jwt.encode(claims, stranger, algorithm="RS256", headers={"kid": "first", **headers})

    good = issuer.bearer(scope="admin")["authorization"].removeprefix("Bearer ")
    head, body, signature = good.split(".")
    return {
        "alg none": bare,
        "alg None": bare.replace(encoded_part({"alg": "none", "kid": "first"}), encoded_part({"alg": "None"})),
        "alg none with a signature": f"{bare}{signature}",
        "the public key as a secret (PEM)": signed_with_secret(claims, pem),
        "the public key as a secret (DER)": signed_with_secret(claims, der),
        "the modulus as a secret": signed_with_secret(claims, modulus),
        "an empty secret": signed_with_secret(claims, b""),
        "a stranger's key": by_stranger(),
        "a key in the head": by_stranger(jwk=own),
        "an address of keys in the head": by_stranger(jku=f"{issuer.origin}/keys", x5u=f"{issuer.origin}/keys"),
        "a critical extension": jwt.encode(
            claims, issuer.keys["first"][1], algorithm="RS256", headers={"kid": "first", "crit": ["x"], "x": 1}
        ),
        "another audience": issuer.token(iss=issuer.origin, aud="https://other.example/mcp"),
        "an audience that begins like ours": issuer.token(iss=issuer.origin, aud=f"{AUDIENCE}/more"),
        "an audience of another case": issuer.token(iss=issuer.origin, aud=AUDIENCE.upper()),
        "no audience": issuer.token(iss=issuer.origin, without="aud"),
        "an empty list of audiences": issuer.token(iss=issuer.origin, aud=[]),
        "another issuer": issuer.token(iss="https://evil.example"),
        "an issuer with a slash": issuer.token(iss=f"{issuer.origin}/"),
        "no issuer": issuer.token(without="iss"),
        "expired": issuer.token(iss=issuer.origin, exp=int(time.time()) - 3_600),
        "no expiry": issuer.token(iss=issuer.origin, without="exp"),
        "not yet": issuer.token(iss=issuer.origin, nbf=int(time.time()) + 3_600),
        "no subject": issuer.token(iss=issuer.origin, without="sub"),
        "other claims under a good signature": f"{head}.{encoded_part({**claims, 'sub': 'root'})}.{signature}",
        "another head over a good signature": f"{encoded_part({'alg': 'RS256', 'kid': 'x'})}.{body}.{signature}",
        "a cut signature": good[:-4],
        "no signature": f"{head}.{body}.",
        "a fourth part": f"{good}.{signature}",
        "a token within a token": jwt.encode(
            {"token": good}, stranger, algorithm="RS256", headers={"kid": "first", "cty": "JWT"}
        ),
        **{f"key id {kid[:30]!r}": issuer.token(iss=issuer.origin, kid=kid) for kid in _KEY_IDS},
    }


def _status(aim: Target, token: str) -> int:
    return aim.http.get("/v1/tools", headers={"authorization": f"Bearer {token}"}).status_code


def test_forged_tokens(tmp_path: Path, tally: Tally) -> None:
    with issuing() as issuer, target(folder=tmp_path, settings=issuer.settings()) as aim:
        aim.http.headers.update(issuer.bearer(scope="admin"))
        aim.heartbeat()
        for what, token in _forged(issuer).items():
            status = _status(aim, token)
            tally.check(status in _REFUSED, f"{what}: {status}")
            aim.check_loop(tally, what, lambda token=token: _status(aim, token))  # type: ignore[misc]
            good = _status(aim, issuer.token(iss=issuer.origin))
            tally.check(good == 200, f"a good token after {what}: {good}")


def test_an_issuer_that_rotates_moves_and_floods(tmp_path: Path, tally: Tally) -> None:
    with issuing() as issuer, target(folder=tmp_path, settings=issuer.settings()) as aim:
        aim.http.headers.update(issuer.bearer(scope="admin"))
        aim.heartbeat()
        documents = {
            "not JSON": b"<html>",
            "an empty document": b" ",
            "no keys": b'{"keys":[]}',
            "a list": b"[]",
            "beyond all bounds": b'{"keys":["' + b"x" * 30_000_000 + b'"]}',
            "bottomless": b"[" * 500_000,
            "numbers without an end": b'{"keys":[' + b"9" * 500_000 + b"]}",
        }
        for what, document in documents.items():
            issuer.document = document
            # Somebody's unknown key causes a fetch. The keys that are known stay known.
            status = _status(aim, issuer.token(iss=issuer.origin, kid=f"unknown {what}"))
            tally.check(status in (401, 502), f"{what}: {status}")
            good = _status(aim, issuer.token(iss=issuer.origin, sub=what))
            tally.check(good == 200, f"a good token beside {what}: {good}")
            aim.check_loop(
                tally,
                what,
                lambda what=what: _status(aim, issuer.token(iss=issuer.origin, kid=f"again {what}")),  # type: ignore[misc]
            )
        issuer.document = None
        _rotate(issuer, aim, tally)


def _rotate(issuer: IssuerService, aim: Target, tally: Tally) -> None:
    """A new key is taken soon, and the token of a key that is gone is refused after the next fetch."""
    # A subject of its own: a token that was checked before is remembered for ten minutes, whatever becomes of its key.
    old = issuer.token(iss=issuer.origin, scope="admin", sub="never seen before")
    del issuer.keys["first"]
    issuer.add("second")
    issuer.move_to("/elsewhere")
    fresh = issuer.token(iss=issuer.origin, kid="second", scope="admin")
    deadline = time.monotonic() + 60
    while (status := _status(aim, fresh)) == 502 and time.monotonic() < deadline:
        # It says when to try again.
        time.sleep(0.5)
    tally.check(status == 200, f"a token of the new key: {status}")
    tally.check(_status(aim, old) in _REFUSED, "a token of a key that is gone")


def test_an_issuer_that_lies_redirects_and_dawdles(tmp_path: Path, tally: Tally) -> None:
    """Each server waits some seconds between two lies, so there are several servers at once."""
    rounds = [list(LIES)[start::_LIED_TO] for start in range(_LIED_TO)]
    with ThreadPoolExecutor(_LIED_TO) as threads:
        told = [threads.submit(_lie, tmp_path / str(number), lies) for number, lies in enumerate(rounds)]
    for one in told:
        tally.add(one.result())


def _lie(folder: Path, lies: list[str]) -> Tally:
    tally = Tally("lies")
    folder.mkdir()
    with lying() as issuer, target(folder=folder, settings=issuer.settings()) as aim:
        aim.http.headers.update(issuer.bearer(scope="admin"))
        aim.heartbeat()
        for number, lie in enumerate(lies):
            _tell(issuer, aim, tally, lie, f"unknown {number}")
        issuer.lie = ""
        deadline = time.monotonic() + 60
        issuer.add("later")
        while (status := _status(aim, issuer.token(iss=issuer.origin, kid="later"))) == 502:
            assert time.monotonic() < deadline, "an honest issuer is not believed again"
            time.sleep(0.5)
        tally.check(status == 200, f"a new key of an issuer that is honest again: {status}")
    return tally


def _tell(issuer: LyingIssuer, aim: Target, tally: Tally, lie: str, unknown: str) -> None:
    issuer.lie, before = lie, issuer.lied
    deadline = time.monotonic() + 60
    # Unknown keys make the server ask, but not more than once in some seconds.
    while issuer.lied == before and time.monotonic() < deadline:
        status = _status(aim, issuer.token(iss=issuer.origin, kid=unknown))
        tally.check(status in (401, 502), f"an unknown key while it {lie}: {status}")
        time.sleep(0.5)
    tally.check(issuer.lied > before, f"it {lie}, and nobody asked")
    for what, token, expected in (
        ("a good token", issuer.token(iss=issuer.origin, sub=lie), (200,)),
        ("a token of a stranger", issuer.strange_token(), (401, 502)),
    ):
        status = _status(aim, token)
        tally.check(status in expected, f"{what} while it {lie}: {status}")
    aim.check_loop(tally, lie, lambda: _status(aim, issuer.strange_token()))
