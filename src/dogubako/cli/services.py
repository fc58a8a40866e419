"""`dogubako services list|add|remove|show|check|login|overlay|approve`: HTTP APIs with an OpenAPI description.

Exit codes: 0 for done, 1 for a service that does not work or a question that was answered with no, 2 for wrong
settings, 3 for tools that wait for approval.
"""

from pathlib import Path
from typing import Annotated, Any

import click

from dogubako._lazy import load
from dogubako.cli.commands import Commands, argument, option
from dogubako.cli.options import AsJson, Chosen, Config, friendly
from dogubako.cli.terminal import fail, plain, print_json, print_table
from dogubako.cli.upstreams import HELD_BACK, Yes, approve_held, drop, enter, have_signed_in, run_signed_in, signed_out
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.probe import Probe, probe
from dogubako.gateway.server_views import server_info
from dogubako.gateway.servers import Servers
from dogubako.gateway.settings import read_server, resolve
from dogubako.gateway.sign_ins import ShowAddress
from dogubako.openapi.schemes import wants_sign_in
from dogubako.response.tokens import count_tokens
from dogubako.settings import SettingsError

app = Commands(help="Put HTTP APIs into the box, from their OpenAPI description.")

Name = Annotated[str, argument(help="The service's name: [services.NAME] in the settings file.")]


def _opened(config: Path | None) -> Servers:
    chosen = Chosen(config=config)
    box = chosen.open(quiet=True)
    if box.apis is not None:
        return box.apis
    services: Servers = load("dogubako.openapi.services").configured_services(
        chosen.sources(), box.settings, box.servers
    )
    return services


def _probed(services: Servers, pack: ServerPack) -> Probe:
    if pack.missing is not None:
        raise SettingsError(pack.missing.reason)
    return run_signed_in(services, probe(pack.name, pack.server, connect=services.sources.connect))


def _refuse(pack: ServerPack, found: Probe) -> None:
    if found.definitions is None:
        fail(f"{pack.name} does not work: {found.state.reason}", "Nothing was changed.")


@app.register("list")
@friendly
def list_services(config: Config = None, as_json: AsJson = False) -> None:
    """List the services, as their descriptions were last read."""
    infos = [server_info(pack) for pack in _opened(config).packs.values()]
    if as_json:
        print_json(infos)
        return
    rows = [(one["name"], str(one["tools"]), str(one["held"])) for one in infos]
    empty = "No services. Add one: dogubako services add pets https://pets.example.com/openapi.json"
    print_table(("Name", "Tools", "Held back"), rows, empty=empty)


@app.register()
@friendly
def add(
    name: Name,
    description: Annotated[str, argument(metavar="URL|FILE", help="Its OpenAPI description.")],
    url: Annotated[str | None, option(help="Its address, if the description names none or another one.")] = None,
    auth: Annotated[
        list[str] | None, option("--auth", metavar="SCHEME=VALUE", help="A secret, as key='${PETS_KEY}'.")
    ] = None,
    tag: Annotated[list[str] | None, option(help="Only operations with this tag.")] = None,
    read_only: Annotated[bool, option("--read-only", help="Serve only the tools that read.")] = False,
    replace: Annotated[bool, option("--replace", help="Replace a service of this name.")] = False,
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Read a description once, show its tools, and enter and approve them after a yes."""
    services = _opened(config)
    if name in services.sources.tables and not replace:
        raise SettingsError(f"There is a service '{name}' already. Use --replace, or another name.")
    is_url = description.startswith(("http://", "https://"))
    table: dict[str, Any] = {"openapi": description if is_url else str(Path(description).absolute())}
    options = {"url": url, "auth": _pairs(auth), "tags": tag, "read_only": read_only}
    table |= {key: value for key, value in options.items() if value}
    settings = read_server(name, table, services.sources.model)
    resolve(name, settings, services.sources.environ)
    pack = services.made(name, settings)
    found = _probed(services, pack)
    _refuse(pack, found)
    assert found.definitions is not None
    pack.look_at(found.definitions)
    enter(services, pack, table, yes=yes)


def _pairs(given: list[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in given or ()]
    if any(not (name and found) for name, found, _ in pairs):
        raise SettingsError("--auth takes SCHEME=VALUE, with the name of a security scheme of the description.")
    return {name: value for name, _, value in pairs}


@app.register()
@friendly
def remove(name: Name, config: Config = None) -> None:
    """Remove a service from the settings file, and forget what was approved."""
    drop(_opened(config), name)


@app.register()
@friendly
def show(name: Name, config: Config = None) -> None:
    """Show the tools of a service, the requests that they make, and what is held back or left out and why."""
    pack = _opened(config).named(name)
    rows = [(tool.name, tool.effect.value, tool.description.rpartition("\n")[2]) for tool in pack.served.values()]
    print_table(("Tool", "Effect", "Request"), rows, empty="No tools are served.")
    for held in pack.judgement.held:
        click.echo(f"Held back: {held.name} ({held.reason})")
    for fault in pack.faults:
        click.echo(plain(f"Left out: {fault}"))


@app.register()
@friendly
def check(name: Name, config: Config = None, as_json: AsJson = False) -> None:
    """Read a description again: operations imported, left out and why, and how many tokens their definitions cost."""
    services = _opened(config)
    pack = services.named(name)
    found = _probed(services, pack)
    _refuse(pack, found)
    assert found.definitions is not None
    pack.refresh(found.definitions)
    tokens = sum(count_tokens(str(tool.to_definition())) for tool in pack.served.values())
    held, faults = pack.judgement.held, list(found.definitions.faults)
    if as_json:
        print_json({"tools": len(pack.served), "held": [one.name for one in held], "tokens": tokens, "leftOut": faults})
    else:
        click.echo(f"{len(found.definitions.tools)} operations are tools, {len(faults)} are left out.")
        click.echo(
            f"{len(pack.served)} are served ({tokens:,} tokens if all were listed), {len(held)} wait for approval."
        )
        for fault in faults:
            click.echo(plain(f"Left out: {fault}"))
    if held:
        raise click.exceptions.Exit(HELD_BACK)


@app.register()
@friendly
def approve(name: Name, yes: Yes = False, config: Config = None) -> None:
    """Show what is new or changed since the last approval, and approve it after a yes."""
    services = _opened(config)
    pack = services.named(name)
    if services.store.load(name) is None:
        found = _probed(services, pack)
        _refuse(pack, found)
        pack.refresh(found.definitions)
    approve_held(services, pack, None, yes=yes)


@app.register()
@friendly
def login(
    name: Name,
    out: Annotated[bool, option("--out", help="Sign out: forget the tokens of this service.")] = False,
    port: Annotated[int, option(help="The port of http://127.0.0.1:PORT/callback, if the service knows only one.")] = 0,
    config: Config = None,
) -> None:
    """Sign in at a service that wants OAuth, with a browser. The tokens are stored encrypted, and refreshed."""
    services = _opened(config)
    pack = services.named(name)
    sign_ins = services.sources.sign_ins
    assert sign_ins is not None
    if out:
        signed_out(sign_ins, name)
        return
    settings = pack.server
    if settings.client_id is None:
        hint = "Register Dogubako there, with the address http://127.0.0.1/callback to return to."
        raise SettingsError(f"[services.{name}] has no client_id. {hint}")
    schemes = pack.definitions.capabilities.get("securitySchemes") or _schemes(services, pack)
    wanted = next(((key, one) for key, one in schemes.items() if wants_sign_in(one)), None)
    if wanted is None:
        fail(f"The description of {name} has no scheme that a person signs in with.", "Set auth in its table.")

    async def signed_in(show: ShowAddress) -> bool:
        await load("dogubako.openapi.services").sign_in_at(services, pack, *wanted, show, port)
        return True

    have_signed_in(sign_ins, signed_in, "")
    click.echo(f"Signed in at {name}. A running server notices with its next call.")


def _schemes(services: Servers, pack: ServerPack) -> Any:
    found = _probed(services, pack)
    _refuse(pack, found)
    assert found.definitions is not None
    return found.definitions.capabilities.get("securitySchemes", {})


@app.register()
@friendly
def overlay(
    name: Name,
    file: Annotated[Path, argument(help="The file to write; it must not exist.")],
    config: Config = None,
) -> None:
    """Write an overlay to start from: a table for each tool, in which you change what you want."""
    pack = _opened(config).named(name)
    tables = [
        f"# {tool.description.partition(chr(10))[0][:100]}\n# [tools.{tool.remote_name}]\n"
        '# name = ""\n# description = ""\n# words = ""\n'
        for tool in pack.served.values()
    ]
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(
                "# What is changed in the tools of this service. Set `overlay` in its table to this file.\n\n"
            )
            written.write("\n".join(tables))
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}.") from None
    click.echo(f'Wrote {file}. Add overlay = "{file.absolute()}" to [services.{name}].')
