"""`dogubako`: serve, look, call, check, connect."""

from typing import Annotated

import typer

from dogubako import __version__, worker_sharing
from dogubako.cli import audit, config, connect, doctor, keys, tools
from dogubako.cli.options import Chosen, Config, Packs, ReadOnly, Sandbox, Tools, friendly
from dogubako.ending import run_to_the_end
from dogubako.late import load
from dogubako.transports.stdio import serve_stdio

app = typer.Typer(
    name="dogubako",
    help="道具箱: a toolbox for AI agents. Without a command it speaks MCP over stdin and stdout.",
    invoke_without_command=True,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tools.app, name="tools")
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")
app.command()(config.config)
app.command()(doctor.doctor)
app.command()(connect.connect)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        stdio()


@app.command()
@friendly
def stdio(
    tools: Tools = None, packs: Packs = None, read_only: ReadOnly = None, sandbox: Sandbox = None, config: Config = None
) -> None:
    """Speak MCP over stdin and stdout; this is what an agent's client starts."""
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
    box = chosen.open()
    worker_sharing.share(chosen.overrides(), config)
    load("dogubako.serving").serve(box, workers=workers, allow_unauthenticated=allow_unauthenticated)
