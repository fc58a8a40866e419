"""Tasks of callers with keys: who may run how many, and what becomes of them when a key is revoked."""

import importlib
import logging
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.gate.api_keys import KeyStore
from dogubako.tasks import runs
from dogubako.tools import ToolResult
from tests.doors.waiting import until

from .boxes import AS_TASK, ended, toolbox


def caller_in(folder: Path, name: str) -> Caller:
    _, key = KeyStore(folder).create(name, ("read", "write"))
    return Caller(name=name, id=key.id, scopes=frozenset({"read", "write"}))


async def begun(box: Toolbox, caller: Caller, tool: str, **arguments: Any) -> str:
    call = ToolCall(name=tool, parameters=arguments, options=AS_TASK, caller=caller)
    result: ToolResult = await box.pipeline.handle(call)
    assert result.task is not None, result.text
    return result.task.id


async def test_one_caller_does_not_hold_up_the_tasks_of_another(tmp_path: Path) -> None:
    box = toolbox(tmp_path, auth="keys", task_concurrency=3)
    ann, bob = caller_in(tmp_path, "ann"), caller_in(tmp_path, "bob")
    async with box.running():
        marks = [tmp_path / f"ann-{number}" for number in range(6)]
        for one in marks:
            await begun(box, ann, "read_slowly", marks=str(one))
        await until(lambda: sum(one.exists() for one in marks) == 2, "two tasks run")
        quick = await begun(box, bob, "whoami")
        task = await ended(box, quick, bob)

        assert task.status == "completed" and sum(one.exists() for one in marks) == 2
        for one in marks:
            one.mkdir(exist_ok=True)
            (one / "go").touch()
        await until(lambda: all((one / "run-1").exists() for one in marks), "the others have their turn")


async def test_without_keys_all_places_are_used(tmp_path: Path) -> None:
    async with toolbox(tmp_path, task_concurrency=3).running() as box:
        marks = [tmp_path / f"task-{number}" for number in range(3)]
        for one in marks:
            await box.call("read_slowly", {"marks": str(one)}, AS_TASK)
        await until(lambda: all(one.exists() for one in marks), "all of them run")


async def test_a_task_that_runs_is_stopped_when_its_key_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_WATCH_SECONDS", 0.05)
    box, marks = toolbox(tmp_path, auth="keys"), tmp_path / "marks"
    ann, admin = caller_in(tmp_path, "ann"), Caller(name="root", scopes=frozenset({"admin"}), id="root")
    async with box.running():
        task_id = await begun(box, ann, "write_slowly", marks=str(marks))
        await until((marks / "run-1").exists, "the tool runs")
        KeyStore(tmp_path).revoke("ann")
        task = await ended(box, task_id, admin)
        (marks / "go").touch()

        assert task.status == "failed" and task.error is not None and "revoked" in task.error.message


def test_docket_logs_an_outage_once_a_minute_and_without_a_stack(caplog: pytest.LogCaptureFixture) -> None:
    importlib.import_module("dogubako.tasks.queue")
    logger = logging.getLogger("docket.worker")
    with caplog.at_level(logging.WARNING, logger=logger.name):
        for _ in range(5):
            try:
                raise RedisConnectionError("refused")
            except RedisConnectionError:
                logger.exception("Error in a test of ours")
        try:
            raise RuntimeError("a bug")
        except RuntimeError:
            logger.exception("Error in a test of ours")

    shown = [(record.getMessage(), record.exc_info is not None) for record in caplog.records]
    assert shown == [("Error in a test of ours (ConnectionError)", False), ("Error in a test of ours", True)]
