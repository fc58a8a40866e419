"""Services that answer far too much: the event loop goes on, and the memory comes back."""

import gzip
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from dogubako.outbound.bounds import MEGABYTE
from tests.large_answers import LARGE_ANSWERS, execution

from .conftest import Tally
from .lying_upstream import Said, Upstream, lying_upstream
from .server import Target, target

pytestmark = pytest.mark.attack

# How much more memory a server may have after a hundred such answers than before.
MOST_MEGABYTES: Final = 60
ROUNDS: Final = 100
BEYOND: Final = 40 * MEGABYTE

ISSUES: Final = "/issues.json"
EXECUTION: Final = "/api/v1/executions/1"
_SPACES: Final = b" " * (256 * 1024)


def settings(upstream: Upstream) -> dict[str, str]:
    return {
        "REDMINE_URL": upstream.url,
        "REDMINE_API_KEY": "a" * 40,
        "N8N_URL": upstream.url,
        "N8N_API_KEY": "key-of-n8n",
    }


OVERSIZED: Final = {
    "announced": Said(body=_SPACES, size=BEYOND),
    "sent without a length": Said(body=_SPACES, size=BEYOND, with_length=False),
    "packed": Said(body=gzip.compress(b" " * BEYOND, 1), headers={"Content-Encoding": "gzip"}),
    "not packed as it says": Said(body=_SPACES, size=20 * MEGABYTE, headers={"Content-Encoding": "gzip"}),
    "too many values": Said(body=b'{"issues":[' + b"[]," * 5_000_000 + b"0]}"),
    "no JSON": Said(body=b"[" * (8 * MEGABYTE)),
    "a refusal": Said(body=b'{"errors":["' + b"x" * (8 * MEGABYTE) + b'"]}', status=422),
    "a refusal of many words": Said(body=b'{"errors":[' + b'"word",' * MEGABYTE + b'"word"]}', status=422),
}


def test_answers_beyond_all_bounds_leave_no_memory_behind(tmp_path: Path, tally: Tally) -> None:
    with lying_upstream() as upstream, target(folder=tmp_path, words=(), settings=settings(upstream)) as aim:
        _warm_up(upstream, aim)
        _, before = aim.heartbeat()
        for number in range(ROUNDS):
            name = list(OVERSIZED)[number % len(OVERSIZED)]
            upstream.answers[ISSUES] = upstream.answers[EXECUTION] = OVERSIZED[name]
            ask = partial(aim.call, "list_issues") if number % 3 else partial(aim.call, "get_execution", id="1")
            answer = ask()
            tally.check(answer.status_code == 502, f"{name}: {answer.status_code} {answer.text[:200]}")
            aim.check_loop(tally, name, ask)
        _check_memory(tally, aim, before, ROUNDS)


def _warm_up(upstream: Upstream, aim: Target) -> None:
    """A server that has answered nothing yet has not loaded everything."""
    upstream.answers[ISSUES] = Said(body=b'{"issues":[],"total_count":0,"offset":0,"limit":25}')
    upstream.answers[EXECUTION] = Said(body=execution())
    for _ in range(3):
        assert aim.call("list_issues").status_code == aim.call("get_execution", id="1").status_code == 200
    # The first of these also starts the worker threads.
    upstream.answers[ISSUES] = Said(body=b" " * MEGABYTE)
    assert aim.call("list_issues").status_code == 502


def test_large_answers(tmp_path: Path, tally: Tally) -> None:
    with lying_upstream() as upstream, target(folder=tmp_path, words=(), settings=settings(upstream)) as aim:
        _warm_up(upstream, aim)
        _, before = aim.heartbeat()
        for large in LARGE_ANSWERS:
            upstream.answers[large.path] = Said(body=large.body(), status=large.status)
            ask = partial(aim.call, large.tool, **large.parameters)
            answer = ask()
            tally.check(
                answer.status_code in (200, 413, 500, 502), f"{large.name}: {answer.status_code} {answer.text[:200]}"
            )
            aim.check_loop(tally, f"{large.pack}: {large.name}", ask)
        _check_memory(tally, aim, before, len(LARGE_ANSWERS))


def _check_memory(tally: Tally, aim: Target, before: float, answers: int) -> None:
    _, after = aim.heartbeat()
    grown = f"{answers} answers cost {after - before:.0f} MB: {before:.0f} → {after:.0f}"
    tally.check(after - before <= MOST_MEGABYTES, grown)
