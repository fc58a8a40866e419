"""`dogubako servers list|add|remove|show|login|approve|restart|check`.

Exit codes: 0 for done, 1 for a server that does not work or a question that was answered with no, 2 for wrong settings,
3 for tools that wait for approval.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import click

from dogubako.app import Toolbox
from dogubako.cli.commands import Commands, argument, option
from dogubako.cli.keys import tried, with_keys
from dogubako.cli.options import AsJson, Chosen, Config, friendly
from dogubako.cli.terminal import fail, plain, print_json, print_table
from dogubako.cli.upstreams import HELD_BACK, Yes, approve_held, drop, enter, have_signed_in, run_signed_in, signed_out
from dogubako.contract.redaction import Redactor
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.probe import Probe, probe
from dogubako.gateway.server_views import server_detail, server_info
from dogubako.gateway.servers import Servers
from dogubako.gateway.settings import ServerSettings, read_server, resolve
from dogubako.gateway.sign_ins import SignIns
from dogubako.settings import SettingsError

app = Commands(help="Put other MCP servers into the box.")

# At most this many servers are started at the same time.
_AT_ONCE: Final = 4

Name = Annotated[str, argument(help="The server's name: [servers.NAME] in the settings file.")]


def opened(config: Config) -> tuple[Toolbox, Servers]:
    """The toolbox, and the servers that it has."""
    box = Chosen(config=config).open(quiet=True)
    return box, box.servers


@app.register("list")
@friendly
def list_servers(config: Config = None, as_json: AsJson = False) -> None:
    """List the servers, as they were last seen. Nothing is started."""
    _, servers = opened(config)
    infos = [server_info(pack) for pack in servers.packs.values()]
    if as_json:
        print_json(infos)
        return
    rows = [(one["name"], one["transport"], str(one["tools"]), str(one["held"]), _state(one)) for one in infos]
    empty = "No servers. Add one: dogubako servers add time uvx mcp-server-time"
    print_table(("Name", "Transport", "Tools", "Held back", "State"), rows, empty=empty)


def _state(info: dict[str, Any]) -> str:
    """The state and its reason. This process starts no server, so `stopped` would say nothing."""
    state = "not started here" if info["state"] == "stopped" else info["state"].replace("_", " ")
    return ": ".join(text for text in (state, info.get("reason", "")) if text)


@app.register(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@friendly
def add(
    name: Name,
    words: Annotated[list[str], argument(metavar="URL|COMMAND...", help="Its address, or what starts it.")],
    env: Annotated[
        list[str] | None, option("--env", metavar="NAME=VALUE", help="A variable for it, as KEY='${KEY}'.")
    ] = None,
    header: Annotated[
        list[str] | None, option("--header", metavar="NAME=VALUE", help="A header of every request to it.")
    ] = None,
    read_only: Annotated[bool, option("--read-only", help="Serve only the tools that read.")] = False,
    replace: Annotated[bool, option("--replace", help="Replace a server of this name.")] = False,
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Connect a server once, show its tools, and enter and approve it after a yes.

    Options of this command come before NAME; everything after it belongs to the server.
    """
    box, servers = opened(config)
    if name in servers.sources.tables and not replace:
        raise SettingsError(f"There is a server '{name}' already. Use --replace, or another name.")
    if name in box.packs and name not in servers.packs:
        raise SettingsError(f"'{name}' is the name of a pack. Use another name.")
    table = _table(words, _pairs("--env", env), _pairs("--header", header), read_only=read_only)
    settings = read_server(name, table)
    resolved = resolve(name, settings, servers.sources.environ)
    click.echo(f"Connecting to {name}…", err=True)
    found = run_signed_in(servers, probe(name, resolved, connect=servers.sources.connect))
    if found.state.name == "sign_in_needed" and sys.stdin.isatty():
        assert servers.sources.sign_ins is not None
        sign_in(servers.sources.sign_ins, name, resolved)
        found = run_signed_in(servers, probe(name, resolved, connect=servers.sources.connect))
    if found.definitions is None:
        fail(_failure(name, found, box), "Nothing was changed.")
    pack = servers.made(name, settings)
    pack.look_at(found.definitions)
    enter(servers, pack, table, yes=yes)


def _table(words: Sequence[str], env: dict[str, str], headers: dict[str, str], *, read_only: bool) -> dict[str, Any]:
    is_url = words[0].startswith(("http://", "https://"))
    if is_url and len(words) > 1:
        raise SettingsError("An address stands alone; headers are given with --header NAME=VALUE before it.")
    table: dict[str, Any] = {"url": words[0]} if is_url else {"command": words[0], "args": list(words[1:])}
    given = {"env": env, "headers": headers, "read_only": read_only}
    return {**table, **{key: value for key, value in given.items() if value}}


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for one in given or ():
        name, found, value = one.partition("=")
        if not (found and name.strip()):
            raise SettingsError(f"{option} takes NAME=VALUE.")
        pairs[name.strip()] = value
    return pairs


@app.register()
@friendly
def remove(name: Name, config: Config = None) -> None:
    """Remove a server from the settings file, and forget what was approved."""
    drop(opened(config)[1], name)


@app.register()
@friendly
def show(name: Name, config: Config = None, as_json: AsJson = False) -> None:
    """Show one server: its settings, its tools, and what is held back and why."""
    _, servers = opened(config)
    detail = server_detail(servers.named(name))
    if as_json:
        print_json(detail)
        return
    click.echo(f"{name} ({detail['transport']}, {detail['state']}), protocol {detail['protocol'] or 'not known yet'}")
    click.echo(f"{detail['address']}\n")
    rows = [(one["name"], one["remoteName"], one["effect"]) for one in detail["served"]]
    print_table(("Tool", "Called there", "Effect"), rows, empty="No tools are served.")
    for held in detail["heldBack"]:
        click.echo(plain(f"Held back: {held['name']} ({held['reason']})"))
    for fault in detail["faults"]:
        click.echo(plain(f"Left out: {fault}"))


@app.register()
@friendly
def approve(
    name: Name,
    tools: Annotated[list[str] | None, argument(help="Only these tools, by the server's names.")] = None,
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Show what is new or changed since the last approval, and approve it after a yes."""
    box, servers = opened(config)
    pack = servers.named(name)
    if servers.store.load(name) is None:
        _look(servers, pack, box)
    approve_held(servers, pack, tools, yes=yes)


def _look(servers: Servers, pack: ServerPack, box: Toolbox) -> None:
    """Connect a server that was never seen."""
    found = run_signed_in(servers, probe(pack.name, _resolved(servers, pack), connect=servers.sources.connect))
    if found.definitions is None:
        fail(_failure(pack.name, found, box), "Nothing was approved.")
    pack.refresh(found.definitions)


def _resolved(servers: Servers, pack: ServerPack) -> Any:
    if pack.missing is not None:
        raise SettingsError(pack.missing.reason)
    return pack.server


@app.register()
@friendly
def login(
    name: Name,
    out: Annotated[bool, option("--out", help="Sign out: forget the tokens of this server.")] = False,
    key: Annotated[
        str | None, option("--key", help="Id or name of the API key whose holder signs in; all without it.")
    ] = None,
    config: Config = None,
) -> None:
    """Sign in at a server that wants OAuth, with a browser. The tokens are stored encrypted."""
    box, servers = opened(config)
    pack = servers.named(name)
    if servers.sources.sign_ins is None or pack.server.url is None:
        raise SettingsError(f"The server '{name}' is started here; it wants nobody to sign in.")
    holder = tried(with_keys(box.settings, lambda keys: keys.meant(key))).id if key else ""
    account = servers.sources.sign_ins.of(holder)
    if out:
        signed_out(account, name)
        return
    sign_in(account, name, _resolved(servers, pack))
    click.echo(f"Signed in at {name}. A running server notices within seconds.")


def sign_in(sign_ins: SignIns, name: str, settings: ServerSettings) -> None:
    """Have the person at this terminal sign in."""
    nobody = f"The server '{name}' wants nobody to sign in."
    have_signed_in(sign_ins, lambda show: sign_ins.sign_in(name, settings, show), nobody)


@app.register()
@friendly
def restart(name: Name, config: Config = None) -> None:
    """Have every running toolbox with this data folder connect the server again."""
    _, servers = opened(config)
    servers.named(name)
    servers.store.ask_for_restart(name)
    click.echo(f"A running toolbox connects {name} again within seconds.")


@app.register()
@friendly
def check(
    names: Annotated[list[str] | None, argument(help="Only these servers; all without it.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Connect the servers once and compare them with what was approved. The exit code says how it went."""
    _, servers = opened(config)
    packs = [servers.named(name) for name in names] if names else list(servers.packs.values())
    outcomes = run_signed_in(servers, _checked(packs, servers))
    infos = []
    for pack, found in zip(packs, outcomes, strict=True):
        if found is not None and found.definitions is not None:
            pack.refresh(found.definitions)
        info = server_info(pack, found.state if found is not None else None)
        infos.append({**info, "works": found is not None and found.definitions is not None})
    if as_json:
        print_json(infos)
    else:
        rows = [
            (one["name"], "yes" if one["works"] else "no", str(one["tools"]), str(one["held"]), _state(one))
            for one in infos
        ]
        print_table(("Name", "Works", "Tools", "Held back", "State"), rows, empty="No servers.")
    if not all(one["works"] for one in infos):
        raise click.exceptions.Exit(1)
    if any(one["held"] for one in infos):
        raise click.exceptions.Exit(HELD_BACK)


async def _checked(packs: Sequence[ServerPack], servers: Servers) -> list[Probe | None]:
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(pack: ServerPack) -> Probe | None:
        if pack.missing is not None:
            return None
        async with places:
            return await probe(pack.name, pack.server, connect=servers.sources.connect)

    return await asyncio.gather(*(one(pack) for pack in packs))


def _failure(name: str, found: Probe, box: Toolbox) -> str:
    state = found.state
    mask = (box.redactor or Redactor()).mask_all
    said = f" Its last output: {plain(mask(state.last_stderr.strip())[-2000:])}" if state.last_stderr.strip() else ""
    return f"{name} does not work ({state.name.replace('_', ' ')}): {mask(state.reason) or 'no reason is known.'}{said}"
