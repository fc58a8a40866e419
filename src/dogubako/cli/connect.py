"""`dogubako connect` and `disconnect`: print, write or remove an entry in the configuration of an agent's client."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import click
from dotenv import dotenv_values

from dogubako.cli.clients import CLIENTS, AgentClient, ClientName
from dogubako.cli.commands import argument, option
from dogubako.cli.entry_check import is_reachable, listed_tools
from dogubako.cli.options import Chosen, Config, Packs, ReadOnly, Sandbox, Tools, friendly
from dogubako.cli.terminal import warn
from dogubako.contract.netaddr import is_loopback
from dogubako.contract.pack import env_name, has_tables
from dogubako.loading import find_packs
from dogubako.settings import SettingsError

# Lower-case letters are refused, because keys have them; names of our own variables would be taken for settings.
_KEY_NAME: Final = re.compile(r"(?!DOGUBAKO_)[A-Z_][A-Z0-9_]{0,63}")
_ENTRY_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Files that count only where the server starts.
_FILES_OF_A_FOLDER: Final = ("dogubako.toml", ".env")

Client = Annotated[ClientName, argument(metavar="CLIENT", help=f"Which client: {', '.join(CLIENTS)}.")]
Name = Annotated[str, option("--name", help="Name of the entry, if one client gets several toolboxes.")]


@friendly
def connect(
    client: Client,
    write: Annotated[bool, option("--write", help="Write the client's file instead of printing.")] = False,
    name: Name = "dogubako",
    url: Annotated[
        str | None, option(help="Connect to a running server instead, as http://127.0.0.1:3000/mcp.")
    ] = None,
    key_env: Annotated[
        str | None,
        option(metavar="NAME", help="With --url: the variable that holds the key, as TOOLBOX_KEY; never the key."),
    ] = None,
    check: Annotated[
        bool, option("--check/--no-check", help="With --write: start the entry once before it is written.")
    ] = True,
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
) -> None:
    """Connect an agent's client, such as Claude Code, Cursor or VS Code, to this toolbox."""
    target = CLIENTS[client]
    _refuse_bad_names(name, key_env, url)
    if url is not None:
        entry = target.running_at(address := _corrected(url), key_env)
        if write and check and not is_reachable(address):
            warn(f"No server answers at {address} now.")
    else:
        chosen = Chosen(tools=tools, packs=packs, read_only=read_only, sandbox=sandbox, config=config)
        entry = target.started_by_client(_command(), _arguments(chosen), _environment(target, chosen))
        if write and check:
            click.echo(_checked(entry, target), err=True)
    inputs = _inputs(client, key_env)
    if write:
        click.echo(_write(target, name, entry, inputs))
    else:
        click.echo(f"Add this to {target.file}:\n", err=True)
        document = {target.section: {name: entry}} | ({"inputs": inputs} if inputs else {})
        click.echo(target.written(document).rstrip("\n"))
    if key_env is not None:
        click.echo(target.key_advice(key_env), err=True)


@friendly
def disconnect(client: Client, name: Name = "dogubako") -> None:
    """Remove this toolbox from the configuration of a client."""
    target = CLIENTS[client]
    document, before = _read(target)
    if name not in document.get(target.section, {}):
        raise SettingsError(f"{target.file} has no entry '{name}'; nothing was changed.")
    del document[target.section][name]
    backup = _replace(target.file, before, target.written(document))
    click.echo(f"Removed '{name}' from {target.file}. The file as it was is {backup}.")


def _refuse_bad_names(name: str, key_env: str | None, url: str | None) -> None:
    if _ENTRY_NAME.fullmatch(name) is None:
        raise SettingsError("--name takes up to 64 letters, digits, hyphens and underscores.")
    if key_env is None:
        return
    if url is None:
        raise SettingsError("--key-env goes with --url; a toolbox that the client starts itself wants no key.")
    if _KEY_NAME.fullmatch(key_env) is None:
        raise SettingsError(
            "--key-env takes the name of a variable in capitals, as TOOLBOX_KEY, and never the key itself. "
            "Names that begin with DOGUBAKO_ are settings."
        )


def _corrected(url: str) -> str:
    """The address of /mcp: a scheme and the path are added where they are missing."""
    try:
        whole = url if "://" in url else f"{_scheme_for(url)}://{url}"
        parts = urlsplit(whole)
        is_address = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        is_address = False
    if not is_address:
        raise SettingsError("--url takes the address of a running server, as http://127.0.0.1:3000/mcp.")
    return whole if parts.path.strip("/") else f"{whole.rstrip('/')}/mcp"


def _scheme_for(place: str) -> str:
    return "http" if is_loopback(urlsplit(f"//{place}").hostname or "") else "https"


def _arguments(chosen: Chosen) -> list[str]:
    """The same options for the command that the client runs from another folder."""
    words = ["stdio"]
    if any(Path(file).is_file() for file in _FILES_OF_A_FOLDER):
        words += ["--directory", str(Path.cwd())]
    for path in chosen.tools or ():
        words += ["--tools", str(path.absolute())]
    words += ["--packs", chosen.packs] if chosen.packs else []
    words += ["--read-only"] if chosen.read_only else []
    words += ["--sandbox"] if chosen.sandbox else []
    return [*words, "--config", str(chosen.config.absolute())] if chosen.config else words


def _environment(target: AgentClient, chosen: Chosen) -> dict[str, str]:
    """The settings of this shell that the client does not have. Secrets are written as references only."""
    environment, missing = {}, []
    for variable, is_secret in _variables_of_this_shell(chosen).items():
        if not is_secret:
            environment[variable] = os.environ[variable]
        elif target.reference is not None and target is not CLIENTS["vscode"]:
            environment[variable] = target.refer(variable)
        else:
            missing.append(variable)
    if missing:
        folder = Path.cwd()
        warn(
            f"{', '.join(missing)}: set in this shell only, where {target.title} does not see it. "
            f"Write it to {folder / '.env'} and connect again."
        )
    return environment


def _variables_of_this_shell(chosen: Chosen) -> dict[str, bool]:
    """The variables of packs that are set in this shell and not in `.env`, and whether each is a secret."""
    packs = [one.pack for one in find_packs((), chosen.tools or ())]
    kept = dotenv_values(".env") if Path(".env").is_file() else {}
    found: dict[str, bool] = {}
    for pack in packs:
        model = pack.settings
        for field, info in model.model_fields.items():
            if not has_tables(model, field):
                pattern = _variable_pattern(pack.name, env_name(model, field))
                is_secret = "SecretStr" in str(info.annotation)
                found |= {one: is_secret for one in os.environ if pattern.fullmatch(one) and one not in kept}
    return dict(sorted(found.items()))


def _variable_pattern(pack: str, variable: str) -> re.Pattern[str]:
    """Also the variables of instances: REDMINE_HQ_URL beside REDMINE_URL."""
    prefix = f"{pack.upper()}_"
    if not variable.startswith(prefix):
        return re.compile(re.escape(variable))
    return re.compile(rf"{re.escape(prefix)}([A-Z0-9_]+_)?{re.escape(variable.removeprefix(prefix))}")


def _checked(entry: Mapping[str, Any], target: AgentClient) -> str:
    """Start the entry as the client will, in another folder, and say how many tools it lists."""
    command = entry["command"] if target.command_list else [entry["command"], *entry["args"]]
    with TemporaryDirectory() as elsewhere:
        references = {target.refer(name): os.environ[name] for name in os.environ} if target.reference else {}
        own = {name: references.get(value, value) for name, value in entry.get(target.env_key, {}).items()}
        names = listed_tools(command, own, Path(elsewhere))
    others = ", with which agents find the others" if "search_tools" in names else ""
    return f"The entry works: it starts, and lists {len(names)} tool{'' if len(names) == 1 else 's'}{others}."


def _inputs(client: ClientName, key_env: str | None) -> list[dict[str, Any]]:
    """What VS Code asks its user for."""
    if client != "vscode" or key_env is None:
        return []
    return [{"type": "promptString", "id": key_env, "description": "API key of Dogubako", "password": True}]


def _command() -> str:
    """The absolute path of this program: a client does not share our PATH."""
    beside = Path(sys.executable).with_name("dogubako")
    return str(beside) if beside.exists() else shutil.which("dogubako") or "dogubako"


def _write(target: AgentClient, name: str, entry: dict[str, Any], inputs: list[dict[str, Any]]) -> str:
    """Add our entry and keep everything else. Say what was replaced, and where the old file is."""
    document, before = _read(target)
    servers = document.setdefault(target.section, {})
    old = servers.get(name)
    servers[name] = entry
    if inputs:
        # An input that the user has already defined stays.
        existing = document.setdefault("inputs", [])
        ids = [one.get("id") for one in existing if isinstance(one, dict)]
        existing += [one for one in inputs if one["id"] not in ids]
    backup = _replace(target.file, before, target.written(document))
    replaced = f" It replaces {json.dumps(_shown(old), ensure_ascii=False)}." if old is not None else ""
    kept = f" The file as it was is {backup}." if backup else ""
    return f"Wrote '{name}' to {target.file}.{replaced}{kept} Restart {target.title} to see the tools."


def _shown(entry: Any) -> Any:
    """An entry without the values that may be secrets."""
    hidden = ("env", "environment", "headers")
    return {key: value for key, value in entry.items() if key not in hidden} if isinstance(entry, dict) else "an entry"


def _read(target: AgentClient) -> tuple[Any, str | None]:
    """The client's file, parsed and as text; None if there is none."""
    path = target.file
    if not path.exists():
        return target.read(""), None
    before = path.read_text(encoding="utf-8")
    try:
        document = target.read(before)
    except ValueError:
        hint = " Comments have to be removed, or add the entry by hand: leave --write out to see it."
        form = "TOML" if path.suffix == ".toml" else "JSON"
        raise SettingsError(f"{path} is not valid {form}; nothing was changed.{hint}") from None
    if not _is_as_expected(document, target.section):
        raise SettingsError(f"{path} has an unexpected form; nothing was changed.")
    return document, before


def _replace(path: Path, before: str | None, after: str) -> Path | None:
    """Write the file; the old one is kept beside it as a backup."""
    backup = None
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        backup = path.with_name(f"{path.name}.backup")
        backup.write_text(before, encoding="utf-8")
    path.write_text(after, encoding="utf-8")
    return backup


def _is_as_expected(document: Any, section: str) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get(section, {}), dict)
        and isinstance(document.get("inputs", []), list)
    )
