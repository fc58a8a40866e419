"""A call as a task, in one process: through the same pipeline, with the same rights, and to a known end."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, Caller, ToolCall
from dogubako.contract.errors import AuthenticationError, BusyError, NotFoundError
from dogubako.gate.api_keys import KeyStore
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions
from tests.doors.waiting import until

from .boxes import AS_TASK, ended, result_of, started, toolbox

ANN = Caller(name="ann", scopes=frozenset({"read"}), id="key-ann")
BOB = Caller(name="bob", scopes=frozenset({"read", "write"}), id="key-bob")
ADMIN = Caller(name="root", scopes=frozenset({"admin"}), id="key-root")


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    async with toolbox(tmp_path, audit=True).running() as box:
        yield box


def audited(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "audit.jsonl").read_text().splitlines()
    return [(one["tool"], one["code"]) for one in map(json.loads, lines)]


async def test_a_task_is_there_before_the_answer_and_ends_with_the_tools_result(box: Toolbox, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    result = await box.call("read_slowly", {"marks": str(marks)}, AS_TASK)

    assert result.task is not None and result.code == "TASK"
    assert (await box.tasks.of(TRUSTED).get(result.task.id)).status == "working"
    await until((marks / "run-1").exists, "the tool runs")
    (marks / "go").touch()
    task = await ended(box, result.task.id)
    assert (task.status, result_of(task).text) == ("completed", "run 1 went to the end")
    assert task.message == "half of it"


async def test_creation_and_run_are_both_recorded(box: Toolbox, tmp_path: Path) -> None:
    await ended(box, await started(box, "fail_slowly"))

    assert audited(tmp_path) == [("fail_slowly", "TASK"), ("fail_slowly", "STARTED"), ("fail_slowly", "API_ERROR")]


async def test_wrong_arguments_are_refused_before_there_is_a_task(box: Toolbox) -> None:
    result = await box.call("read_slowly", {}, AS_TASK)

    assert (result.code, result.task) == ("VALIDATION_ERROR", None)
    assert await box.tasks.of(TRUSTED).all() == []


async def test_a_destructive_task_without_confirmation_is_refused_at_once(box: Toolbox, tmp_path: Path) -> None:
    marks = tmp_path / "papers"
    refused = await box.call("shred", {"marks": str(marks)}, AS_TASK)
    assert refused.code == "CONFIRMATION_REQUIRED"

    task = await ended(box, await started(box, "shred", marks=str(marks), confirm=True))
    assert result_of(task).text == "shredded in run 1"


async def test_a_cancelled_task_stops_its_tool(box: Toolbox, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    task_id = await started(box, "write_slowly", marks=str(marks))
    await until((marks / "run-1").exists, "the tool runs")

    await box.tasks.of(TRUSTED).cancel(task_id)

    assert (await box.tasks.of(TRUSTED).get(task_id)).status == "cancelled"
    await until(lambda: ("write_slowly", "CANCELLED") in audited(tmp_path), "the call is cancelled")


async def test_only_its_owner_and_administrators_see_a_task(box: Toolbox) -> None:
    call = ToolCall(name="whoami", options=AS_TASK, caller=ANN, door="rest")
    created = (await box.pipeline.handle(call)).task
    assert created is not None
    task = await ended(box, created.id, ANN)

    assert result_of(task).text == "ann ['read']"
    assert (await box.tasks.of(ADMIN).get(created.id)).status == "completed"
    for act in (box.tasks.of(BOB).get, box.tasks.of(BOB).cancel):
        with pytest.raises(NotFoundError):
            await act(created.id)
    with pytest.raises(NotFoundError):
        await box.tasks.of(BOB).update(created.id, {})
    assert [len(await box.tasks.of(one).all()) for one in (ANN, BOB, ADMIN)] == [1, 0, 0]


def _counts(box: Toolbox, secret: str) -> bool:
    try:
        return box.authenticator.authenticate_cached([(b"x-api-key", secret.encode())]) is not None
    except AuthenticationError:
        return False


async def test_rights_are_checked_when_the_task_runs(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    secret, key = keys.create("ann", ("read",))
    async with toolbox(tmp_path, auth="keys", task_concurrency=1).running() as box:
        marks = tmp_path / "marks"
        await started(box, "read_slowly", marks=str(marks))
        await until((marks / "run-1").exists, "the only place is taken")
        caller = await box.authenticator.authenticate([(b"x-api-key", secret.encode())])
        call = ToolCall(name="whoami", options=AS_TASK, caller=caller, door="rest")
        waiting = (await box.pipeline.handle(call)).task
        assert waiting is not None
        keys.revoke(key.id)
        await until(lambda: not _counts(box, secret), "the key counts no more")
        (marks / "go").touch()

        task = await ended(box, waiting.id, TRUSTED)

    assert task.status == "failed"
    assert task.error is not None and task.error.code == "AUTHENTICATION_ERROR"


async def test_a_caller_has_a_bounded_number_of_unfinished_tasks(tmp_path: Path) -> None:
    async with toolbox(tmp_path, tasks_per_caller=2).running() as box:
        marks = tmp_path / "marks"
        for _ in range(2):
            await started(box, "read_slowly", marks=str(marks))
        refused = await box.call("read_slowly", {"marks": str(marks)}, AS_TASK)
        assert (refused.code, refused.task) == ("BUSY", None)

        marks.mkdir(exist_ok=True)
        (marks / "go").touch()
        for task in await box.tasks.of(TRUSTED).all():
            await ended(box, task.id)
        await started(box, "read_slowly", marks=str(marks))


async def test_a_task_may_take_longer_than_a_call_but_not_for_ever(tmp_path: Path) -> None:
    async with toolbox(tmp_path, task_timeout=1).running() as box:
        task = await ended(box, await started(box, "read_slowly", marks=str(tmp_path / "marks")))
        assert result_of(task).code == "TIMEOUT"

        options = ExecutionOptions(task=True, timeout=5_000)
        too_long = await box.call("read_slowly", {"marks": "x"}, options)
        assert too_long.code == "VALIDATION_ERROR"


async def test_a_server_that_stops_ends_its_tasks(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with toolbox(tmp_path, shutdown_grace=0.1).running() as box:
        task_id = await started(box, "write_slowly", marks=str(marks))
        await until((marks / "run-1").exists, "the tool runs")

    record = await box.tasks.changes.store.load(task_id)
    assert record is not None and record.status == "failed"
    assert record.view().error is not None and "The server stopped" in str(record.view().error)
    with pytest.raises(BusyError):
        await box.tasks.start(ToolCall(name="whoami"), repeatable=True)


@pytest.mark.parametrize(
    ("settings", "sole", "reason"),
    [
        pytest.param({"tasks": "off"}, True, "switched off", id="switched off"),
        pytest.param({}, False, "DOGUBAKO_SHARED", id="several workers without a Redis"),
    ],
)
async def test_a_server_without_tasks_says_why(
    tmp_path: Path, settings: dict[str, str], sole: bool, reason: str
) -> None:
    chosen = Sources(overrides={"data_dir": tmp_path, **settings}, environ={}, env_file=None)
    async with build(chosen, sole_process=sole).running() as box:
        result = await box.call("search_tools", {"query": "x"}, AS_TASK)
        assert result.code == "CAPABILITY_REQUIRED"
        assert result.error is not None and reason in (result.error.hint or "")
        assert not box.registry.get("start_task").enabled
        assert reason in (box.registry.get("start_task").status.reason or "")


async def test_what_is_kept_of_a_task_is_bounded(box: Toolbox) -> None:
    result = await box.call("read_slowly", {"marks": "x" * 1_100_000}, AS_TASK)

    assert (result.code, result.task) == ("PAYLOAD_TOO_LARGE", None)


@pytest.mark.parametrize("address", ["redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/master"])
def test_tasks_take_all_addresses_of_a_shared_redis(tmp_path: Path, address: str) -> None:
    settings = {"data_dir": tmp_path, "shared": address, "request_state_key": "k" * 32}
    box = build(Sources(overrides=settings, environ={}, env_file=None))

    assert box.tasks.unavailable is None and box.registry.get("start_task").enabled


async def test_two_transports_of_one_toolbox_run_its_tasks_together(box: Toolbox) -> None:
    async with box.running():
        inside = await box.call("whoami", {}, AS_TASK)
    outside = await box.call("whoami", {}, AS_TASK)

    assert (inside.code, outside.code) == ("TASK", "TASK")
