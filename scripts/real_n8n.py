"""Run a real n8n on loopback, for tests: fresh data, one owner, one key. Started as a program it serves until stopped.

python scripts/real_n8n.py [--port 5678] [--folder data]     prints {"url", "api_key", "pid"} as one line of JSON
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.n8n_install import Installation, InstallError, install
from scripts.real_server import Patience, StartError, free_ports, leave_on_signals, ready, say, start, tell_and_wait

OWNER = {"email": "owner@example.com", "firstName": "Test", "lastName": "Owner", "password": "Only-4-Tests"}

PATIENCE = Patience(start=180, stop=30)
REQUEST_SECONDS = 60


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

    def mcp_token(self) -> str:
        """A token of n8n's own MCP server, which is switched on for it."""
        _data(_rest(self.url, "PATCH", "/rest/mcp/settings", {"mcpAccessEnabled": True}, self.cookie))
        return str(_data(_rest(self.url, "POST", "/rest/mcp/api-key/rotate", {}, self.cookie))["apiKey"])

    def run_manually(self, workflow_id: str, trigger_node: str) -> str:
        """Start an execution as the editor's button does, and return its id. The public API has no way to do this."""
        path = f"/rest/workflows/{workflow_id}/run"
        answer = _rest(self.url, "POST", path, {"triggerToStartFrom": {"name": trigger_node}}, self.cookie)
        return str(_data(answer)["executionId"])


@contextmanager
def running(
    installation: Installation,
    *,
    folder: Path | None = None,
    settings: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[RealN8n]:
    """A started n8n with an owner and a key. Give a folder to keep its data, and settings to change its environment."""
    with TemporaryDirectory(prefix="dogubako-n8n-") as fresh:
        home = folder or Path(fresh)
        home.mkdir(parents=True, exist_ok=True)
        free_port, broker_port = free_ports(2)
        url = f"http://127.0.0.1:{port or free_port}"
        environment = {**_environment(home, port or free_port, broker_port), **(settings or {})}
        log = home / "n8n.log"
        command = [str(installation.node), str(installation.program), "start"]
        process = start(command, folder=home, environment=environment, log=log)
        with ready("n8n", process, log, lambda: _is_ready(url), PATIENCE):
            cookie = _sign_in(url)
            scopes = _data(_rest(url, "GET", "/rest/api-keys/scopes", None, cookie))
            yield RealN8n(url=url, api_key=_new_key(url, cookie, scopes), pid=process.pid, cookie=cookie)


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


def _is_ready(url: str) -> bool:
    """While n8n starts, every path answers 200 with a sentence; only JSON with `data` means that it is there."""
    try:
        return "data" in _rest(url, "GET", "/rest/settings").json()
    except (httpx2.TransportError, ValueError):
        return False


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


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a real n8n on loopback until Ctrl-C.")
    parser.add_argument("--port", type=int, help="a free one when not given")
    parser.add_argument("--folder", type=Path, help="keep the data here; without it they are removed at the end")
    asked = parser.parse_args()
    leave_on_signals()
    try:
        with running(install(say), folder=asked.folder, port=asked.port) as n8n:
            tell_and_wait("n8n", n8n.pid, {"url": n8n.url, "api_key": n8n.api_key, "pid": n8n.pid})
    except (InstallError, StartError) as error:
        say(str(error))
    return 1


if __name__ == "__main__":
    sys.exit(main())
