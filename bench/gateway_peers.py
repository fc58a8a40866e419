"""Other gateways before the same server: what a call costs them. Each is installed in an environment of its own."""

import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.contenders import Contender
from bench.gateway import BEHIND, Calls
from bench.machine import VENV_BIN, ContenderError, Machine, say
from bench.processes import Process, piped, serving
from bench.results import Measure

_FASTMCP: Final = """
import sys
from fastmcp.server import create_proxy
servers = {"mcpServers": {"behind": {"command": sys.executable, "args": ["-I", "-S", sys.argv[1], "legacy"]}}}
create_proxy(servers).run(show_banner=False)
"""
_MCP_PROXY: Final = "mcp-proxy==0.13.0"
# Peers are slower; fewer calls tell enough.
_CALLS: Final = 100
_CONTEXTFORGE: Final = "mcp-contextforge-gateway==1.0.7"
# Its first start makes a database, which takes a minute.
_CONTEXTFORGE_SECONDS: Final = 300.0
# Open to this machine, without its pages and plug-ins, and with a database of its own.
_CONTEXTFORGE_SETTINGS: Final = {
    **dict.fromkeys(("AUTH_REQUIRED", "MCP_REQUIRE_AUTH", "REQUIRE_STRONG_SECRETS", "PLUGINS_ENABLED"), "false"),
    **dict.fromkeys(("TRUST_PROXY_AUTH", "ALLOW_UNAUTHENTICATED_ADMIN", "SSRF_ALLOW_LOCALHOST"), "true"),
    "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
    "MCPGATEWAY_UI_ENABLED": "false",
    "RATE_LIMITING_ENABLED": "false",
    "TOOL_RATE_LIMIT": "1000000",
    "LOG_LEVEL": "ERROR",
    **dict.fromkeys(("JWT_SECRET_KEY", "AUTH_ENCRYPTION_SECRET"), "only-for-this-measurement-on-loopback"),
    **dict.fromkeys(("BASIC_AUTH_PASSWORD", "PLATFORM_ADMIN_PASSWORD", "DEFAULT_USER_PASSWORD"), "Only4ThisMeasure!"),
}
_MORE_CALLS: Final = 300
_INSTALL_SECONDS: Final = 300
_REQUEST_SECONDS: Final = 60.0


def _fastmcp(machine: Machine, rounds: int) -> Measure:
    command = (sys.executable, "-c", _FASTMCP, str(BEHIND))
    with piped(machine, Contender(name="FastMCP's proxy", command=command, folder=machine.scratch)) as process:
        calls = Calls(process, "2025-11-25", talks=True)
        calls.wait_for_tools()
        values = tuple(calls.milliseconds(_CALLS) for _ in range(rounds))
    return _measured("FastMCP's proxy, over stdio", values)


def _mcp_proxy(machine: Machine, rounds: int) -> Measure:
    program = _installed(machine, _MCP_PROXY) / "mcp-proxy"
    behind = (sys.executable, "-I", "-S", str(BEHIND), "legacy")
    command = (str(program), "--host", "127.0.0.1", "--port", "{port}", "--", *behind)
    contender = Contender(name="mcp-proxy", command=command, folder=machine.scratch)
    with serving(machine, contender) as (process, port), _over_http(process, port) as calls:
        calls.wait_for_tools()
        values = tuple(calls.milliseconds(_MORE_CALLS) for _ in range(rounds))
    return _measured("mcp-proxy, over HTTP", values)


def _contextforge(machine: Machine, rounds: int) -> Measure:
    """It takes servers over HTTP, so another process brings the server behind it there."""
    bridge = (str(_installed(machine, _MCP_PROXY) / "mcp-proxy"), "--host", "127.0.0.1", "--port", "{port}", "--")
    behind = (sys.executable, "-I", "-S", str(BEHIND), "legacy")
    program = _installed(machine, _CONTEXTFORGE) / "mcpgateway"
    folder = machine.new_folder("contextforge")
    contender = Contender(
        name="ContextForge",
        command=(str(program), "--host", "127.0.0.1", "--port", "{port}"),
        folder=folder,
        environment={**_CONTEXTFORGE_SETTINGS, "DATABASE_URL": f"sqlite:///{folder / 'mcp.db'}"},
    )
    with (
        serving(machine, Contender(name="mcp-proxy", command=(*bridge, *behind), folder=machine.scratch)) as (
            _,
            behind_it,
        ),
        serving(machine, contender, _CONTEXTFORGE_SECONDS) as (process, port),
        _over_http(process, port) as calls,
    ):
        address = f"http://127.0.0.1:{behind_it}/mcp"
        calls.post("/gateways", {"name": "behind", "url": address, "transport": "STREAMABLEHTTP"})
        calls.tool = "behind-echo"
        calls.wait_for_tools()
        values = tuple(calls.milliseconds(_CALLS) for _ in range(rounds))
    return _measured("ContextForge, over HTTP", values)


def _measured(who: str, values: tuple[float, ...]) -> Measure:
    what = f"a call to a fast stdio server through {who}, processor time of the proxy alone"
    found = Measure(what=what, unit="ms", values=values)
    say(f"{found.what}: {found.value:.2f} {found.unit}")
    return found


def _installed(machine: Machine, package: str) -> Path:
    """The programs of a package that has its own requirements, and so an environment of its own."""
    folder = machine.new_folder("peer")
    uv = shutil.which("uv", path=str(VENV_BIN)) or shutil.which("uv")
    if uv is None:
        raise ContenderError(f"{package} was not installed: there is no uv")
    for words in (["venv", str(folder)], ["pip", "install", "--python", str(folder / "bin" / "python"), package]):
        try:
            subprocess.run([uv, *words, "--quiet"], capture_output=True, timeout=_INSTALL_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise ContenderError(f"{package} could not be installed: {type(error).__name__}") from error
    return folder / "bin"


@contextmanager
def _over_http(process: Process, port: int) -> "Iterator[_HttpCalls]":
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_REQUEST_SECONDS)
    try:
        yield _HttpCalls(process, connection)
    finally:
        connection.close()


class _HttpCalls(Calls):
    """The same conversation over Streamable HTTP."""

    def __init__(self, process: Process, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._session = ""
        self._received: dict[str, Any] = {}
        super().__init__(process, "2025-11-25", talks=False)

    def _send(self, message: dict[str, Any]) -> None:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self._session:
            headers |= {"mcp-session-id": self._session, "mcp-protocol-version": "2025-11-25"}
        self._connection.request("POST", "/mcp", json.dumps(message), headers)
        response = self._connection.getresponse()
        self._session = response.getheader("mcp-session-id") or self._session
        body = response.read().decode()
        if response.status >= 400:
            raise ContenderError(f"the gateway answered with status {response.status}")
        if not body:
            return
        lines = [line.removeprefix("data:") for line in body.splitlines() if line.startswith(("data:", "{"))]
        for one in map(json.loads, filter(str.strip, lines)):
            if "method" not in one:
                self._received = one

    def post(self, path: str, body: dict[str, Any]) -> None:
        """Ask for something beside the protocol."""
        self._connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        response = self._connection.getresponse()
        response.read()
        if response.status >= 400:
            raise ContenderError(f"the gateway answered {path} with status {response.status}")

    def _receive(self, request: int) -> dict[str, Any]:
        if self._received.get("id") != request:
            raise ContenderError("the gateway answered another request")
        return self._received


# Milliseconds of each peer's processor time for each call. There is nothing that they must reach.
PEERS: Final = (_fastmcp, _mcp_proxy, _contextforge)
