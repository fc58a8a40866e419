"""Tasks with a cluster and with Sentinel, where a node is down. See `test_redis_topologies.py` for the rest."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dogubako.app import Toolbox
from tests.doors.waiting import until
from tests.outbound.test_redis_topologies import (
    eventually,
)
from tests.redis_server import INSTALLED, free_port
from tests.redis_topologies import cluster, watched_by_sentinel
from tests.shared_redis import KEY, PATIENT

from .boxes import AS_TASK, ended, started, toolbox

pytestmark = [pytest.mark.skipif(not INSTALLED, reason="needs redis-server"), pytest.mark.slow]


async def test_a_node_of_a_cluster_that_is_down_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    with cluster(tmp_path / "nodes") as nodes:
        url = nodes.url.replace("://", f"://127.0.0.1:{free_port()},") + PATIENT
        box = toolbox(tmp_path, shared=url, request_state_key=KEY)
        box.tasks.works = True
        async with box.running():
            found: list[str] = []
            await eventually(lambda: starts(box, found), "a task is started")
            assert (await ended(box, found[0])).status == "completed"


async def test_tasks_go_on_after_sentinel_has_chosen_another_master(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    with watched_by_sentinel(tmp_path / "nodes") as nodes:
        settings = {"shared": nodes.url, "request_state_key": KEY}
        one, other = toolbox(tmp_path / "one", **settings), toolbox(tmp_path / "other", **settings)
        one.tasks.works = True
        async with AsyncExitStack() as stack:
            for box in (one, other):
                await stack.enter_async_context(box.running())
            marks, found = tmp_path / "marks", [await started(other, "read_slowly", marks=str(tmp_path / "marks"))]
            await until((marks / "run-1").exists, "the tool runs")

            with nodes.master.frozen():
                await eventually(lambda: starts(other, found), "a task is started at the new master")
                (marks / "go").touch()

                assert (await ended(other, found[-1])).status == "completed"
                assert (await ended(other, found[0])).status == "completed"


async def starts(box: Toolbox, found: list[str]) -> bool:
    """Start a task, if that is possible now."""
    result = await box.call("whoami", {}, AS_TASK)
    if result.task is not None:
        found.append(result.task.id)
    return result.task is not None
