"""Real MCP servers of other people: which package and version, how each is installed and started."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

# Installed once, outside of the repository's files.
CACHE: Final = Path(__file__).parents[2] / "build" / "servers"
_INSTALL_SECONDS: Final = 600
_NO_BROWSERS: Final = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}


@dataclass(frozen=True, kw_only=True)
class RealServer:
    """One server. `{folder}` in arguments and variables is a folder of the test."""

    name: str
    package: str
    program: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    tools: int
    # A call that works without a network: tool, arguments, and a word of the answer.
    call: tuple[str, Mapping[str, Any], str] | None = None

    @property
    def is_npm(self) -> bool:
        return "==" not in self.package

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    def installed(self) -> "RealServer":
        """The server, installed into a folder of its own. An unfinished installation is begun again."""
        done = self.folder / f".{self.package.replace('/', '-')}"
        if not done.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            for words in [self._npm()] if self.is_npm else self._uv():
                _run(*words)
            done.touch()
        return self

    def _npm(self) -> tuple[str, ...]:
        return ("npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(self.folder), self.package)

    def _uv(self) -> tuple[tuple[str, ...], ...]:
        uv, venv = (sys.executable, "-m", "uv"), str(self.folder / "venv")
        return (*uv, "venv", "--quiet", venv), (*uv, "pip", "install", "--quiet", "--python", venv, self.package)

    def table(self, folder: Path) -> dict[str, Any]:
        """The server's table in the settings."""
        place = self.folder / ("node_modules/.bin" if self.is_npm else "venv/bin")
        return {
            "command": str(place / self.program),
            "args": [word.format(folder=folder) for word in self.args],
            "env": {key: value.format(folder=folder) for key, value in {**_NO_BROWSERS, **self.env}.items()},
        }


def _run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=_INSTALL_SECONDS, capture_output=True)


_REPOSITORY: Final = {"repo_path": "{folder}"}
_OFFICIAL: Final = "@modelcontextprotocol/server"

# These work without a network once they are installed.
OFFLINE: Final = (
    RealServer(
        name="time",
        package="mcp-server-time==2026.10.19",
        program="mcp-server-time",
        tools=2,
        call=("get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    ),
    RealServer(
        name="git",
        package="mcp-server-git==2026.10.19",
        program="mcp-server-git",
        tools=12,
        call=("git_status", _REPOSITORY, "branch"),
    ),
    RealServer(name="fetch", package="mcp-server-fetch==2026.10.24", program="mcp-server-fetch", tools=1),
    RealServer(
        name="calculator",
        package="mcp-server-calculator==0.2.1",
        program="python",
        args=("-m", "mcp_server_calculator"),
        tools=1,
        call=("calculate", {"expression": "6*7"}, "42"),
    ),
    RealServer(
        name="everything",
        package=f"{_OFFICIAL}-everything@2026.8.31",
        program="mcp-server-everything",
        # One of them asks the user to open an address, which we pass on.
        tools=17,
        call=("echo", {"message": "hello"}, "hello"),
    ),
    RealServer(
        name="filesystem",
        package=f"{_OFFICIAL}-filesystem@2026.8.31",
        program="mcp-server-filesystem",
        args=("{folder}",),
        tools=14,
        call=("list_directory", {"path": "{folder}"}, "note.txt"),
    ),
    RealServer(
        name="memory",
        package=f"{_OFFICIAL}-memory@2026.8.31",
        program="mcp-server-memory",
        env={"MEMORY_FILE_PATH": "{folder}/memory.json"},
        tools=9,
        call=("read_graph", {}, "entities"),
    ),
    RealServer(
        name="sequential-thinking",
        package=f"{_OFFICIAL}-sequential-thinking@2026.8.31",
        program="mcp-server-sequential-thinking",
        tools=1,
        call=(
            "sequentialthinking",
            {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
            "thoughtNumber",
        ),
    ),
)

_NOWHERE: Final = "http://127.0.0.1:9"
_JIRA: Final = {f"JIRA_{key}": value for key, value in (("URL", _NOWHERE), ("USERNAME", "x"), ("API_TOKEN", "x"))}

# These list their tools without an account; calls of most of them need one.
ONLINE: Final = (
    RealServer(
        name="playwright", package="@playwright/mcp@0.0.83", program="playwright-mcp", args=("--headless",), tools=25
    ),
    RealServer(name="chrome-devtools", package="chrome-devtools-mcp@1.11.0", program="chrome-devtools-mcp", tools=32),
    RealServer(name="context7", package="@upstash/context7-mcp@4.1.1", program="context7-mcp", tools=2),
    RealServer(
        name="notion",
        package="@notionhq/notion-mcp-server@2.5.2",
        program="notion-mcp-server",
        env={"NOTION_TOKEN": "x"},
        tools=24,
    ),
    RealServer(
        name="searxng", package="mcp-searxng@1.16.0", program="mcp-searxng", env={"SEARXNG_URL": _NOWHERE}, tools=4
    ),
    RealServer(name="duckduckgo", package="duckduckgo-mcp-server==0.7.0", program="duckduckgo-mcp-server", tools=3),
    RealServer(name="ddgs", package="ddgs[mcp]==9.16.1", program="ddgs", args=("mcp",), tools=6),
    RealServer(
        name="mcp-redmine",
        package="mcp-redmine==2026.10.15.204909",
        program="mcp-redmine",
        env={"REDMINE_URL": _NOWHERE, "REDMINE_API_KEY": "x"},
        tools=6,
    ),
    RealServer(name="excel", package="excel-mcp-server==2.2.2", program="excel-mcp-server", args=("stdio",), tools=46),
    RealServer(name="wikipedia", package="wikipedia-mcp==2.0.1", program="wikipedia-mcp", tools=11),
    RealServer(
        name="atlassian",
        package="mcp-atlassian==0.23.1",
        program="mcp-atlassian",
        env={**_JIRA, **{key.replace("JIRA", "CONFLUENCE"): value for key, value in _JIRA.items()}},
        tools=98,
    ),
    RealServer(
        name="openapi",
        package="awslabs.openapi-mcp-server==1.1.6",
        program="awslabs.openapi-mcp-server",
        args=("--api-name", "pet", "--api-url", _NOWHERE, "--spec-path", "{folder}/petstore.json"),
        tools=2,
    ),
    RealServer(
        name="awsdoc",
        package="awslabs.aws-documentation-mcp-server==1.2.3",
        program="awslabs.aws-documentation-mcp-server",
        tools=5,
    ),
    RealServer(name="markitdown", package="markitdown-mcp==0.0.1a7", program="markitdown-mcp", tools=1),
    RealServer(
        name="alchemy",
        package="mcp-alchemy==2026.10.15.202659",
        program="mcp-alchemy",
        env={"DB_URL": "sqlite:///{folder}/a.db"},
        tools=4,
        call=("execute_query", {"query": "select 6*7"}, "42"),
    ),
    RealServer(
        name="arxiv",
        package="arxiv-mcp-server==0.8.2",
        program="arxiv-mcp-server",
        args=("--storage-path", "{folder}"),
        tools=19,
    ),
)
