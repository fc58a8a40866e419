"""Read the MCP servers of other programs: Claude, Cursor, VS Code, Windsurf, Zed, Gemini, Codex, and `server.json`."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import msgspec

from dogubako.gateway.registry_entry import server_of_registry
from dogubako.gateway.settings import NAME
from dogubako.settings import SettingsError

_MOST_BYTES: Final = 8 * 1024 * 1024
# Where each program keeps its servers, and where it does so on a Mac or on Windows.
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("./.mcp.json", "~/.claude.json"),
    "claude-desktop": (
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "~/AppData/Roaming/Claude/claude_desktop_config.json",
        "~/.config/Claude/claude_desktop_config.json",
    ),
    "codex": ("~/.codex/config.toml",),
    "cursor": ("./.cursor/mcp.json", "~/.cursor/mcp.json"),
    "gemini": ("./.gemini/settings.json", "~/.gemini/settings.json"),
    "vscode": (
        "./.vscode/mcp.json",
        "~/Library/Application Support/Code/User/mcp.json",
        "~/AppData/Roaming/Code/User/mcp.json",
        "~/.config/Code/User/mcp.json",
    ),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json",),
    "zed": ("~/.config/zed/settings.json",),
}
PROGRAMS: Final = tuple(_PLACES)

# How other programs call a key of ours.
_SAME: Final = {
    "command": "command",
    "args": "args",
    "env": "env",
    "environment": "env",
    "cwd": "cwd",
    "url": "url",
    "serverUrl": "url",
    "httpUrl": "url",
    "headers": "headers",
    "http_headers": "headers",
    "includeTools": "include",
    "enabled_tools": "include",
    "excludeTools": "exclude",
    "disabledTools": "exclude",
    "disabled_tools": "exclude",
    "disabled": "disabled",
}
_TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_KINDS: Final = ("type", "transport", "transportType")
_INPUT: Final = re.compile(r"\$\{input:([^{}]{1,200}+)\}")
# Comments of JSON with comments, and commas before a closing bracket; texts are matched first and kept. What has no end
# is matched to the end of the file, so that it is looked at once.
_TEXT: Final = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_COMMENT: Final = re.compile(rf"({_TEXT})|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
_COMMA: Final = re.compile(rf"({_TEXT})|,(?=\s{{0,1000}}+[}}\]])", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class FoundServer:
    """A server in the configuration of another program, as a table of `dogubako.toml`."""

    name: str
    table: dict[str, Any]
    # What was left out or has to be done.
    notes: tuple[str, ...] = field(default=())


def place_of(program: str) -> Path:
    """The file in which a program keeps its servers, on this machine."""
    if program not in _PLACES:
        raise SettingsError(f"Unknown program '{program[:50]}'. Known: {', '.join(PROGRAMS)}.")
    places = [Path(one).expanduser() for one in _PLACES[program]]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        looked = ", ".join(_PLACES[program])
        raise SettingsError(f"{program} has no file of servers here. Looked for: {looked}.")
    return found


def found_in_file(path: Path) -> list[FoundServer]:
    """The servers in a file of any known form, or a SettingsError that says what is wrong with it."""
    document = _read(path)
    if isinstance(document.get("packages") or document.get("remotes"), list):
        name, table, notes = server_of_registry(document)
        return [FoundServer(name=_plain_name(name, ()), table=table, notes=notes)]
    entries = _entries(document)
    if not entries:
        raise SettingsError(f"{path} has no MCP servers: neither mcpServers, servers, context_servers nor mcp_servers.")
    found: list[FoundServer] = []
    for name, entry in entries.items():
        if not _is_dogubako(name, entry):
            plain = _plain_name(name, [one.name for one in found])
            table, remarks = _table(entry)
            renamed = [f"It is called {plain} here."] if plain != name else []
            found.append(FoundServer(name=plain, table=table, notes=(*renamed, *remarks)))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{path} is too large for a configuration.")
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text) if path.suffix == ".toml" else msgspec.json.decode(_without_comments(text))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, msgspec.DecodeError, tomllib.TOMLDecodeError, RecursionError):
        raise SettingsError(f"{path} is neither JSON nor TOML.") from None
    if not isinstance(document, dict):
        raise SettingsError(f"{path} is no configuration: it has to be an object.")
    return document


def _without_comments(text: str) -> str:
    return _COMMA.sub(lambda one: one[1] or "", _COMMENT.sub(lambda one: one[1] or " ", text))


def _entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """The servers of a document. Claude Code also has some for single projects."""
    nested = document.get("mcp")
    places = [document.get(key) for key in ("mcpServers", "servers", "context_servers", "mcp_servers")]
    places.append(nested.get("servers") if isinstance(nested, dict) else None)
    projects = document.get("projects")
    if isinstance(projects, dict):
        places += [one.get("mcpServers") for one in projects.values() if isinstance(one, dict)]
    return {str(name): entry for place in places if isinstance(place, dict) for name, entry in place.items()}


def _is_dogubako(name: str, entry: Any) -> bool:
    """Whether it is this program itself, which `dogubako connect` entered."""
    command = entry.get("command") if isinstance(entry, dict) else None
    return name == "dogubako" or (isinstance(command, str) and Path(command).name == "dogubako")


def _table(entry: Any) -> tuple[dict[str, Any], list[str]]:
    if not isinstance(entry, dict):
        raise SettingsError("A server of the file is no object.")
    table: dict[str, Any] = {}
    notes: list[str] = []
    left_out = []
    for key, value in _flat(entry).items():
        if key in _SAME:
            table[_SAME[key]] = value
        elif key in _KINDS:
            _note_transport(table, value)
        elif key == "enabled":
            table |= {"disabled": True} if value is False else {}
        elif key == "bearer_token_env_var":
            table["api_key"] = f"${{{value}}}"
        elif key not in ("name", "source", "description"):
            left_out.append(key)
    # Gemini has a key for each transport.
    if "httpUrl" not in entry and "url" in entry and not any(kind in entry for kind in _KINDS) and "trust" in entry:
        table["transport"] = "sse"
    notes += [f"Left out: {', '.join(sorted(left_out))}."] if left_out else []
    return {key: _ours(value, notes) for key, value in table.items() if value not in (None, "", [], {}, False)}, notes


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with a command that is a text: Zed wrote an object, and others a list."""
    command = entry.get("command")
    rest = {key: value for key, value in entry.items() if key != "command"}
    if isinstance(command, dict):
        return {**rest, "command": command.get("path"), **{key: command.get(key) for key in ("args", "env")}}
    if isinstance(command, list) and command:
        return {**rest, "command": command[0], "args": [*command[1:], *(entry.get("args") or [])]}
    return {**rest, "command": command} if command else rest


def _note_transport(table: dict[str, Any], value: Any) -> None:
    kind = value.get("type") if isinstance(value, dict) else value
    if kind in _TRANSPORTS and kind != "stdio":
        table["transport"] = _TRANSPORTS[kind]


def _ours(value: Any, notes: list[str]) -> Any:
    """The value with variables as we write them: what a program asks its user for becomes an environment variable."""
    if isinstance(value, list):
        return [_ours(one, notes) for one in value]
    if isinstance(value, dict):
        return {key: _ours(one, notes) for key, one in value.items() if one is not None}
    if not isinstance(value, str):
        return value if isinstance(value, bool) else str(value)
    for name in _INPUT.findall(value):
        notes.append(f"Set the variable {_variable(name)}, which the other program asked for.")
    text = _INPUT.sub(lambda one: f"${{{_variable(one[1])}}}", value)
    return text.replace("${userHome}", str(Path.home())).replace("${workspaceFolder}", str(Path.cwd()))


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def _plain_name(name: str, taken: Collection[str]) -> str:
    """A name that a table can have."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:32].strip("-_") or "server"
    plain = plain if NAME.fullmatch(plain) else f"s-{plain}"[:32]
    numbered = (f"{plain[:28]}-{number}" for number in count(2))
    return next(one for one in chain([plain], numbered) if one not in taken)
