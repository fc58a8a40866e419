"""Work that one server begins and another one continues: long answers, and workflows that all of them edit."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import uvicorn

from dogubako.contract.output import parse_call
from dogubako_sandbox.n8n.app import SANDBOX_KEY, n8n_app
from tests.doors.processes import PATIENCE
from tests.redis_server import INSTALLED, free_port

from .replicas import COUNT, NGINX, Replicas, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

EDITS: Final = 24
_REPORTS: Final = Path(__file__).with_name("report_server.py")


@contextmanager
def _n8n() -> Iterator[str]:
    """A small n8n behind a socket, which all servers use."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(n8n_app(), port=port, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < deadline, "n8n does not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports") / "runs"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory, runs: Path) -> Iterator[Replicas]:
    arguments = json.dumps(["-I", str(_REPORTS), str(runs)])
    config = f'[servers.reports]\ncommand = "{sys.executable}"\nargs = {arguments}\npinning = "off"\n'
    with _n8n() as url:
        settings = {
            "N8N_URL": url,
            "N8N_API_KEY": SANDBOX_KEY,
            "DOGUBAKO_CALLER_CONCURRENCY": "64",
            "DOGUBAKO_DISCOVERY": "full",
        }
        with replicas(tmp_path_factory.mktemp("replicas"), config=config, settings=settings) as box:
            for server in box.urls:
                _wait_for_the_report(box, server)
            yield box


def _wait_for_the_report(box: Replicas, url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while "error" in box.call("describe_tool", {"name": "report"}, url=url) or _failed(
        box.call("describe_tool", {"name": "report"}, url=url)
    ):
        assert time.monotonic() < deadline, "the tool of the other server is not served"
        time.sleep(0.2)


def _failed(answer: dict[str, Any]) -> bool:
    return bool(answer["result"].get("isError"))


def _text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_the_rest_of_an_answer_is_read_at_any_server(box: Replicas, runs: Path) -> None:
    seen, name, arguments = "", "report", dict[str, Any]()
    for number in range(100):
        text = _text(box.call(name, arguments, url=box.urls[number % COUNT]))
        seen += text
        if "read_more(" not in text:
            break
        name, arguments = parse_call(text[text.rindex("read_more(") :].split("]")[0].rstrip(". "))

    assert number >= COUNT
    assert [number for number in range(20_000) if f"line {number} of the report" not in seen] == []
    assert runs.read_text() == "run\n"


def test_edits_of_one_workflow_at_all_servers_lose_nothing(box: Replicas) -> None:
    nodes = [
        {
            "name": "Start",
            "type": "n8n-nodes-base.manualTrigger",
            "typeVersion": 1,
            "position": [0, 0],
            "parameters": {},
        }
    ]
    made = box.call("create_workflow", {"name": "edited by all", "nodes": nodes, "connections": {}})
    assert not _failed(made), _text(made)
    workflow = json.loads(_text(made))["data"]["id"]

    def edit(number: int) -> str:
        operation = {"op": "addNode", "name": f"Step {number}", "type": "n8n-nodes-base.noOp", "from": "Start"}
        answer = box.call("edit_workflow", {"id": workflow, "operations": [operation]}, url=box.urls[number % COUNT])
        return _text(answer) if _failed(answer) else "OK"

    with ThreadPoolExecutor(EDITS) as threads:
        answers = list(threads.map(edit, range(EDITS)))
    shown = _text(box.call("get_workflow", {"id": workflow}))

    assert answers == ["OK"] * EDITS
    assert [number for number in range(EDITS) if f"Step {number}" not in shown] == []


def test_a_backup_of_one_server_is_listed_and_restored_by_others(box: Replicas) -> None:
    here, there, elsewhere = box.urls
    made = json.loads(_text(box.call("create_workflow", {"name": "as it was", "nodes": [], "connections": {}})))["data"]
    changed = box.call("update_workflow", {"id": made["id"], "name": "overwritten"}, url=here)
    backup = json.loads(_text(changed))["data"]["backup"]
    listed = json.loads(_text(box.call("list_workflow_backups", {"id": made["id"]}, url=there)))["data"]["backups"]
    restored = box.call("restore_workflow", {"id": made["id"], "backup": backup}, url=elsewhere)

    assert [one["backup"] for one in listed] == [backup]
    assert not _failed(restored), _text(restored)
    assert "as it was" in _text(box.call("get_workflow", {"id": made["id"]}))


def test_a_server_that_is_added_at_one_server_is_used_at_all(box: Replicas, tmp_path: Path) -> None:
    settings = {"command": sys.executable, "args": ["-I", str(_REPORTS), str(tmp_path / "runs")]}
    body = {"name": "more", "settings": settings, "approve": True}
    headers = {"x-api-key": box.key}
    added = httpx2.post(f"{box.urls[0]}/v1/servers", json=body, headers=headers, timeout=PATIENCE)
    assert added.status_code == 201, added.text
    (name,) = [one["name"] for one in added.json()["served"]]
    deadline = time.monotonic() + PATIENCE
    for url in box.urls:
        while "error" in (answer := box.call(name, {}, url=url)) or _failed(answer):
            assert time.monotonic() < deadline, f"{name} is not served: {answer}"
            time.sleep(0.1)
    removed = httpx2.delete(f"{box.urls[1]}/v1/servers/more", headers=headers, timeout=PATIENCE)
    assert removed.status_code == 200
    while not all("error" in box.call(name, {}, url=url) for url in box.urls):
        assert time.monotonic() < deadline, f"{name} is still served"
        time.sleep(0.1)

    assert name == "more_report"
