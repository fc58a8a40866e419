"""`dogubako import`: take over the MCP servers of another program."""

import asyncio
from pathlib import Path
from typing import Annotated

import click

from dogubako.cli.commands import argument, option
from dogubako.cli.options import Config, friendly
from dogubako.cli.servers import opened
from dogubako.cli.terminal import fail
from dogubako.cli.upstreams import Yes, agreed, show_tools
from dogubako.gateway.config_file import import_servers, undo_import
from dogubako.gateway.import_config import PROGRAMS, FoundServer, found_in_file, place_of
from dogubako.gateway.probe import probe
from dogubako.gateway.servers import Servers
from dogubako.gateway.settings import MissingReferenceError, read_server, resolve
from dogubako.settings import SettingsError


@friendly
def import_command(
    file: Annotated[
        Path | None, argument(help="A file with mcpServers, servers, context_servers, or a server.json.")
    ] = None,
    program: Annotated[str | None, option("--from", help=f"A program: {', '.join(PROGRAMS)}.")] = None,
    only: Annotated[list[str] | None, option("--only", metavar="NAME", help="Only this server.")] = None,
    undo: Annotated[bool, option("--undo", help="Take back the last import.")] = False,
    dry_run: Annotated[bool, option("--dry-run", help="Only show what would be done.")] = False,
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Show the servers of another program, and enter and approve them after a yes. `--undo` takes it back."""
    _, servers = opened(config)
    if undo:
        _undo(servers)
        return
    if (file is None) == (program is None):
        raise SettingsError("Name a file, or a program with --from.")
    path = file if file is not None else place_of(str(program))
    found = [one for one in found_in_file(path) if not only or one.name in only]
    new = [one for one in found if one.name not in servers.sources.tables]
    _show(path, found, new)
    if not new:
        click.echo("Nothing is to be done.")
        return
    for one in new:
        read_server(one.name, one.table)
    if dry_run:
        return
    if not agreed(f"Enter {len(new)} servers into {servers.sources.config_file}, and start each once?", yes=yes):
        fail("Nothing was changed.", "Add --yes to do it without asking.")
    import_servers(servers.sources.config_file, servers.store, {one.name: one.table for one in new})
    for one in new:
        _approve(servers, one, yes=yes)
    click.echo("Done. `dogubako import --undo` takes it back. A running server has them after its next start.")


def _show(path: Path, found: list[FoundServer], new: list[FoundServer]) -> None:
    click.echo(f"{path} has {len(found)} servers.")
    for one in found:
        what = one.table.get("url") or " ".join([one.table.get("command", ""), *one.table.get("args", [])])
        click.echo(f"- {one.name}: {what}" if one in new else f"- {one.name}: is there already, stays as it is")
        values = {**one.table.get("env", {}), **one.table.get("headers", {})}
        if values:
            click.echo(f"    with {', '.join(sorted(values))}")
        if plain := sorted(name for name, value in values.items() if "${" not in value):
            click.echo(f"    Written as it is: {', '.join(plain)}. Use ${{NAME}} or ${{file:PATH}} for what is secret.")
        for note in one.notes:
            click.echo(f"    {note}")


def _approve(servers: Servers, found: FoundServer, *, yes: bool) -> None:
    """Connect one server and approve its tools. One that does not work is entered and held back."""
    settings = read_server(found.name, found.table)
    later = f"Its tools are held back until: dogubako servers approve {found.name}"
    if settings.disabled:
        return
    try:
        outcome = asyncio.run(probe(found.name, resolve(found.name, settings, servers.sources.environ)))
    except MissingReferenceError as error:
        click.echo(f"{error} {later}")
        return
    if outcome.definitions is None:
        click.echo(f"{found.name} does not work now: {outcome.state.reason or outcome.state.name}. {later}")
        return
    pack = servers.made(found.name, settings)
    pack.look_at(outcome.definitions)
    click.echo(f"\n{found.name}:")
    show_tools(pack)
    if agreed(f"Approve these tools of {found.name}?", yes=yes):
        servers.accept(pack)
    else:
        click.echo(later)


def _undo(servers: Servers) -> None:
    removed = undo_import(servers.sources.config_file, servers.store)
    for name in removed:
        servers.store.forget(name)
    click.echo(f"Removed: {', '.join(removed)}.")
