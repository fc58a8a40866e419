"""Who is measured: our server, and each peer as its authors meant it to run."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.machine import PEERS, ROOT, SHARED, VENV_BIN, Machine
from bench.node_peers import NodePeers

OURS: Final = "dogubako"
LOW: Final = "MCP SDK, low-level"
FAST: Final = "FastMCP"
RAW: Final = "raw ASGI, the ceiling"
TYPESCRIPT: Final = "TypeScript SDK"
FASTAPI: Final = "FastAPI"
STARLETTE: Final = "Starlette + msgspec"
FASTIFY: Final = "Fastify"

MODERN: Final = SHARED / "modern.lua"
LEGACY: Final = SHARED / "legacy.lua"
REST: Final = SHARED / "rest.lua"
WORKBENCH: Final = ROOT / "examples" / "workbench.py"

_DOGUBAKO: Final = str(VENV_BIN / "dogubako")


@dataclass(frozen=True, kw_only=True)
class Contender:
    """How to start one server. `{port}` in the command becomes its port."""

    name: str
    command: tuple[str, ...]
    folder: Path = PEERS
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class HttpContender(Contender):
    """A server, and the requests that it gets."""

    script: Path
    path: str = "/mcp"
    shakes_hands: bool = False
    connections: int = 16
    log: Path | None = None


def ours_over_http(
    machine: Machine,
    script: Path,
    *,
    name: str = OURS,
    path: str = "/mcp",
    tools: Path = WORKBENCH,
    shakes_hands: bool = False,
    connections: int = 16,
    more: tuple[str, ...] = (),
) -> HttpContender:
    """Our server with everything on, and no settings file of the person who measures."""
    logs = machine.new_folder("logs")
    return HttpContender(
        name=name,
        command=(_DOGUBAKO, "serve", "--port", "{port}", "--tools", str(tools), *more),
        folder=machine.scratch,
        environment=_our_environment(logs),
        script=script,
        path=path,
        shakes_hands=shakes_hands,
        connections=connections,
        log=logs / "dogubako.log",
    )


def ours_behind_the_gate(machine: Machine, name: str) -> HttpContender:
    """Our server with authentication and the audit log on, and the same calls with a key."""
    free = ours_over_http(machine, MODERN, name=name)
    return with_a_key(machine, replace(free, environment={**free.environment, **_data_folder(machine)}))


def with_a_key(machine: Machine, free: HttpContender) -> HttpContender:
    """The same server with authentication, whose calls have a key. It needs a data folder of its own."""
    guarded = {**free.environment, "DOGUBAKO_AUTH": "keys"}
    made = subprocess.run(
        [_DOGUBAKO, "keys", "create", "--name", "bench", "--scope", "admin"],
        cwd=machine.scratch,
        env=machine.environment(guarded),
        capture_output=True,
        text=True,
        check=True,
    )
    script = machine.new_folder("script") / "with-a-key.lua"
    script.write_text(f'{free.script.read_text()}\nwrk.headers["X-API-Key"]="{made.stdout.strip()}"\n')
    return replace(free, environment=guarded, script=script)


def _data_folder(machine: Machine) -> dict[str, str]:
    return {"DOGUBAKO_DATA_DIR": str(machine.new_folder("data"))}


def ours_with_services(machine: Machine, url: str) -> Contender:
    """Our server over HTTP, with an n8n and a Redmine that it can ask."""
    environment = _our_environment(machine.new_folder("logs"))
    return Contender(
        name=OURS,
        command=(_DOGUBAKO, "serve", "--port", "{port}", "--tools", str(WORKBENCH)),
        folder=machine.scratch,
        environment={
            **environment,
            **{"N8N_URL": url, "N8N_API_KEY": "anything", "REDMINE_URL": url, "REDMINE_API_KEY": "anything"},
        },
    )


def ours_over_stdio(machine: Machine) -> Contender:
    return Contender(
        name=OURS,
        command=(_DOGUBAKO, "stdio", "--tools", str(WORKBENCH)),
        folder=machine.scratch,
        environment=_our_environment(machine.new_folder("logs")),
    )


def script_peer(name: str, file: str, script: Path) -> HttpContender:
    return HttpContender(name=name, command=(sys.executable, file, "{port}"), script=script)


def uvicorn_peer(name: str, module: str) -> HttpContender:
    """Under uvicorn as the script peers call it: quiet, no access log, one process."""
    command = (sys.executable, "-m", "uvicorn", f"{module}:app", "--host", "127.0.0.1", "--port", "{port}")
    quiet = ("--log-level", "error", "--no-access-log")
    return HttpContender(name=name, command=(*command, *quiet), script=REST, path="/v1/tools/call")


def node_peer(name: str, file: str, script: Path, path: str, node: NodePeers) -> HttpContender:
    return HttpContender(name=name, command=(*node.command(file), "{port}"), script=script, path=path)


def stdio_peer(name: str, file: str) -> Contender:
    return Contender(name=name, command=(sys.executable, file))


def _our_environment(logs: Path) -> dict[str, str]:
    return {"LOG_LEVEL": "info", "LOG_DIR": str(logs)}
