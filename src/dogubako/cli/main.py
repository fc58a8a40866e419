"""`dogubako`: the root command."""

import sys
from typing import Annotated, Final

import typer

from dogubako._lazy import load
from dogubako._runner import run_to_the_end
from dogubako._version import __version__
from dogubako.cli import audit, connect, demo, doctor, import_servers, keys, n8n_nodes, servers, services, tools
from dogubako.cli.options import Chosen, Config, Directory, Packs, ReadOnly, Sandbox, Tools, friendly, work_in
from dogubako.reload import Reloader
from dogubako.settings import SettingsError
from dogubako.transports.mcp.stdio import serve_stdio

# For a person who types the bare command. A client starts it with pipes, and gets MCP.
_WELCOME: Final = """\
Dogubako (道具箱) is a server that gives AI agents tools: n8n, Redmine, the web, and your own.

  dogubako demo                          a tour of the tools, without any account
  dogubako serve --sandbox               start the server: MCP at http://127.0.0.1:3000/mcp, REST at /v1
  dogubako connect claude-code --write   let Claude Code, Cursor, VS Code, … start it
  dogubako tools list                    all tools, and what is missing to use them
  dogubako doctor                        check settings and services
  dogubako --help                        all commands

Without a terminal, `dogubako` alone speaks MCP over stdin and stdout."""

app = typer.Typer(
    name="dogubako",
    help="道具箱: a toolbox for AI agents. A client that starts it without a command gets MCP over stdin and stdout.",
    invoke_without_command=True,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tools.app, name="tools")
app.add_typer(keys.app, name="keys")
app.add_typer(servers.app, name="servers")
app.add_typer(services.app, name="services")
app.add_typer(audit.app, name="audit")
app.add_typer(n8n_nodes.app, name="n8n-nodes")
app.command()(doctor.config)
app.command()(doctor.doctor)
app.command()(connect.connect)
app.command()(connect.disconnect)
app.command()(demo.demo)
app.command("import")(import_servers.import_command)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        typer.echo(_WELCOME)
    else:
        stdio()


@app.command()
@friendly
def stdio(
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
    directory: Directory = None,
) -> None:
    """Speak MCP over stdin and stdout; this is what an agent's client starts."""
    work_in(directory)
    box = Chosen(tools=tools, packs=packs, read_only=read_only, sandbox=sandbox, config=config).open()
    run_to_the_end(serve_stdio(box))


@app.command()
@friendly
def serve(
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to bind to; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; default 3000.", min=0, max=65535)] = None,
    allowed_hosts: Annotated[
        str | None, typer.Option("--allowed-hosts", help="More host names that clients may use, comma-separated.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that share the port.", min=1, max=64)] = 1,
    allow_unauthenticated: Annotated[
        bool, typer.Option("--allow-unauthenticated", help="Let others reach this server without a key.")
    ] = False,
    reload: Annotated[bool, typer.Option("--reload", help="Load tools files again when they change.")] = False,
) -> None:
    """Serve HTTP: MCP at /mcp, REST at /v1, its description at /docs."""
    chosen = Chosen(
        tools=tools,
        packs=packs,
        read_only=read_only,
        sandbox=sandbox,
        config=config,
        host=host,
        port=port,
        allowed_hosts=allowed_hosts,
    )
    if reload and workers > 1:
        raise SettingsError("--reload watches tools files in one process; leave --workers out.")
    box = chosen.open()
    if reload:
        box.background.append(Reloader(box).run)
    load("dogubako.server").serve(box, workers=workers, allow_unauthenticated=allow_unauthenticated)
