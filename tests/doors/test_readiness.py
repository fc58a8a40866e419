"""`/readyz` may be asked by anybody, so it asks the services behind the server only now and then."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from dogubako import Pack
from dogubako.app import build
from dogubako.gate.api_keys import KeyStore
from dogubako.settings import Sources
from dogubako.tools import HealthCheck
from dogubako.transports.http.app import HttpApp

from .asgi import Client, Visit, opened
from .waiting import until

FINE = HealthCheck(ok=True, subject="mill", message="it turns")
BROKEN = HealthCheck(ok=False, subject="mill", message="it stands still", advice="Look at the river.")
SLOW = HealthCheck(ok=False, subject="mill", message="it turns slowly", severity="warning")


class Mill(Pack):
    """Says how it is, when it is let."""

    name = "mill"

    def __init__(self) -> None:
        self.says, self.asked, self.awake = FINE, 0, anyio.Event()
        self.awake.set()

    async def check(self, settings: Any, client: Any) -> Sequence[HealthCheck]:
        self.asked += 1
        await self.awake.wait()
        return [self.says]


class Clock:
    """The clock of the probe alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(
            "dogubako.transports.http.readiness.time",
            SimpleNamespace(monotonic=lambda: self.now, perf_counter=time.perf_counter),
        )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@asynccontextmanager
async def probed(mill: Mill, **settings: Any) -> AsyncIterator[Client]:
    box = build(Sources(overrides=settings, environ={}, env_file=None), packs=[mill])
    async with opened(HttpApp(box)) as client:
        yield client


async def test_the_service_is_asked_at_most_every_two_seconds(clock: Clock) -> None:
    mill = Mill()
    async with probed(mill) as client:
        for _ in range(5):
            await client.get("/readyz")
        at_once = mill.asked
        clock.now += 1.9
        mill.says = BROKEN
        early = await client.get("/readyz")
        clock.now += 0.2
        late = await client.get("/readyz")

    assert (at_once, mill.asked) == (1, 2)
    assert (early.status, early.json["ready"]) == (200, True)
    assert (late.status, late.json) == (
        503,
        {
            "ready": False,
            "checks": [{"ok": False, "subject": "mill", "message": "it stands still", "advice": "Look at the river."}],
        },
    )


@pytest.mark.usefixtures("clock")
async def test_all_who_ask_while_the_service_thinks_share_its_answer() -> None:
    mill, answers = Mill(), list[Visit]()
    mill.awake = anyio.Event()

    async with probed(mill) as client:

        async def ask() -> None:
            answers.append(await client.get("/readyz"))

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(ask)
            await until(lambda: mill.asked == 1, "the service is asked")
            mill.awake.set()

    assert ([visit.status for visit in answers], mill.asked) == ([200] * 50, 1)


async def test_health_does_not_wait_for_a_service_that_thinks() -> None:
    mill = Mill()
    mill.awake = anyio.Event()
    async with probed(mill) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.get, "/readyz")
        await until(lambda: mill.asked == 1, "the service is asked")
        visit = await client.get("/healthz")
        mill.awake.set()

    assert (visit.status, visit.json) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("says", "status"),
    [
        pytest.param(FINE, 200, id="fine"),
        pytest.param(SLOW, 200, id="a warning"),
        pytest.param(BROKEN, 503, id="broken"),
    ],
)
@pytest.mark.parametrize("auth", ["off", "keys"])
async def test_strangers_learn_whether_and_not_what(tmp_path: Path, says: HealthCheck, status: int, auth: str) -> None:
    KeyStore(tmp_path).create("ann", ["read"])
    mill = Mill()
    mill.says = says
    async with probed(mill, auth=auth, data_dir=tmp_path) as client:
        visit = await client.get("/readyz")

    assert (visit.status, visit.json["ready"]) == (status, status == 200)
    assert visit.json.keys() == ({"ready", "checks"} if auth == "off" else {"ready"})


# Who has what keys, and what is found.
KEYS = [
    pytest.param("one", 200, (True, "API keys", "1 active"), id="one"),
    pytest.param("none", 200, (False, "API keys", "No key is active, so nobody can come in."), id="none"),
    pytest.param(
        "expired", 200, (False, "API keys", "No key is active, so nobody can come in."), id="one that is over"
    ),
    pytest.param("damaged", 503, (False, "API keys", "is damaged: it is not a list of keys."), id="unreadable"),
]


@pytest.mark.parametrize(("which", "status", "expected"), KEYS)
async def test_the_gate_is_part_of_the_check(
    tmp_path: Path, which: str, status: int, expected: tuple[bool, str, str]
) -> None:
    if which in ("one", "expired"):
        KeyStore(tmp_path).create("ann", ["read"], timedelta(0) if which == "expired" else None)
    elif which == "damaged":
        (tmp_path / "keys.json").write_text("{")
        (tmp_path / "keys.json").chmod(0o600)
    box = build(Sources(overrides={"auth": "keys", "data_dir": tmp_path}, environ={}, env_file=None), packs=[Mill()])
    async with opened(HttpApp(box)) as client:
        visit, found = await client.get("/readyz"), {one.subject: one for one in await box.check()}

    ok, subject, message = expected
    assert (visit.status, found[subject].ok) == (status, ok)
    assert found[subject].message.endswith(message)
    assert (found["audit log"].ok, found["mill"].ok) == (True, True)


async def test_an_audit_log_that_cannot_be_written_is_found_and_stops_no_reading(tmp_path: Path) -> None:
    KeyStore(tmp_path).create("ann", ["read"])
    (tmp_path / "audit.jsonl").mkdir()
    box = build(Sources(overrides={"auth": "keys", "data_dir": tmp_path}, environ={}, env_file=None), packs=[Mill()])
    async with opened(HttpApp(box)) as client:
        visit, found = await client.get("/readyz"), {one.subject: one for one in await box.check()}

    assert (visit.status, found["audit log"].ok, found["audit log"].severity) == (200, False, "warning")
    assert "tools that change something do not run" in found["audit log"].message
