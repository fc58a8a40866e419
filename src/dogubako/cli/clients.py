"""The clients that `connect` knows: where each keeps its configuration, and how an entry looks in it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from dogubako.settings import SettingsError

ClientName = Literal[
    "claude-code",
    "claude-desktop",
    "codex",
    "cursor",
    "gemini-cli",
    "jetbrains",
    "opencode",
    "vscode",
    "windsurf",
    "zed",
]


@dataclass(frozen=True, kw_only=True)
class AgentClient:
    """A program that connects to MCP servers, and the form of its configuration file."""

    title: str
    # Below the home folder, or below the present folder where `in_project` is set.
    path: str
    # The same on other systems, where it differs.
    paths: Mapping[str, str] = field(default_factory=dict)
    in_project: bool = False
    # The key of all servers in the file.
    section: str = "mcpServers"
    # The key of the address of a running server. None: the client can only start servers.
    url_key: str | None = "url"
    # Added to the entry of a server that the client starts, and of one that runs already.
    local: Mapping[str, Any] = field(default_factory=dict)
    remote: Mapping[str, Any] = field(default_factory=dict)
    # Command and arguments are one list.
    command_list: bool = False
    env_key: str = "env"
    # How a value refers to the environment variable NAME. None: it cannot, or it is not documented.
    reference: str | None = None

    @property
    def file(self) -> Path:
        base = Path() if self.in_project else Path.home()
        return base / self.paths.get(sys.platform, self.path)

    def started_by_client(self, command: str, arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
        """The entry of a server that the client starts."""
        if self.command_list:
            entry: dict[str, Any] = {**self.local, "command": [command, *arguments]}
        else:
            entry = {**self.local, "command": command, "args": [*arguments]}
        return entry | ({self.env_key: dict(env)} if env else {})

    def running_at(self, url: str, key_variable: str | None) -> dict[str, Any]:
        """The entry of a running server. The key itself is never written."""
        if self.url_key is None:
            raise SettingsError(
                f"{self.title} starts servers itself and has no place for an address. Leave --url out, or connect "
                "another client."
            )
        entry = {**self.remote, self.url_key: url}
        if key_variable is None:
            return entry
        if self is CLIENTS["codex"]:
            return entry | {"bearer_token_env_var": key_variable}
        if self.reference is None:
            raise SettingsError(
                f"{self.title} does not document how its file refers to a variable, and a key is never written. "
                "Leave --url and --key-env out, and it starts the toolbox itself."
            )
        return entry | {"headers": {"Authorization": f"Bearer {self.refer(key_variable)}"}}

    def refer(self, variable: str) -> str:
        """The text that the client replaces with the value of the variable."""
        return (self.reference or "").replace("NAME", variable)

    def key_advice(self, variable: str) -> str:
        """How the user hands the key to the client."""
        if self is CLIENTS["vscode"]:
            return "VS Code will ask for the key once and keep it; no variable has to be set."
        return f"Set {variable} to the key where you start {self.title}."

    def read(self, text: str) -> Any:
        """Parse the file. A TOML document keeps its comments when it is written again."""
        if self.file.suffix == ".toml":
            # Only Codex needs it, and every start would pay for the import.
            import tomlkit  # noqa: PLC0415

            return tomlkit.parse(text)
        return json.loads(text or "{}")

    def written(self, document: Any) -> str:
        """The file as text."""
        if self.file.suffix == ".toml":
            import tomlkit  # noqa: PLC0415

            return tomlkit.dumps(document)
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


CLIENTS: Final[Mapping[ClientName, AgentClient]] = {
    "claude-code": AgentClient(
        title="Claude Code",
        path=".mcp.json",
        in_project=True,
        local={"type": "stdio"},
        remote={"type": "http"},
        reference="${NAME}",
    ),
    "claude-desktop": AgentClient(
        title="Claude Desktop",
        path=".config/Claude/claude_desktop_config.json",
        paths={
            "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
            "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
        },
        url_key=None,
    ),
    "codex": AgentClient(title="Codex", path=".codex/config.toml", section="mcp_servers"),
    "cursor": AgentClient(title="Cursor", path=".cursor/mcp.json", reference="${env:NAME}"),
    "gemini-cli": AgentClient(title="Gemini CLI", path=".gemini/settings.json", url_key="httpUrl", reference="${NAME}"),
    # AI Assistant takes the same text in Settings, Tools, AI Assistant, Model Context Protocol.
    "jetbrains": AgentClient(title="JetBrains Junie", path=".junie/mcp/mcp.json"),
    "opencode": AgentClient(
        title="opencode",
        path=".config/opencode/opencode.json",
        section="mcp",
        local={"type": "local", "enabled": True},
        remote={"type": "remote", "enabled": True},
        command_list=True,
        env_key="environment",
        reference="{env:NAME}",
    ),
    "vscode": AgentClient(
        title="VS Code",
        path=".vscode/mcp.json",
        in_project=True,
        section="servers",
        local={"type": "stdio"},
        remote={"type": "http"},
        # VS Code does not document variables in headers; inputs are stored encrypted.
        reference="${input:NAME}",
    ),
    "windsurf": AgentClient(
        title="Windsurf",
        path=".codeium/windsurf/mcp_config.json",
        url_key="serverUrl",
        reference="${env:NAME}",
    ),
    "zed": AgentClient(
        title="Zed",
        path=".config/zed/settings.json",
        paths={"win32": "AppData/Roaming/Zed/settings.json"},
        section="context_servers",
    ),
}
