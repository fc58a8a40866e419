"""Tokens with invented key ids, and authorization servers with absurd keys: few fetches, and a loop that goes on."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.gate.authorization_server import private_key
from tests.gate.issuer_service import IssuerService, issuing

from .conftest import Tally
from .server import Target, target

pytestmark = pytest.mark.attack

STRANGERS = 200


def test_hostile_tokens(tmp_path: Path, tally: Tally) -> None:
    with issuing() as issuer, target(folder=tmp_path, settings=issuer.settings()) as aim:
        aim.http.headers.update(issuer.bearer(scope="admin"))
        aim.heartbeat()
        _invent_key_ids(issuer, aim, tally)
        for what, document in _absurd_keys(issuer).items():
            _show(issuer, document)
            _refetch(issuer, aim, what)
            answer = _knock(issuer, aim, sub=what)
            tally.check(answer == 200, f"{what}: {answer}")
            aim.check_loop(tally, what, partial(_refetch, issuer, aim, what))


def _refetch(issuer: IssuerService, aim: Target, kid: str) -> None:
    """Keys are fetched again for a key that nobody knows, as soon as there is a fetch for it."""
    before = issuer.asked["/keys"]
    while issuer.asked["/keys"] == before:
        _knock(issuer, aim, kid=kid)
        time.sleep(0.2)


def _knock(issuer: IssuerService, aim: Target, **claims: Any) -> int:
    return aim.http.get("/v1/tools", headers=issuer.bearer(**claims)).status_code


def _invent_key_ids(issuer: IssuerService, aim: Target, tally: Tally) -> None:
    before = issuer.asked["/keys"]
    for number in range(STRANGERS):
        answer = _knock(issuer, aim, kid=f"invented {number}")
        tally.check(answer in (401, 502), f"an invented key id: {answer}")
    asked = issuer.asked["/keys"] - before
    tally.check(asked < STRANGERS / 4, f"{STRANGERS} invented key ids: {asked} fetches")
    answer = _knock(issuer, aim, sub="somebody who is known")
    tally.check(answer == 200, f"a good token beside invented key ids: {answer}")
    aim.check_loop(tally, "invented key ids", lambda: _knock(issuer, aim, kid="invented once more"))


def _absurd_keys(issuer: IssuerService) -> dict[str, list[Any]]:
    curve = jwt.algorithms.ECAlgorithm.to_jwk(private_key("ES256", "x").public_key(), as_dict=True)
    return {
        "100,000 empty keys": [{}] * 100_000,
        "100,000 numbers": [5] * 100_000,
        "5,000 good keys": [{**curve, "kid": str(number)} for number in range(5_000)],
        "1,000 keys of one id": [{**curve, "kid": "first"}] * 1_000,
        "a key of half a megabyte": [{"kty": "RSA", "e": "AQAB", "n": "A" * 500_000}],
        "deep nesting": [json.loads("[" * 400 + "]" * 400)],
    }


def _show(issuer: IssuerService, others: list[Any]) -> None:
    document = json.dumps({"keys": [*issuer.jwks()["keys"], *others]}).encode()
    assert len(document) < 1_048_576
    issuer.document = document
