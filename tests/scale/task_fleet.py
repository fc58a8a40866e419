"""Two servers that only queue tasks, a worker that runs them, and the Redis between them."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.doors import messages
from tests.doors.processes import PATIENCE, Command, serving, tool_words
from tests.redis_server import RedisProcess
from tests.shared_redis import KEY

from .replicas import allow_user, keys_of

SLOW_TOOLS: Final = Path(__file__).parents[1] / "tasks" / "slow_tools.py"
EXTENSION: Final = "io.modelcontextprotocol/tasks"
_CAPABILITIES: Final[dict[str, Any]] = {"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}}
_TICK: Final = 0.05


@dataclass(kw_only=True)
class Fleet:
    """The processes, and a client that asks any of the servers."""

    folder: Path
    redis: RedisProcess
    servers: list[Command]
    workers: list[Command]
    settings: dict[str, str]
    ann: str
    bob: str
    _stack: ExitStack = field(repr=False)

    def add_worker(self) -> Command:
        worker = self._stack.enter_context(_worker(self.folder, self.settings, len(self.workers)))
        self.workers.append(worker)
        return worker

    def ask(self, server: int, method: str, params: dict[str, Any], name: str, key: str = "") -> dict[str, Any]:
        said = {**params, "_meta": messages.envelope(_CAPABILITIES)}
        headers = {**messages.modern_headers(method, name), "x-api-key": key or self.ann}
        with httpx2.Client(timeout=PATIENCE) as client:
            url = f"{self.servers[server].url()}/mcp"
            answer = client.post(url, json=messages.request(method, said), headers=headers)
        return messages.response_in(answer.headers["content-type"], answer.content)

    def start(self, server: int, tool: str, **arguments: Any) -> str:
        answer = self.ask(server, "tools/call", {"name": tool, "arguments": arguments}, tool)
        assert answer["result"]["resultType"] == "task", answer
        return str(answer["result"]["taskId"])

    def task(self, server: int, method: str, task_id: str, key: str = "", **more: Any) -> dict[str, Any]:
        return self.ask(server, f"tasks/{method}", {"taskId": task_id, **more}, task_id, key)

    def until(self, server: int, task_id: str, *statuses: str) -> dict[str, Any]:
        """The task, as soon as it has one of these statuses. What cannot be told now is asked again."""
        deadline, found = time.monotonic() + PATIENCE, None
        while time.monotonic() < deadline:
            found = self.task(server, "get", task_id)
            if found.get("result", {}).get("status") in statuses:
                return dict(found["result"])
            time.sleep(_TICK)
        raise AssertionError(f"the task did not become {statuses}, but {found}")


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(_TICK)


@contextmanager
def fleet(folder: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        (folder / "redis").mkdir()
        redis = stack.enter_context(RedisProcess(folder / "redis"))
        allow_user(redis)
        ann, bob = keys_of(redis, "read", "write")
        url = redis.url.replace("redis://", "redis://dogubako:s3cret-of-redis@")
        settings = {
            "DOGUBAKO_SHARED": f"{url}?socket_timeout=2&socket_connect_timeout=2",
            "DOGUBAKO_REQUEST_STATE_KEY": KEY,
            "DOGUBAKO_DATA_DIR": str(folder / "data"),
            "DOGUBAKO_AUTH": "keys",
            "DOGUBAKO_TASKS": "queue",
            "DOGUBAKO_SHUTDOWN_GRACE": "1",
        }
        servers = []
        for number in range(2):
            home = folder / f"server-{number}"
            home.mkdir()
            servers.append(stack.enter_context(serving(SLOW_TOOLS, folder=home, settings=settings)))
        for server in servers:
            server.stderr.first(lambda line: b"Application startup complete" in line)
        found = Fleet(
            folder=folder,
            redis=redis,
            servers=servers,
            workers=[],
            settings=settings,
            ann=ann,
            bob=bob,
            _stack=stack,
        )
        found.add_worker()
        yield found


@contextmanager
def _worker(folder: Path, settings: dict[str, str], number: int) -> Iterator[Command]:
    home = folder / f"worker-{number}"
    home.mkdir()
    worker = Command(["worker", *tool_words(SLOW_TOOLS), "--concurrency", "4"], folder=home, settings=settings)
    try:
        worker.stderr.first(lambda line: b"Running tasks" in line)
        yield worker
    finally:
        worker.close()
