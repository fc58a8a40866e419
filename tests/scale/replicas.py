"""Three server processes as on three machines, a Redis with an ACL user, and nginx in front of them in turn."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from redis import Redis

from dogubako.gate.key_stores import opened_keys
from tests.doors import messages
from tests.doors.processes import HERE, PATIENCE, ROOT, WORKBENCH, Command, serving
from tests.gate.sheds import SHED
from tests.redis_server import RedisProcess, free_port
from tests.shared_redis import KEY, shared_settings

# Debian puts it where only root looks.
NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
COUNT: Final = 3
TOOL_MAX: Final = 100
CONCURRENCY: Final = 4
_PATIENT: Final = "?socket_timeout=10&socket_connect_timeout=10"
_PASSWORD: Final = "s3cret-of-redis"


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """The address of nginx, those behind it, and the keys of two callers."""

    url: str
    servers: Sequence[Command]
    redis: RedisProcess
    key: str
    # Starts one of them again, at its address.
    again: Callable[[int], AbstractContextManager[Command]]
    other_key: str

    @property
    def urls(self) -> list[str]:
        return [server.url() for server in self.servers]

    def call(self, name: str, arguments: dict[str, Any], *, url: str = "", **more: Any) -> dict[str, Any]:
        """One call of a 2026-07-28 client, on a connection of its own."""
        params = {**messages.call(name, arguments, modern=True, capabilities={"elicitation": {"form": {}}}), **more}
        headers = {**messages.modern_headers("tools/call", name), "x-api-key": self.key, "connection": "close"}
        with httpx2.Client(timeout=PATIENCE, verify=False) as client:
            answer = client.post(f"{url or self.url}/mcp", json=messages.request("tools/call", params), headers=headers)
        return messages.response_in(answer.headers["content-type"], answer.content)

    def code(self, name: str, arguments: dict[str, Any], *, url: str = "") -> str:
        result = self.call(name, arguments, url=url)["result"]
        return str(result["_meta"]["code"]) if result.get("isError") else "OK"

    def switch(self, enabled: bool, name: str, *, url: str = "") -> int:
        body, headers = {"enabled": enabled}, {"x-api-key": self.key}
        answer = httpx2.patch(f"{url or self.url}/v1/tools/{name}", json=body, headers=headers, timeout=PATIENCE)
        return answer.status_code


@contextmanager
def replicas(
    folder: Path,
    *tools: Path,
    config: str = "",
    settings: Mapping[str, str] | None = None,
    between: Callable[[int, str], str] = lambda number, address: address,
    program: str | None = None,
) -> Iterator[Replicas]:
    """`config` is the settings file of all of them; `tools` and `settings` come on top of what all replicas have.

    `between` gives each replica its address of the Redis, which may be that of something in between. `program` is the
    Redis, if it is not the usual one.
    """
    with ExitStack() as stack:
        (folder / "redis").mkdir()
        redis = stack.enter_context(RedisProcess(folder / "redis", program))
        allow_user(redis)
        secret, other = keys_of(redis)
        plans = []
        for number in range(COUNT):
            home = folder / str(number)
            home.mkdir()
            (home / "dogubako.toml").write_text(config)
            plans.append(Plan(folder=home, redis=between(number, redis.url), settings=settings or {}, tools=tools))
        servers = [stack.enter_context(plan.serving()) for plan in plans]
        for server in servers:
            server.stderr.first(lambda line: b"Application startup complete" in line)
        urls = [server.url() for server in servers]
        url = stack.enter_context(nginx(folder, urls))

        def again(number: int) -> AbstractContextManager[Command]:
            return plans[number].serving("--port", urls[number].rpartition(":")[2])

        yield Replicas(url=url, servers=servers, redis=redis, key=secret, other_key=other, again=again)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one replica is started."""

    folder: Path
    redis: str
    settings: Mapping[str, str]
    tools: Sequence[Path]

    @contextmanager
    def serving(self, *words: str) -> Iterator[Command]:
        settings = {
            "DOGUBAKO_SHARED": _address(self.redis),
            "DOGUBAKO_REQUEST_STATE_KEY": KEY,
            "DOGUBAKO_DATA_DIR": str(self.folder / "data"),
            "DOGUBAKO_AUTH": "keys",
            "DOGUBAKO_CALLER_CONCURRENCY": str(CONCURRENCY),
            "RATE_LIMIT_TOOL_MAX": str(TOOL_MAX),
            "RATE_LIMIT_WINDOW": "3600",
            **self.settings,
        }
        files = (WORKBENCH, SHED, HERE / "worker_pack.py", *self.tools)
        with serving(*files, folder=self.folder, words=words, settings=settings) as server:
            yield server


def allow_user(redis: RedisProcess) -> None:
    """Make the user of docs/scale.md, which the servers use. Tests look at the Redis as the default user."""
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if line.startswith("ACL SETUSER"))
    with Redis.from_url(redis.url, socket_timeout=PATIENCE) as client:
        client.execute_command(*command.replace("PASSWORD", _PASSWORD).split())


def _address(redis: str) -> str:
    """The address for the user of the servers."""
    return redis.replace("redis://", f"redis://dogubako:{_PASSWORD}@") + _PATIENT


def keys_of(redis: RedisProcess, *scopes: str) -> list[str]:
    """The keys of two callers, which all processes know from the Redis."""

    async def make() -> list[str]:
        async with opened_keys(shared_settings(_address(redis.url))) as keys:
            return [(await keys.create(name, scopes or ("admin",), None))[0] for name in ("ann", "bob")]

    return asyncio.run(make())


@contextmanager
def nginx(folder: Path, urls: Sequence[str]) -> Iterator[str]:
    """nginx in front of these servers, in turn; its address."""
    assert NGINX is not None
    port, home = free_port(), folder / "nginx"
    home.mkdir()
    # A second is less than a restart takes, so that never all of them are left out.
    upstreams = "".join(f"server {url.removeprefix('http://')} max_fails=1 fail_timeout=1s;" for url in urls)
    temporary = "".join(
        f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (home / "nginx.conf").write_text(
        f"""
        daemon off; pid {home}/pid; error_log {home}/error.log; worker_processes 1;
        events {{}}
        http {{
          access_log off; {temporary}
          upstream replicas {{ {upstreams} }}
          server {{
            listen 127.0.0.1:{port};
            location / {{
              proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Host $host;
              proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 300s;
            }}
          }}
        }}
        """
    )
    command = [NGINX, "-p", str(home), "-e", str(home / "error.log"), "-c", str(home / "nginx.conf")]
    with subprocess.Popen(command) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if httpx2.get(url, timeout=PATIENCE).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")
