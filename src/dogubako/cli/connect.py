"""`dogubako connect`: print or write the configuration of an agent's client."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from dogubako.cli.options import Config, Packs, ReadOnly, Sandbox, Tools, friendly
from dogubako.settings import SettingsError

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode"]

# How a client's file says "the key is in NAME", and what its user has to do. The key itself is never written.
_KEY_IN: Final = {
    "claude-code": ("${NAME}", "Set NAME to the key where you start Claude Code."),
    "cursor": ("${env:NAME}", "Set NAME to the key where you start Cursor."),
    # It does not promise to look for variables in headers; what it asks for, it keeps encrypted.
    "vscode": ("${input:NAME}", "VS Code will ask for the key once and keep it; no variable has to be set."),
}
# A key has small letters and is refused by that; our own variables are settings, and an unknown one stops the start.
_KEY_NAME: Final = re.compile(r"(?!DOGUBAKO_)[A-Z_][A-Z0-9_]{0,63}")


@friendly
def connect(
    client: Annotated[ClientName, typer.Argument(help="Which client to connect.")],
    write: Annotated[bool, typer.Option("--write", help="Write the client's file instead of printing.")] = False,
    url: Annotated[
        str | None, typer.Option(help="Connect to a running server instead, as http://127.0.0.1:3000/mcp.")
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --url: the variable that holds the key, as TOOLBOX_KEY; never the key."
        ),
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
    inputs: list[dict[str, Any]] = []
    if key_env is not None:
        headers, inputs = _key_from(client, url, key_env)
        entry |= {"headers": headers}
    if write:
        _write(path, key, entry, inputs)
        typer.echo(f"Wrote {path}. Restart the client to see the tools.")
    else:
        typer.echo(f"Add this to {path}:\n", err=True)
        document = {key: {"dogubako": entry}} | ({"inputs": inputs} if inputs else {})
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    if key_env is not None:
        typer.echo(_KEY_IN[client][1].replace("NAME", key_env), err=True)


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


def _key_from(client: ClientName, url: str | None, key_env: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The headers that send the key, and what the client has to ask its user for."""
    if url is None:
        raise SettingsError("--key-env goes with --url; a toolbox that the client starts itself wants no key.")
    if _KEY_NAME.fullmatch(key_env) is None:
        raise SettingsError(
            "--key-env takes the name of a variable in capitals, as TOOLBOX_KEY, and never the key itself. "
            "Names that begin with DOGUBAKO_ are settings."
        )
    if client not in _KEY_IN:
        raise SettingsError(
            "Claude Desktop sends no keys: its file names commands. Leave --url and --key-env out, and it starts "
            "the toolbox itself; or connect to the server with claude-code, cursor or vscode."
        )
    reference = _KEY_IN[client][0].replace("NAME", key_env)
    asked = {"type": "promptString", "id": key_env, "description": "API key of Dogubako", "password": True}
    return {"Authorization": f"Bearer {reference}"}, [asked] if client == "vscode" else []


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


def _write(path: Path, key: str, entry: dict[str, Any], inputs: list[dict[str, Any]]) -> None:
    """Add our entry and keep everything else; the file as it was stays beside it."""
    known: Any = {}
    if path.exists():
        before = path.read_text(encoding="utf-8")
        try:
            known = json.loads(before or "{}")
        except ValueError:
            raise SettingsError(f"{path} is not valid JSON; mend it first, nothing was changed.") from None
        if not _is_as_expected(known, key):
            raise SettingsError(f"{path} has an unexpected form; nothing was changed.")
        path.with_name(f"{path.name}.backup").write_text(before, encoding="utf-8")
    known.setdefault(key, {})["dogubako"] = entry
    if inputs:
        # What its user wrote about the same question stays.
        asked = known.setdefault("inputs", [])
        ids = [one.get("id") for one in asked if isinstance(one, dict)]
        asked += [one for one in inputs if one["id"] not in ids]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _is_as_expected(known: Any, key: str) -> bool:
    return (
        isinstance(known, dict) and isinstance(known.get(key, {}), dict) and isinstance(known.get("inputs", []), list)
    )
