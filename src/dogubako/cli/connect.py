"""`dogubako connect`: print or write the configuration of an agent's client."""

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dogubako.cli.options import Config, Packs, ReadOnly, Sandbox, Tools, friendly
from dogubako.settings import SettingsError

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode"]


@friendly
def connect(
    client: Annotated[ClientName, typer.Argument(help="Which client to connect.")],
    write: Annotated[bool, typer.Option("--write", help="Write the client's file instead of printing.")] = False,
    url: Annotated[
        str | None, typer.Option(help="Connect to a running server instead, as http://127.0.0.1:3000/mcp.")
    ] = None,
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
) -> None:
    """Connect Claude Code, Claude Desktop, Cursor or VS Code to this toolbox."""
    arguments = _arguments(tools, packs, read_only, sandbox, config)
    path, key = _target(client)
    entry = _entry(client, url, arguments)
    if not write:
        typer.echo(f"Add this to {path}:\n", err=True)
        typer.echo(json.dumps({key: {"dogubako": entry}}, indent=2, ensure_ascii=False))
        return
    _write(path, key, entry)
    typer.echo(f"Wrote {path}. Restart the client to see the tools.")


def _arguments(
    tools: list[Path] | None, packs: str | None, read_only: bool | None, sandbox: bool | None, config: Path | None
) -> list[str]:
    """The same options, for the command that the client will run from another folder."""
    words = ["stdio"]
    for path in tools or ():
        words += ["--tools", str(path.absolute())]
    words += ["--packs", packs] if packs else []
    words += ["--read-only"] if read_only else []
    words += ["--sandbox"] if sandbox else []
    return [*words, "--config", str(config.absolute())] if config else words


def _entry(client: ClientName, url: str | None, arguments: list[str]) -> dict[str, Any]:
    typed = client in ("claude-code", "vscode")
    if url is not None:
        return ({"type": "http"} if typed else {}) | {"url": url}
    command = {"command": _command(), "args": arguments}
    return ({"type": "stdio"} if typed else {}) | command


def _command() -> str:
    """This very program: a client does not share our PATH."""
    beside = Path(sys.executable).with_name("dogubako")
    return str(beside) if beside.exists() else shutil.which("dogubako") or "dogubako"


def _target(client: ClientName) -> tuple[Path, str]:
    """The client's file, and the key under which it keeps its servers."""
    home = Path.home()
    desktop = {
        "darwin": home / "Library/Application Support/Claude/claude_desktop_config.json",
        "win32": home / "AppData/Roaming/Claude/claude_desktop_config.json",
    }
    targets = {
        "claude-code": (Path(".mcp.json"), "mcpServers"),
        "claude-desktop": (desktop.get(sys.platform, home / ".config/Claude/claude_desktop_config.json"), "mcpServers"),
        "cursor": (home / ".cursor/mcp.json", "mcpServers"),
        "vscode": (Path(".vscode/mcp.json"), "servers"),
    }
    return targets[client]


def _write(path: Path, key: str, entry: dict[str, Any]) -> None:
    """Add our entry and keep everything else; the file as it was stays beside it."""
    known: Any = {}
    if path.exists():
        before = path.read_text(encoding="utf-8")
        try:
            known = json.loads(before or "{}")
        except ValueError:
            raise SettingsError(f"{path} is not valid JSON; mend it first, nothing was changed.") from None
        if not isinstance(known, dict) or not isinstance(known.get(key, {}), dict):
            raise SettingsError(f"{path} has an unexpected form; nothing was changed.")
        path.with_name(f"{path.name}.backup").write_text(before, encoding="utf-8")
    known.setdefault(key, {})["dogubako"] = entry
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
