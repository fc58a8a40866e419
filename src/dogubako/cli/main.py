"""`dogubako`: the root command."""

import sys
from typing import Annotated, Final, Literal

import click

from dogubako._lazy import load
from dogubako._runner import run_to_the_end
from dogubako._version import __version__
from dogubako.cli.commands import Commands, argument, option, parameters_of
from dogubako.cli.options import Chosen, Config, Directory, Packs, ReadOnly, Sandbox, Tools, friendly, work_in
from dogubako.process_memory import without_collection
from dogubako.reload import Reloader
from dogubako.settings import SettingsError
from dogubako.transports.mcp.stdio import serve_stdio

Shell = Literal["bash", "zsh", "fish"]

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


def root(version: Annotated[bool, option("--version", help="Print the version.")] = False) -> None:
    if version:
        click.echo(__version__)
    elif click.get_current_context().invoked_subcommand is not None:
        return
    elif sys.stdin.isatty() and sys.stdout.isatty():
        click.echo(_WELCOME)
    else:
        stdio()
    raise click.exceptions.Exit


app = Commands(
    name="dogubako",
    help="道具箱: a toolbox for AI agents. A client that starts it without a command gets MCP over stdin and stdout.",
    callback=root,
    params=parameters_of(root),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    with without_collection():
        box = Chosen(tools=tools, packs=packs, read_only=read_only, sandbox=sandbox, config=config).open()
        box.gate.ship_audit(stdout=False)
        box.tasks.works = box.settings.tasks == "on"
    run_to_the_end(serve_stdio(box))


@friendly
def serve(
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
    host: Annotated[str | None, option(help="Address to bind to; default 127.0.0.1.")] = None,
    port: Annotated[int | None, option(help="Port; default 3000.", min=0, max=65535)] = None,
    allowed_hosts: Annotated[
        str | None, option("--allowed-hosts", help="More host names that clients may use, comma-separated.")
    ] = None,
    workers: Annotated[int, option(help="Processes that share the port.", min=1, max=64)] = 1,
    allow_unauthenticated: Annotated[
        bool, option("--allow-unauthenticated", help="Let others reach this server without a key.")
    ] = False,
    reload: Annotated[bool, option("--reload", help="Load tools files again when they change.")] = False,
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


@friendly
def worker(
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    config: Config = None,
    concurrency: Annotated[
        int | None, option(help="Tasks at once; default DOGUBAKO_TASK_CONCURRENCY.", min=1, max=999)
    ] = None,
) -> None:
    """Run tasks of the servers that share a Redis (DOGUBAKO_SHARED). It listens on no port."""
    box = Chosen(tools=tools, packs=packs, read_only=read_only, config=config).open()
    load("dogubako.server").work(box, concurrency=concurrency)


@friendly
def completion(shell: Annotated[Shell, argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the completion for a shell. For bash, add `eval "$(dogubako completion bash)"` to ~/.bashrc."""
    # Nobody else needs it.
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(app, {}, "dogubako", "_DOGUBAKO_COMPLETE").source())


app.register_late("demo", lambda: load("dogubako.cli.demo").demo)
app.register_late("serve", lambda: serve)
app.register_late("stdio", lambda: stdio)
app.register_late("worker", lambda: worker)
app.register_late("connect", lambda: load("dogubako.cli.connect").connect)
app.register_late("disconnect", lambda: load("dogubako.cli.connect").disconnect)
app.register_late("tools", lambda: load("dogubako.cli.tools").app)
app.register_late("doctor", lambda: load("dogubako.cli.doctor").doctor)
app.register_late("config", lambda: load("dogubako.cli.doctor").config)
app.register_late("servers", lambda: load("dogubako.cli.servers").app)
app.register_late("import", lambda: load("dogubako.cli.import_servers").import_command)
app.register_late("services", lambda: load("dogubako.cli.services").app)
app.register_late("keys", lambda: load("dogubako.cli.keys").app)
app.register_late("audit", lambda: load("dogubako.cli.audit").app)
app.register_late("n8n-nodes", lambda: load("dogubako.cli.n8n_nodes").app)
app.register_late("completion", lambda: completion)
