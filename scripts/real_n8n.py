"""Run a real n8n on loopback, for tests: fresh data, one owner, one key. Started as a program it serves until stopped.

python scripts/real_n8n.py     prints {"url", "api_key", "pid"} as one line of JSON
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from uuid import uuid4

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.n8n_install import Installation, InstallError, install

OWNER = {"email": "owner@example.com", "firstName": "Test", "lastName": "Owner", "password": "Only-4-Tests"}

START_SECONDS = 180
STOP_SECONDS = 30
REQUEST_SECONDS = 60


class StartError(Exception):
    """n8n is installed but does not start; the message holds the end of its log."""


@dataclass(frozen=True, kw_only=True)
class RealN8n:
    """A running n8n. The key may do everything."""

    url: str
    api_key: str
    pid: int
    cookie: str = field(repr=False)

    def new_key(self, scopes: Sequence[str]) -> str:
        """A further API key that may do less, for example `["workflow:list", "workflow:read"]`."""
        return _new_key(self.url, self.cookie, scopes)

    def run_manually(self, workflow_id: str, trigger_node: str) -> str:
        """Start an execution as the editor's button does, and return its id. The public API has no way to do this."""
        path = f"/rest/workflows/{workflow_id}/run"
        answer = _rest(self.url, "POST", path, {"triggerToStartFrom": {"name": trigger_node}}, self.cookie)
        return str(_data(answer)["executionId"])


@contextmanager
def running(
    installation: Installation, *, folder: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[RealN8n]:
    """A started n8n with an owner and a key. Give a folder to keep its data, and settings to change its environment."""
    with TemporaryDirectory(prefix="dogubako-n8n-") as fresh:
        home = folder or Path(fresh)
        port, broker_port = _free_ports(2)
        url = f"http://127.0.0.1:{port}"
        environment = {**_environment(home, port, broker_port), **(settings or {})}
        log = home / "n8n.log"
        process = _start(installation, home, environment, log)
        try:
            _wait_until_ready(process, url, log)
            cookie = _sign_in(url)
            scopes = _data(_rest(url, "GET", "/rest/api-keys/scopes", None, cookie))
            yield RealN8n(url=url, api_key=_new_key(url, cookie, scopes), pid=process.pid, cookie=cookie)
        finally:
            _stop(process)


def _free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all are held until the last is found, so that none comes twice."""
    probes = [socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def _environment(home: Path, port: int, broker_port: int) -> dict[str, str]:
    """Everything n8n gets to see. What the person's own environment says must not change a test."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "N8N_USER_FOLDER": str(home),
        "DB_TYPE": "sqlite",
        "N8N_LISTEN_ADDRESS": "127.0.0.1",  # else it listens on all interfaces
        "N8N_HOST": "127.0.0.1",
        "N8N_PORT": str(port),
        "WEBHOOK_URL": f"http://127.0.0.1:{port}/",
        "N8N_RUNNERS_BROKER_LISTEN_ADDRESS": "127.0.0.1",
        "N8N_RUNNERS_BROKER_PORT": str(broker_port),
        "N8N_SECURE_COOKIE": "false",
        "N8N_ENCRYPTION_KEY": "only-for-tests",
        "N8N_DIAGNOSTICS_ENABLED": "false",
        "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
        "N8N_TEMPLATES_ENABLED": "false",
        "N8N_PERSONALIZATION_ENABLED": "false",
        "N8N_COMMUNITY_PACKAGES_ENABLED": "false",
        "N8N_LICENSE_AUTO_RENEW_ENABLED": "false",
        "EXTERNAL_FRONTEND_HOOKS_URLS": "",
        "GENERIC_TIMEZONE": "UTC",
    }


def _start(
    installation: Installation, home: Path, environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    command = [str(installation.node), str(installation.program), "start"]
    with log.open("ab") as output:
        # A session of its own: Ctrl-C in the terminal is for us, and we stop n8n in good order.
        return subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """While n8n starts, every path answers 200 with a sentence; only JSON with `data` means that it is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if "data" in _rest(url, "GET", "/rest/settings").json():
                return
        except (httpx2.TransportError, ValueError):
            pass
        time.sleep(0.25)
    raise StartError(f"n8n did not start (exit code {process.poll()}). The end of its log:\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-4000:]


def _sign_in(url: str) -> str:
    """The session cookie of the owner, who is made on a fresh server."""
    answer = _rest(url, "POST", "/rest/owner/setup", OWNER)
    if answer.status_code == httpx2.codes.BAD_REQUEST:  # there is an owner already
        login = {"emailOrLdapLoginId": OWNER["email"], "password": OWNER["password"]}
        answer = _rest(url, "POST", "/rest/login", login)
    _data(answer)
    return f"n8n-auth={answer.cookies['n8n-auth']}"


def _new_key(url: str, cookie: str, scopes: Sequence[str]) -> str:
    # n8n refuses a label that it has seen before.
    wanted = {"label": uuid4().hex, "scopes": list(scopes), "expiresAt": None}
    return str(_data(_rest(url, "POST", "/rest/api-keys", wanted, cookie))["rawApiKey"])


def _rest(url: str, method: str, path: str, body: object = None, cookie: str = "") -> httpx2.Response:
    """One request to the interface of n8n's own editor."""
    return httpx2.request(method, url + path, json=body, headers={"Cookie": cookie}, timeout=REQUEST_SECONDS)


def _data(answer: httpx2.Response) -> Any:
    if not answer.is_success:
        raise StartError(f"{answer.request.url.path} answered {answer.status_code}: {answer.text[:500]}")
    return answer.json()["data"]


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        with running(install(_say)) as n8n:
            print(json.dumps({"url": n8n.url, "api_key": n8n.api_key, "pid": n8n.pid}), flush=True)
            # Wait for its end without taking note of it: that is done where it is stopped.
            os.waitid(os.P_PID, n8n.pid, os.WEXITED | os.WNOWAIT)
            _say("n8n ended by itself.")
    except (InstallError, StartError) as error:
        _say(str(error))
    return 1


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(0)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
