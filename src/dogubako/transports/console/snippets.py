"""The same call as curl, Python and MCP, and the configuration of every client."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEY_VARIABLE = "TOOLBOX_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Snippet:
    """A piece of text to copy, with its title and where it belongs."""

    title: str
    place: str
    text: str


def call_snippets(base: str, name: str, arguments: Mapping[str, Any], *, with_key: bool) -> list[Snippet]:
    """One call in three languages."""
    body = json.dumps({"name": name, "parameters": arguments}, ensure_ascii=False)
    key = f' \\\n  -H "Authorization: Bearer ${KEY_VARIABLE}"' if with_key else ""
    curl = f"curl {base}/v1/tools/call \\\n  -H 'Content-Type: application/json'{key} \\\n  -d {shlex.quote(body)}"
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return [
        Snippet(title="curl", place="", text=curl),
        Snippet(title="Python", place="", text=_python(name, arguments)),
        Snippet(title="MCP", place="", text=json.dumps(request, indent=2, ensure_ascii=False)),
    ]


def _python(name: str, arguments: Mapping[str, Any]) -> str:
    return (
        "import asyncio\n\nfrom dogubako import Toolbox\n\n\nasync def main() -> None:\n"
        "    async with Toolbox.open() as box:\n"
        f"        result = await box.call({name!r}, {dict(arguments)!r})\n"
        "        print(result.text)\n\n\nasyncio.run(main())"
    )


def client_snippets(base: str, *, with_key: bool) -> list[Snippet]:
    """The configuration of every client for this server. Keys are named by a variable and never written."""
    url = f"{base}/mcp"
    bearer = {"Authorization": f"Bearer ${{{KEY_VARIABLE}}}"} if with_key else {}
    cursor = {"Authorization": f"Bearer ${{env:{KEY_VARIABLE}}}"} if with_key else {}
    asked = {"Authorization": f"Bearer ${{input:{KEY_VARIABLE}}}"} if with_key else {}
    header = f' --header "Authorization: Bearer ${KEY_VARIABLE}"' if with_key else ""
    inputs = [{"type": "promptString", "id": KEY_VARIABLE, "description": "API key of Dogubako", "password": True}]
    remote = [
        "-y",
        "mcp-remote",
        url,
        *(["--header", f"Authorization: Bearer ${{{KEY_VARIABLE}}}"] if with_key else []),
    ]
    codex = f'[mcp_servers.dogubako]\nurl = "{url}"' + (
        f'\nbearer_token_env_var = "{KEY_VARIABLE}"' if with_key else ""
    )
    opencode_key = {"Authorization": f"Bearer {{env:{KEY_VARIABLE}}}"} if with_key else {}
    return [
        Snippet(title="Claude Code", place="", text=f"claude mcp add --transport http dogubako {url}{header}"),
        Snippet(
            title="Claude Desktop",
            place="claude_desktop_config.json",
            text=_json({"mcpServers": {"dogubako": {"command": "npx", "args": remote}}}),
        ),
        Snippet(title="Cursor", place="~/.cursor/mcp.json", text=_servers("mcpServers", {"url": url}, cursor)),
        Snippet(
            title="VS Code",
            place=".vscode/mcp.json",
            text=_servers("servers", {"type": "http", "url": url}, asked, {"inputs": inputs} if with_key else {}),
        ),
        Snippet(title="Codex", place="~/.codex/config.toml", text=codex),
        Snippet(
            title="Gemini CLI", place="~/.gemini/settings.json", text=_servers("mcpServers", {"httpUrl": url}, bearer)
        ),
        Snippet(
            title="Windsurf",
            place="~/.codeium/windsurf/mcp_config.json",
            text=_servers("mcpServers", {"serverUrl": url}, cursor),
        ),
        Snippet(title="Zed", place="settings.json", text=_servers("context_servers", {"url": url}, bearer)),
        Snippet(
            title="opencode",
            place="opencode.json",
            text=_json({"mcp": {"dogubako": {"type": "remote", "url": url} | _headers(opencode_key)}}),
        ),
        Snippet(title="JetBrains", place="mcp.json", text=_servers("mcpServers", {"url": url}, bearer)),
    ]


def _servers(key: str, entry: Mapping[str, Any], headers: Mapping[str, str], more: Mapping[str, Any] = {}) -> str:
    return _json({key: {"dogubako": {**entry, **_headers(headers)}}, **more})


def _headers(headers: Mapping[str, str]) -> dict[str, Any]:
    return {"headers": dict(headers)} if headers else {}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
