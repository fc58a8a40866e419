"""What a start imports: `rich` is not imported where it is installed, and stays usable for everybody."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dogubako import __version__


def _in_a_new_process(code: str) -> Any:
    """What the code prints last, as JSON."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_start_does_not_import_rich_and_others_still_can() -> None:
    code = """
import json, sys
import dogubako.app, dogubako.cli.main
before = [name for name in sys.modules if name.split(".")[0] == "rich"]
from rich.table import Table
print(json.dumps([before, Table.__name__]))
"""
    assert _in_a_new_process(code) == [[], "Table"]


def test_a_process_that_has_rich_already_keeps_it_in_structlog() -> None:
    code = """
import json, rich
import dogubako, structlog
print(json.dumps(structlog.dev.rich is rich))
"""
    assert _in_a_new_process(code) is True


_HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
)
# Writes down what was imported until the list was made.
_SERVER = """
import json, os, sys
import dogubako.transports.mcp.lists as lists
listed = lists.tools
def told(*args):
    answer = listed(*args)
    names = [one["name"] for one in answer["tools"]]
    with open("seen.json", "w") as file:
        json.dump({"tools": names, "modules": sorted(sys.modules)}, file)
    return answer
lists.tools = told
from dogubako.__main__ import main
sys.argv = ["dogubako", "stdio", *sys.argv[1:]]
main()
"""
# Nothing of these is needed before the first call, or by a server without other servers.
NOT_BEFORE_THE_FIRST_CALL = (
    *("dogubako.packs.n8n.client", "dogubako.packs.n8n.tools", "dogubako.packs.n8n.resources"),
    *("dogubako.packs.redmine.client", "dogubako.packs.redmine.tools", "dogubako.packs.redmine.resources"),
    *("dogubako.packs.web.client", "dogubako.packs.web.tools", "dogubako.outbound.http"),
    *("dogubako.gateway", "dogubako.openapi", "dogubako.engine.search.index", "dogubako.engine.search.values"),
    *(
        "dogubako.cli.tools",
        "dogubako.cli.connect",
        "dogubako.server",
        "dogubako.transports.rest",
        "dogubako_sandbox.n8n",
    ),
    *("mcp", "mcp_types", "httpx2", "httpcore2", "h11", "starlette.applications", "uvicorn", "jsonschema_rs", "numpy"),
    *("tomlkit", "tomllib", "dotenv", "rich", "http.client", "http.cookiejar", "cryptography", "redis", "jinja2"),
)
# Each module costs about half a millisecond and sixty kilobytes. Raise it only for what every start needs.
MOST_MODULES = 520


def _seen_at_the_first_list(folder: Path, *words: str, **settings: str) -> dict[str, list[str]]:
    command = [sys.executable, "-c", _SERVER, *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LOG_DIR": str(folder / "logs"), **settings}
    lines = "".join(json.dumps(message) + "\n" for message in _HANDSHAKE)
    subprocess.run(
        command, cwd=folder, env=environ, input=lines, check=True, capture_output=True, text=True, timeout=60
    )
    seen: dict[str, list[str]] = json.loads((folder / "seen.json").read_text())
    return seen


def test_a_list_of_tools_needs_no_module_of_a_tool(tmp_path: Path) -> None:
    seen = _seen_at_the_first_list(tmp_path)

    early = [
        module
        for module in seen["modules"]
        if any(module == name or module.startswith(f"{name}.") for name in NOT_BEFORE_THE_FIRST_CALL)
    ]
    assert "fetch_page" in seen["tools"]
    assert early == []
    assert len(seen["modules"]) <= MOST_MODULES


def test_a_list_of_configured_tools_needs_no_module_of_the_others(tmp_path: Path) -> None:
    seen = _seen_at_the_first_list(tmp_path, N8N_URL="http://127.0.0.1:1", N8N_API_KEY="key")

    assert "list_workflows" in seen["tools"] or "search_tools" in seen["tools"]
    assert [name for name in seen["modules"] if name.startswith(("dogubako.packs.redmine.tools", "mcp."))] == []


def test_the_first_call_of_a_pack_imports_it_beside_the_event_loop() -> None:
    code = """
import asyncio, json, sys, threading
from dogubako.app import build
from dogubako.settings import Sources

class Watcher:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("dogubako.packs.web.") or name == "httpx2._client":
            seen.append((name, threading.current_thread() is threading.main_thread()))

async def main():
    async with build(Sources(environ={}, env_file=None)).running() as box:
        before = len(seen)
        result = await box.call("search_health", {"unknown": 1})
        assert result.code == "VALIDATION_ERROR", result
        await box.packs["web"].client.opened()
        print(json.dumps([before, sorted({on_loop for _, on_loop in seen}), [name for name, _ in seen]]))

seen = []
sys.meta_path.insert(0, Watcher())
import dogubako.packs
seen.clear()
asyncio.run(main())
"""
    before, on_the_loop, names = _in_a_new_process(code)

    assert (before, on_the_loop) == (0, [False])
    assert {"dogubako.packs.web.tools", "dogubako.packs.web.client", "httpx2._client"} <= set(names)


def test_the_version_is_that_of_the_package() -> None:
    assert __version__ == version("dogubako")
