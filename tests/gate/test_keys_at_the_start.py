"""A server that nobody can get into says so when it starts, once; and so for keys that it cannot read."""

from datetime import timedelta
from pathlib import Path

import pytest
import structlog
import structlog.testing

from dogubako.gate.api_keys import KeyStore
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened
from tests.doors.processes import serving

from .sheds import SHED, key_in, shed_in

NOBODY = "No key is active, so nobody can come in."


@pytest.mark.parametrize("which", ["none", "expired", "revoked", "active"])
async def test_a_start_without_a_key_that_opens_is_a_warning_with_advice(tmp_path: Path, which: str) -> None:
    if which != "none":
        key_in(tmp_path, "ann", "read") if which != "expired" else KeyStore(tmp_path).create("ann", [], timedelta(0))
    if which == "revoked":
        KeyStore(tmp_path).revoke("ann")
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as log:
        async with opened(HttpApp(shed_in(tmp_path, auth="keys"))) as client:
            for _ in range(3):
                await client.get("/v1/tools")

    said = [line for line in log if line["event"] == NOBODY]
    assert [(line["log_level"], "dogubako keys create" in line["advice"]) for line in said] == (
        [] if which == "active" else [("warning", True)]
    )


@pytest.mark.slow
def test_an_operator_sees_the_warning_once(tmp_path: Path) -> None:
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with serving(SHED, folder=tmp_path, settings=settings) as server:
        server.url()

    warnings = [line for line in server.stderr.text().splitlines() if NOBODY in line]
    assert len(warnings) == 1 and "WARN" in warnings[0]
    assert server.log_file.count(NOBODY) == 1


async def test_keys_that_cannot_be_read_are_said_once_until_they_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    secret = key_in(tmp_path, "ann", "read")
    file, good = tmp_path / "keys.json", (tmp_path / "keys.json").read_bytes()
    structlog.reset_defaults()
    statuses, times_said = list[int](), list[int]()
    with structlog.testing.capture_logs() as log:
        async with opened(HttpApp(shed_in(tmp_path, auth="keys"))) as client:
            for content in (good, b"{", b"{ ", good, b"{"):
                file.write_bytes(content)
                for _ in range(3):
                    visit = await client.request("GET", "/v1/tools", headers={"x-api-key": secret})
                statuses.append(visit.status)
                times_said.append(sum(line["event"] == "API keys cannot be read" for line in log))

    assert statuses == [200, 401, 401, 200, 401]
    assert times_said == [0, 1, 1, 1, 2]


async def test_no_secret_is_remembered(tmp_path: Path) -> None:
    secret, box = key_in(tmp_path, "ann", "read"), shed_in(tmp_path, auth="keys")
    async with opened(HttpApp(box)) as client:
        visit = await client.request("GET", "/v1/tools", headers={"x-api-key": secret})

    assert visit.status == 200
    assert box.authenticator._remembered and secret not in str(vars(box.authenticator))  # type: ignore[attr-defined]
