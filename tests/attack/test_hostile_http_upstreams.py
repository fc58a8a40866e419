"""MCP servers over HTTP that attack with every byte of their answers: nobody but their own calls suffers."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.doors.processes import PATIENCE

from . import hostile_http_attacks as attacks
from .conftest import Tally
from .hostile_http import HostileHttp
from .server import Target, target

pytestmark = pytest.mark.attack

_KEY: Final = "http-key-4711-nobody-may-see"
_MOST_MEGABYTES: Final = 150
_LONGEST_ANSWER: Final = 200_000
# What a server without calls may use of a processor while five others flood it.
_MOST_BUSY: Final = 0.75
_IDLE_SECONDS: Final = 2.0
_INTERNAL: Final = ("INTERNAL_ERROR", "TOOL_EXECUTION_ERROR")
# Their tools are served in spite of what they do.
_SERVED: Final = (
    "version-lines", "version-odd", "info-large", "lost", "changes-flood", "changes-comments",
    "changes-again", "changes-pause", "changes-odd", "silent-notices", "pages", "delete", "modern-listens",
    "modern-heard", "sse-endless-post", "sse-silent-post",
)  # fmt: skip
# Nothing can be served of these, and it is known why.
_REFUSED: Final = {
    "elsewhere": "broken_configuration",
    "sign-in": "sign_in_needed",
    "sse-odd": "broken_configuration",
    "sse-elsewhere": "broken_configuration",
}


@contextmanager
def _attacked(folder: Path, *names: str) -> Iterator[tuple[HostileHttp, Target]]:
    with HostileHttp(attacks.ALL).running() as evil:
        tables = [
            f'[servers.{name}]\nurl = "{evil.url}/{name}"\npinning = "off"\ntimeout = 20\n'
            + f'headers = {{ Authorization = "Bearer {_KEY}" }}\n'
            + ('transport = "sse"\n' if name.startswith("sse") else "")
            for name in names
        ]
        (folder / "dogubako.toml").write_text("\n".join(tables))
        with target(folder=folder, words=()) as aim:
            yield evil, aim


def _do(aim: Target, server: str, how: str, milliseconds: int | None = None) -> Any:
    options = {} if milliseconds is None else {"timeout": milliseconds}
    body = {"name": f"do_{server.replace('-', '_')}", "parameters": {"how": how}, "options": options}
    return aim.http.post("/v1/tools/call", json=body)


def _until(fits: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not fits():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def _is_served(aim: Target, server: str) -> bool:
    return bool(_do(aim, server, "nothing bad").status_code == 200)


def _processor_seconds(aim: Target) -> float:
    fields = Path(f"/proc/{aim.command.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _check_idle(aim: Target, tally: Tally) -> None:
    """Nothing of the attack goes on. A moment in which something else runs is looked at again."""
    used: list[float] = []
    while len(used) < 3 and (not used or min(used) > _MOST_BUSY * _IDLE_SECONDS):
        before = _processor_seconds(aim)
        time.sleep(_IDLE_SECONDS)
        used.append(_processor_seconds(aim) - before)
    tally.check(min(used) <= _MOST_BUSY * _IDLE_SECONDS, f"idle, it uses {min(used):.2f} s in {_IDLE_SECONDS:g} s")


def _check_secrets(aim: Target, evil: HostileHttp, tally: Tally) -> None:
    tally.check(_KEY not in aim.command.log_file, "the key is in the log")
    tally.check(_KEY not in aim.command.stderr.text(), "the key is on stderr")
    tally.check("never retrieved" not in aim.command.stderr.text(), "an error that nobody looked at is on stderr")
    tally.check(not evil.elsewhere.methods, f"another origin was asked: {evil.elsewhere.methods[:1]}")


def test_http_servers_that_attack_with_their_answers(tmp_path: Path, tally: Tally) -> None:
    with _attacked(tmp_path, "legacy", "modern", "sse") as (evil, aim):
        for server in ("legacy", "modern", "sse"):
            _until(partial(_is_served, aim, server), f"the tool of {server} is not served")
        aim.heartbeat()
        _, before = aim.heartbeat()
        for how in attacks.HOW:
            if how not in attacks.ONLY_MODERN:
                _attack(evil, aim, tally, "legacy", how)
        for how in attacks.OF_THE_ERA:
            _attack(evil, aim, tally, "modern", how)
        for how in attacks.SSE_HOW:
            _attack(evil, aim, tally, "sse", how)
        _check_idle(aim, tally)
        _, after = aim.heartbeat()
        tally.check(after - before <= _MOST_MEGABYTES, f"memory: {before} → {after} MB")
        _check_secrets(aim, evil, tally)


def _attack(evil: HostileHttp, aim: Target, tally: Tally, server: str, how: str) -> None:
    """One attack: what it does to its own call, to the loop, to other tools, and to the next call."""
    # Before 2026-07-28 an answer is an answer, whatever it wants.
    endless = server != "sse" and how in attacks.ENDLESS and (server == "modern" or how not in attacks.SENT_AGAIN)
    milliseconds = 200 if endless else None
    reached = evil.seen.calls.count(how)
    answer = _do(aim, server, how, milliseconds)
    reached = evil.seen.calls.count(how) - reached
    said, what = answer.text, f"{server}: {how}"
    code = answer.json().get("code", "")
    tally.check(code not in _INTERNAL, f"{what}: {said[:200]}")
    tally.check(_KEY not in said, f"{what}: the key is in the answer")
    tally.check(len(said) <= _LONGEST_ANSWER, f"{what}: {len(said):,} characters")
    tally.check(endless == (code == "TIMEOUT"), f"{what}: {answer.status_code} {said[:200]}")
    tally.check(reached <= 1 or how in attacks.SENT_AGAIN, f"{what}: the call was sent {reached} times")
    aim.check_loop(tally, what, partial(_do, aim, server, how, milliseconds))
    tally.check(aim.call("echo", text="here").status_code == 200, f"echo beside {what}")
    _until(partial(_is_served, aim, server), f"the next call after {what} does not work")


def test_http_servers_that_attack_with_everything_else(tmp_path: Path, tally: Tally) -> None:
    with _attacked(tmp_path, *attacks.ATTACKS) as (evil, aim):
        for server in _SERVED:
            _until(partial(_is_known, aim, server), f"the tool of {server} is not served")
            tally.check(aim.call("echo", text="here").status_code == 200, f"echo beside {server}")
        for server, state in _REFUSED.items():
            _until(partial(_is_in, aim, server, state), f"{server} is not in the state {state}")
        _attack_in_calls(evil, aim, tally)
        asked = len(evil.seen.methods)
        _check_idle(aim, tally)
        # A server without a pause in its streams, and thirty that come and go, are asked now and then.
        asked = len(evil.seen.methods) - asked
        tally.check(asked <= 500, f"idle, it sent {asked} requests")
        for server in attacks.ATTACKS:
            shown = aim.http.get(f"/v1/servers/{server}").text
            tally.check(_KEY not in shown, f"{server}: the key is shown")
            tally.check(len(shown) <= 1_000_000, f"{server}: {len(shown):,} characters are shown")
        _check_secrets(aim, evil, tally)


def _attack_in_calls(evil: HostileHttp, aim: Target, tally: Tally) -> None:
    """Calls at servers that are hostile beside them."""
    _, before = aim.heartbeat()
    for server in ("sse-endless-post", "sse-silent-post"):
        answer = _do(aim, server, "nothing bad", 1_000)
        tally.check(answer.json().get("code") == "TIMEOUT", f"{server}: {answer.text[:200]}")
    lost = _do(aim, "lost", "nothing bad")
    tally.check(lost.json().get("code") == "API_ERROR", f"lost: {lost.text[:200]}")
    # Its connection ends, and the end is another attack.
    next(tmp for tmp in aim.command.folder.rglob("delete.definitions.json")).with_name("delete.restart.json").touch()
    _until(lambda: "delete DELETE" in evil.seen.methods, "the session is not closed")
    _until(partial(_is_served, aim, "delete"), "the server is not connected again")
    for server in ("version-odd", "changes-flood", "changes-comments", "silent-notices", "modern-listens"):
        tally.check(_is_served(aim, server), f"a call at {server}")
        aim.check_loop(tally, server, partial(_is_served, aim, server))
    _, after = aim.heartbeat()
    tally.check(after - before <= _MOST_MEGABYTES, f"memory: {before} → {after} MB")


def _is_known(aim: Target, server: str) -> bool:
    return bool(_do(aim, server, "nothing bad", 500).json().get("code") != "TOOL_NOT_FOUND")


def _is_in(aim: Target, server: str, state: str) -> bool:
    return bool(aim.http.get(f"/v1/servers/{server}").json()["state"] == state)
