"""Whoever is refused at the door leaves a line for the operator: from where, and why. Never what they brought."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import structlog.testing

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened

from .authorization_server import AUDIENCE, ISSUER, AuthorizationServer
from .sheds import shed_in
from .token_gate import taking_tokens, verdict


@pytest.fixture
def log() -> Iterator[list[Any]]:
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as lines:
        yield lines


async def test_who_has_no_good_key_is_named_by_address_and_reason(tmp_path: Path, log: list[Any]) -> None:
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", audit=False))) as client:
        await client.get("/v1/tools")
        await client.get("/v1/tools", **{"x-api-key": "dgb_00000000_wrong"})
        await client.get("/healthz", host="evil.example")

    lines = [line for line in log if line["event"] == "HTTP error"]
    assert [(line["status"], line["reason"]) for line in lines] == [
        (401, "An API key is required."),
        (401, "The API key is not valid."),
        (403, "This host name is not allowed."),
    ]
    assert all(line["client"] == "127.0.0.1" for line in lines)
    assert "wrong" not in str(log) and "evil" not in str(log)


EXPECTED: list[Any] = [
    pytest.param(
        {"aud": f"{AUDIENCE}/"}, {"reason": "InvalidAudienceError", "expected": AUDIENCE}, id="a slash too many"
    ),
    pytest.param({"iss": "https://evil.example"}, {"reason": "InvalidIssuerError", "expected": ISSUER}, id="an issuer"),
    pytest.param({"without": "exp"}, {"reason": "MissingRequiredClaimError", "missing": "exp"}, id="a claim"),
]


@pytest.mark.parametrize(("claims", "said"), EXPECTED)
async def test_the_log_says_what_a_token_should_have_said(
    log: list[Any], claims: dict[str, Any], said: dict[str, str]
) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(**claims)) == "The access token is not valid."

    [line] = [line for line in log if line["event"] == "Access token refused"]
    assert line == {"event": "Access token refused", "log_level": "warning", **said}


async def test_an_audit_log_that_cannot_be_begun_is_told_at_the_start(tmp_path: Path, log: list[Any]) -> None:
    (tmp_path / "file").touch()
    async with shed_in(tmp_path / "file").running():
        pass

    assert [line["event"] for line in log if line["log_level"] == "warning"] == [
        f"{tmp_path / 'file' / 'audit.jsonl'} cannot be written, so tools that change something do not run."
    ]
