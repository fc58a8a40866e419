"""Processes, Redis and the wire between them fail under load: nothing is lost that was promised, nothing runs twice.

docs/scale.md has the table of these trials.
"""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
import redis

from dogubako.gate.audit import STARTED, AuditLine, read_line
from tests.redis_server import INSTALLED

from .partition import Wire, wire
from .replicas import COUNT, NGINX, Replicas, allow_user, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

CLIENTS = 4
# Of each client before the trouble and after it, and at most while it lasts.
CALLS_EACH = 10
MOST_CALLS = 500
LEDGER_TOOLS = Path(__file__).parent / "ledger_tools.py"
# With these codes the tool did not run.
REFUSED = {"BUSY", "RATE_LIMIT_EXCEEDED", "READ_ONLY", "TOOL_DISABLED"}


@dataclass(frozen=True, kw_only=True)
class World:
    """Three replicas, the ledger of their tool, and the wire between the first one and Redis."""

    box: Replicas
    ledger: Path
    folder: Path
    wire: Wire

    def entered(self) -> Counter[str]:
        return Counter(self.ledger.read_text().split())

    def audit(self) -> list[AuditLine]:
        """The lines of all replicas."""
        files = [self.folder / str(number) / "data" / "audit.jsonl" for number in range(COUNT)]
        lines = [read_line(raw) for one in files if one.exists() for raw in one.read_bytes().splitlines()]
        return [line for line in lines if line is not None and line.tool == "enter"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("chaos")
    ledger = folder / "ledger"
    ledger.touch()
    wires: list[Wire] = []
    with ExitStack() as stack:

        def between(number: int, address: str) -> str:
            if number:
                return address
            wires.append(stack.enter_context(wire(address)))
            return wires[0].address

        settings = {
            "LEDGER": str(ledger),
            "RATE_LIMIT_TOOL_MAX": "1000000",
            "DOGUBAKO_CALLER_CONCURRENCY": "50",
        }
        box = stack.enter_context(replicas(folder, LEDGER_TOOLS, settings=settings, between=between))
        yield World(box=box, ledger=ledger, folder=folder, wire=wires[0])


@dataclass
class Outcome:
    """What clients heard of each entry that they sent: a code, or nothing."""

    codes: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    @property
    def succeeded(self) -> set[str]:
        return {entry for entry, code in self.codes.items() if code == "OK"}


def load(world: World, trouble: Callable[[], None]) -> Outcome:
    """Calls from several clients before the trouble, while it lasts, and after it."""
    outcome, midway, over = Outcome(), threading.Barrier(CLIENTS + 1), threading.Event()

    def call() -> None:
        entry = uuid4().hex
        try:
            outcome.codes[entry] = world.box.code("enter", {"entry": entry})
        except (httpx2.TransportError, KeyError, ValueError):
            # The connection broke, or nginx answered in place of a server that was gone.
            outcome.lost.add(entry)

    def client() -> None:
        for _ in range(CALLS_EACH):
            call()
        midway.wait(60)
        for _ in range(MOST_CALLS):
            call()
            if over.is_set():
                break
        for _ in range(CALLS_EACH):
            call()

    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(client) for _ in range(CLIENTS)]
        midway.wait(60)
        try:
            trouble()
        finally:
            over.set()
        for one in running:
            one.result()
    return outcome


def judge(world: World, outcome: Outcome) -> None:
    """What holds whatever fails."""
    entered = world.entered()
    refused = {entry for entry, code in outcome.codes.items() if code in REFUSED}
    twice = {entry for entry, times in entered.items() if times > 1}

    assert twice == set(), "no entry was made twice"
    assert outcome.succeeded <= entered.keys(), "every answer is true"
    assert refused & entered.keys() == set(), "what was refused was not done"
    assert set(outcome.codes.values()) - REFUSED - {"OK"} == set(), "every failure has a reason"
    codes = Counter(line.code for line in world.audit())
    assert codes[STARTED] >= len(entered), "every entry was recorded before it was made"
    assert codes["OK"] >= len(outcome.succeeded), "every answer was recorded"


@contextmanager
def stopped(world: World) -> Iterator[None]:
    world.box.redis.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        world.box.redis.signal(signal.SIGCONT)


def test_redis_hangs(world: World) -> None:
    def hang() -> None:
        with stopped(world):
            time.sleep(2)

    outcome = load(world, hang)

    judge(world, outcome)
    assert outcome.lost == set()


def test_redis_is_emptied(world: World) -> None:
    def empty() -> None:
        with redis.Redis.from_url(world.box.redis.url) as client:
            client.flushall()

    outcome = load(world, empty)

    judge(world, outcome)
    assert outcome.lost == set()
    assert outcome.succeeded == outcome.codes.keys()


def test_redis_is_killed_and_comes_back_empty(world: World) -> None:
    def kill() -> None:
        world.box.redis.kill()
        time.sleep(1)
        world.box.redis.start()
        allow_user(world.box.redis)

    outcome = load(world, kill)

    judge(world, outcome)
    assert outcome.lost == set()


def test_one_replica_is_cut_off_from_redis(world: World) -> None:
    def cut() -> None:
        world.wire.cut()
        time.sleep(2)
        world.wire.join()

    outcome = load(world, cut)

    judge(world, outcome)
    assert outcome.lost == set()


def test_a_replica_is_killed(world: World) -> None:
    """The last test: one of the servers is gone afterwards."""
    outcome = load(world, lambda: world.box.servers[-1].signal(signal.SIGKILL))

    judge(world, outcome)
    # Each client has at most one call at the killed server; nginx sends the others elsewhere.
    assert len(outcome.lost) <= CLIENTS
    assert len(outcome.succeeded) == len(outcome.codes)
