"""Other MCP servers that attack with every answer and with their lists: nobody but their own calls suffers."""

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from dogubako.response.tokens import count_tokens
from tests.doors.processes import PATIENCE
from tests.heartbeat import MOST_SECONDS, TRIES

from . import hostile_mcp
from .conftest import Tally
from .server import Target, target

pytestmark = pytest.mark.attack

_SECRET: Final = "n8n-key-4711-nobody-may-see"
_SETTINGS: Final = {"N8N_API_KEY": _SECRET, "N8N_URL": "http://127.0.0.1:9"}
_BUDGET: Final = 25_000
_MOST_MEGABYTES: Final = 150
_MOST_MEGABYTES_OF_LISTS: Final = 600


def _configure(folder: Path, **catalogues: str) -> None:
    tables = []
    for name, words in catalogues.items():
        args = json.dumps(["-I", "-S", hostile_mcp.__file__, _SECRET, words])
        tables.append(f'[servers.{name}]\ncommand = "{sys.executable}"\nargs = {args}\npinning = "off"\ntimeout = 20\n')
    (folder / "dogubako.toml").write_text("\n".join(tables))


def _do(aim: Target, how: str) -> Any:
    options = {"timeout": 2_000} if how == "no answer at all" else {}
    body = {"name": "do", "parameters": {"how": how}, "options": options}
    return aim.http.post("/v1/tools/call", json=body)


def test_a_server_that_attacks_with_its_answers(tmp_path: Path, tally: Tally) -> None:
    _configure(tmp_path, evil="")
    with target(folder=tmp_path, words=(), settings=_SETTINGS) as aim:
        deadline = time.monotonic() + PATIENCE
        while aim.call("do", how="ids of nobody").status_code != 200:
            assert time.monotonic() < deadline, "the tool of the hostile server is not served"
            time.sleep(0.1)
        aim.heartbeat()
        _, before = aim.heartbeat()
        for how in hostile_mcp.HOW:
            answer = _do(aim, how)
            tally.check(_SECRET not in answer.text, f"{how}: the secret is in the answer")
            tally.check(count_tokens(answer.text) <= 2 * _BUDGET, f"{how}: {len(answer.text):,} characters")
            told = answer.status_code == 200 or answer.json()["code"] != "INTERNAL_ERROR"
            tally.check(told, f"{how}: {answer.status_code} {answer.text[:200]}")
            aim.check_loop(tally, how, partial(_do, aim, how))
            tally.check(aim.call("echo", text="here").status_code == 200, f"echo beside {how}")
            later = aim.call("do", how="ids of nobody")
            tally.check(later.status_code == 200, f"the next call after {how}: {later.status_code} {later.text[:200]}")
        _, after = aim.heartbeat()
        tally.check(after - before <= _MOST_MEGABYTES, f"memory: {before} → {after} MB")
        tally.check(_SECRET not in aim.command.log_file, "the secret is in the log")
        tally.check(_SECRET not in aim.command.stderr.text(), "the secret is on stderr")


@pytest.mark.parametrize(("catalogue", "least"), [("odd", 15), ("endless", 5_000), ("same cursor", 1), ("huge", 300)])
def test_a_server_that_attacks_with_its_lists(tmp_path: Path, tally: Tally, catalogue: str, least: int) -> None:
    stalls: list[float] = []
    while len(stalls) < TRIES and (not stalls or min(stalls) > MOST_SECONDS):
        stalls.append(_stall_at_start(tmp_path / str(len(stalls)), tally, catalogue, least))
    tally.check_stall(min(stalls), catalogue)


def _stall_at_start(folder: Path, tally: Tally, catalogue: str, least: int) -> float:
    """The lists are read while the server starts, so a stall is measured again with another server."""
    folder.mkdir()
    _configure(folder, evil=catalogue)
    with target(folder=folder, words=(), settings=_SETTINGS) as aim:
        deadline, found = time.monotonic() + PATIENCE, 0
        while found < least and time.monotonic() < deadline:
            tally.check(aim.call("echo", text="here").json()["result"] == "here", "echo meanwhile")
            found = aim.http.get("/v1/tools", params={"category": "evil"}).json()["pagination"]["total"]
            time.sleep(0.2)
        tally.check(found >= least, f"{catalogue}: {found} tools are served")
        stall, memory = aim.heartbeat()
        tally.check(memory <= _MOST_MEGABYTES_OF_LISTS, f"{catalogue}: {memory} MB")
        _check_served(aim, tally, catalogue)
    return stall


def _check_served(aim: Target, tally: Tally, catalogue: str) -> None:
    """Whoever lists, searches and calls these tools sees no secret and nothing that steers a terminal."""
    listed = aim.http.get("/v1/tools", params={"category": "evil", "limit": 50}).text
    found = aim.http.post("/v1/tools/search", json={"query": "one of very many things"}).text
    for what, said in (("list", listed), ("search", found), ("log", aim.command.log_file)):
        tally.check(_SECRET not in said, f"{catalogue}: the secret is in the {what}")
        tally.check("\x1b" not in said, f"{catalogue}: a control character is in the {what}")
    # A pattern of theirs must not keep a processor busy.
    called = aim.call("slow_pattern", a="a" * 40 + "!")
    tally.check(called.status_code in (200, 400, 404), f"a slow pattern: {called.status_code} {called.text[:200]}")
    aim.check_loop(tally, f"{catalogue}, in use", partial(aim.call, "slow_pattern", a="a" * 40 + "!"))
