"""Load over HTTP: one request to see that the answer is right, then wrk with the same request."""

import http.client
import json
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from bench.machine import ContenderError, Machine

_HEADER = re.compile(r'^wrk\.headers\["([^"]+)"\]="([^"]*)"$', re.MULTILINE)
_BODY = re.compile(r"^wrk\.body='(.*)'$", re.MULTILINE)
_ECHOED = re.compile(r'"(?:text|result)"\s*:\s*"hello"')
_RATE = re.compile(r"^Requests/sec:\s+([\d.]+)$", re.MULTILINE)
_REQUESTS = re.compile(r"^\s+(\d+) requests in ", re.MULTILINE)
_MEDIAN = re.compile(r"^\s+50%\s+([\d.]+)(us|ms|s)$", re.MULTILINE)
_TROUBLE = re.compile(r"^\s*((?:Non-2xx or 3xx responses|Socket errors):.*)$", re.MULTILINE)
_IN_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True, kw_only=True)
class Load:
    """What wrk saw."""

    calls: int
    per_second: float
    median_ms: float


@dataclass(frozen=True, kw_only=True)
class Target:
    """A running server and the script that it gets."""

    name: str
    port: int
    path: str
    script: Path
    connections: int = 16


def request_of(script: Path) -> tuple[dict[str, str], str]:
    """The headers and the body that a script sends."""
    text = script.read_text()
    body = _BODY.search(text)
    if body is None:
        raise ContenderError(f"{script.name} has no body")
    return dict(_HEADER.findall(text)), body.group(1)


def verify(target: Target) -> None:
    """Send exactly the request of the script, and look for a good answer: wrk itself looks at no body."""
    headers, body = request_of(target.script)
    status, answer, _ = _post(target.port, target.path, headers, body)
    if status != 200 or not _ECHOED.search(answer) or '"isError":true' in answer:
        raise ContenderError(f"{target.name} answered {status}: {answer[:200]}")


def shake_hands(target: Target, scratch: Path) -> Target:
    """Open a session, and put its id into a copy of the script."""
    headers = dict(_HEADER.findall(target.script.read_text()))
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE}
    _, answer, session = _post(target.port, target.path, headers, json.dumps(hello))
    if session is None:
        raise ContenderError(f"{target.name} opened no session: {answer[:200]}")
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    _post(target.port, target.path, headers | {"Mcp-Session-Id": session}, json.dumps(ready))
    script = scratch / f"session-{target.port}.lua"
    script.write_text(f'{target.script.read_text()}\nwrk.headers["Mcp-Session-Id"]="{session}"\n')
    return replace(target, script=script)


def run_wrk(machine: Machine, target: Target, seconds: int) -> Load:
    """Connections that always want the next answer."""
    command = ["wrk", "-t1", f"-c{target.connections}", f"-d{seconds}s", "--latency", "-s", str(target.script)]
    url = f"http://127.0.0.1:{target.port}{target.path}"
    pinned = machine.on_load_core([*command, url])
    done = subprocess.run(pinned, capture_output=True, text=True, timeout=seconds + 60, check=False)
    calls, rate, median = (pattern.search(done.stdout) for pattern in (_REQUESTS, _RATE, _MEDIAN))
    trouble = _TROUBLE.search(done.stdout)
    if done.returncode != 0 or calls is None or rate is None or median is None or trouble is not None:
        reason = trouble.group(1) if trouble else (done.stderr or done.stdout).strip()[-200:]
        raise ContenderError(f"{target.name} under load: {reason}")
    median_ms = float(median.group(1)) * _IN_MS[median.group(2)]
    return Load(calls=int(calls.group(1)), per_second=float(rate.group(1)), median_ms=median_ms)


def _post(port: int, path: str, headers: dict[str, str], body: str) -> tuple[int, str, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", path, body.encode(), headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), response.getheader("mcp-session-id")
    except (OSError, http.client.HTTPException) as error:
        raise ContenderError(f"no answer on {path}: {error!r}") from error
    finally:
        connection.close()
