"""A Redis that hangs, dies, and holds what strangers wrote: every call is answered, and none waits for it."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from tests.doors.processes import PATIENCE
from tests.redis_server import INSTALLED, RedisProcess

from .conftest import Tally
from .server import Target, target

pytestmark = [pytest.mark.attack, pytest.mark.skipif(not INSTALLED, reason="needs redis-server")]

TOOLS: Final = Path(__file__).with_name("cached_tools.py")
# For a Redis that is well, on a machine that does many other things at once.
PATIENT: Final = "?socket_timeout=30&socket_connect_timeout=30"
CALLS: Final = 60
# A call waits for a sick Redis for at most 0.3 s, and nearly all of them not at all. It was one to two seconds each.
MOST_SECONDS_FOR_ALL: Final = 20.0


@contextmanager
def server_with_redis(folder: Path, options: str = "") -> Iterator[tuple[Target, RedisProcess]]:
    """A server whose cache and rate limits are in one Redis."""
    with RedisProcess(folder) as store:
        settings = {
            "DOGUBAKO_CACHE": store.url + options,
            "RATE_LIMIT_STORAGE": store.url + options,
            "RATE_LIMIT_MAX": "100000",
            "DOGUBAKO_DATA_DIR": str(folder / "data"),
        }
        with target(TOOLS, folder=folder, settings=settings) as aim:
            yield aim, store


def call_all(aim: Target, tally: Tally, what: str, *, runs: int = CALLS // 3) -> float:
    """Calls of tools that are cached, that use the cache, and that know nothing of it. The seconds that they took."""
    started = time.monotonic()
    for number in range(runs):
        for name, arguments, right in (
            ("get_run", {"run": number}, lambda found, run=number: _is_run(found, run)),
            ("keep", {"text": f"{number}"}, lambda found, number=number: found in (f"{number}", "nothing")),
            ("echo", {"text": "still there"}, lambda found: found == "still there"),
        ):
            answer = aim.call(name, **arguments)
            held = answer.status_code == 200 and right(answer.json()["result"])
            tally.check(held, f"{what}: {name} got {answer.status_code} {answer.text[:200]}")
    return time.monotonic() - started


def _is_run(found: Any, run: int) -> bool:
    return isinstance(found, dict) and found["data"]["run"] == run


def wait_until_used(aim: Target) -> None:
    """Until an answer comes out of the cache: the breaker is closed again."""
    deadline = time.monotonic() + PATIENCE
    while len({aim.call("get_run", run=-1).json()["result"]["data"]["computed"] for _ in range(2)}) == 2:
        assert time.monotonic() < deadline, "the cache is not used again"
        time.sleep(0.1)


def test_a_redis_that_hangs(tmp_path: Path, tally: Tally) -> None:
    with server_with_redis(tmp_path) as (aim, store):
        wait_until_used(aim)
        aim.heartbeat()
        for _ in range(2):
            store.signal(signal.SIGSTOP)
            took = call_all(aim, tally, "hanging")
            tally.check(took < MOST_SECONDS_FOR_ALL, f"{CALLS} calls took {took:.1f} s")
            aim.check_loop(tally, "a hanging Redis", lambda: call_all(aim, tally, "hanging"))
            store.signal(signal.SIGCONT)
            wait_until_used(aim)
        log = aim.command.log_file
        opened = log.count("Circuit breaker opened")
        tally.check(0 < opened <= 10, f"{opened} lines say that it opened")


def test_a_redis_that_is_killed_and_started_again(tmp_path: Path, tally: Tally) -> None:
    with server_with_redis(tmp_path) as (aim, store):
        for _ in range(3):
            store.kill()
            took = call_all(aim, tally, "away")
            tally.check(took < MOST_SECONDS_FOR_ALL, f"{CALLS} calls took {took:.1f} s")
            store.start()
            call_all(aim, tally, "back", runs=5)
            wait_until_used(aim)


def test_a_server_stops_while_its_redis_hangs(tmp_path: Path, tally: Tally) -> None:
    with server_with_redis(tmp_path) as (aim, store):
        wait_until_used(aim)
        store.signal(signal.SIGSTOP)
        aim.command.signal(signal.SIGTERM)
        tally.check(aim.command.wait() == 0, "the server did not stop well")


def _planted() -> dict[str, Callable[[Any, bytes], object]]:
    """Ways to spoil what is stored under a name."""
    answer = b'{"content":[{"type":"text","text":"planted"}],"kind":"text","structured":null,"tokens":1,'
    answer += b'"count":null,"trimmed":false}'

    def replace(value: bytes) -> Callable[[Any, bytes], object]:
        return lambda client, name: client.set(name, value)

    def of_type(command: str, *words: Any) -> Callable[[Any, bytes], object]:
        def plant(client: Any, name: bytes) -> None:
            client.delete(name)
            client.execute_command(command, name, *words)

        return plant

    return {
        "nothing": replace(b""),
        "one byte": replace(b"x"),
        "not JSON": replace(b"\xff\x00" * 100),
        "a block that is none": replace(b'{"content":[1],"kind":"text","tokens":1}'),
        "no content": replace(b'{"content":[],"kind":"json","tokens":1}'),
        "a video": replace(b'{"content":[{"type":"video"}],"kind":"blocks","tokens":1}'),
        "a sound answer": replace(answer),
        "20 MB": replace(answer.replace(b"planted", b"planted " * 2_500_000)),
        "bottomless": replace(b"[" * 100_000),
        "a changed byte": lambda client, name: client.setrange(name, 40, b"Z"),
        "cut off": lambda client, name: client.set(name, (client.get(name) or b"")[:-1]),
        "longer": lambda client, name: client.append(name, b" "),
        "a list": of_type("RPUSH", "x"),
        "a hash": of_type("HSET", "field", "x"),
        "a set": of_type("SADD", "x"),
        "a stream": of_type("XADD", "*", "field", "x"),
    }


def test_planted_and_corrupted_values(tmp_path: Path, tally: Tally) -> None:
    with server_with_redis(tmp_path, PATIENT) as (aim, store), redis.Redis.from_url(store.url) as client:
        wait_until_used(aim)
        aim.heartbeat()
        for what, plant in _planted().items():
            call_all(aim, tally, "before", runs=2)
            names = [name for name in client.scan_iter(b"*") if b"calls" not in name]
            tally.check(len(names) >= 2, f"{what}: nothing is stored")
            for name in names:
                plant(client, name)
            for round_ in (1, 2):
                call_all(aim, tally, f"{what}, round {round_}", runs=2)
            aim.check_loop(tally, what, partial(call_all, aim, tally, f"{what}, once more", runs=2))
        _swap_two(aim, client, tally)


def _swap_two(aim: Target, client: Any, tally: Tally) -> None:
    """Values that the server signed itself, each under the name of the other."""
    client.flushall()
    for run in (1, 2):
        aim.call("get_run", run=run)
    first, second = list(client.scan_iter(b"*answer*"))[:2]
    one, other = client.get(first), client.get(second)
    client.set(first, other)
    client.set(second, one)
    for run in (1, 2):
        said = aim.call("get_run", run=run).json()["result"]["data"]["run"]
        tally.check(said == run, f"run {run} got the answer of run {said}")


def test_planted_counters_of_the_rate_limit(tmp_path: Path, tally: Tally) -> None:
    with server_with_redis(tmp_path, PATIENT) as (aim, store), redis.Redis.from_url(store.url) as client:
        for kind, words in (("SET", ["x"]), ("HSET", ["field", "x"]), ("RPUSH", ["nonsense"]), ("SADD", ["x"])):
            call_all(aim, tally, "before", runs=1)
            counters = list(client.scan_iter(b"*calls*"))
            tally.check(bool(counters), "nothing is counted")
            for name in counters:
                client.delete(name)
                client.execute_command(kind, name, *words)
            call_all(aim, tally, f"a counter that is a {kind}", runs=3)
            for name in counters:
                client.delete(name)
