"""What `dogubako servers` and `dogubako services` do alike: show tools, enter, remove, approve, and sign in."""

import asyncio
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, Final, TypeVar

import click

from dogubako.cli.commands import option
from dogubako.cli.terminal import fail, plain, print_table
from dogubako.gateway.config_file import drop_servers, enter_servers
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.servers import Servers
from dogubako.gateway.sign_ins import ShowAddress, SignInFailed, SignIns

ResultT = TypeVar("ResultT")

# The exit code for tools that wait for approval.
HELD_BACK: Final = 3

Yes = Annotated[bool, option("--yes", "-y", help="Do it without asking.")]


def show_tools(pack: ServerPack) -> None:
    """Print what would be served of a server."""
    rows = [(tool.name, tool.effect.value, tool.description.split("\n", 1)[0][:100]) for tool in pack.preview()]
    print_table(("Tool", "Effect", "What it does"), rows, empty="It has no tools.")
    for fault in pack.definitions.faults:
        click.echo(plain(f"Left out: {fault}"))


def agreed(question: str, *, yes: bool) -> bool:
    """Whether the person agrees. In a pipe there is nobody to ask."""
    return yes or (sys.stdin.isatty() and click.confirm(question, err=True))


def _require_agreed(question: str, otherwise: str, *, yes: bool) -> None:
    if not agreed(question, yes=yes):
        fail(otherwise, "Add --yes to do it without asking." if not sys.stdin.isatty() else None)


def enter(servers: Servers, pack: ServerPack, table: dict[str, Any], *, yes: bool) -> None:
    """Show the tools, and after a yes enter the table into the settings file and approve them."""
    show_tools(pack)
    file = servers.sources.config_file
    _require_agreed(f"Enter {pack.name} into {file}, and approve these tools?", "Nothing was changed.", yes=yes)
    servers.accept(pack)
    enter_servers(file, {pack.name: table}, servers.sources.model.table)
    click.echo(f"{pack.name} is in the box: {len(pack.served)} tools. A running server has it after its next start.")


def drop(servers: Servers, name: str) -> None:
    """Remove a table from the settings file, and what is stored."""
    if name not in servers.sources.tables:
        servers.named(name)
    drop_servers(servers.sources.config_file, [name], servers.sources.model.table)
    servers.store.forget(name)
    click.echo(f"{name} is removed. A running server has it until its next start.")


def approve_held(servers: Servers, pack: ServerPack, tools: Sequence[str] | None, *, yes: bool) -> None:
    """Show what waits for approval, and approve it after a yes."""
    name = pack.name
    held = [one for one in pack.judgement.held if not tools or one.name in tools]
    instructions = pack.judgement.held_instructions if not tools else None
    skills = pack.judgement.held_skills if not tools else ()
    if not held and instructions is None and not skills:
        click.echo(f"Everything of {name} is approved.")
        return
    # Some try to give orders to whoever reads them, or to draw on the terminal.
    click.echo("These texts were written by others:")
    for one in held:
        click.echo(plain(f"\n{one.name}: {one.reason}\n{one.difference}"))
    if instructions is not None:
        click.echo(plain(f"\nIts instructions for agents are now:\n{instructions or '(none)'}"))
    for uri in skills:
        click.echo(plain(f"\n{uri}: a new or changed skill"))
    what = f"{len(held)} tools" + (f" and {len(skills)} skills" if skills else "")
    _require_agreed(f"\nApprove {what} of {name}?", "Nothing was approved.", yes=yes)
    servers.approve(name, tools or None)
    click.echo(f"Approved. {len(pack.served)} tools of {name} are served; a running server notices within seconds.")


def signed_out(sign_ins: SignIns, name: str) -> None:
    """Forget the tokens of a server."""

    async def sign_out() -> None:
        async with sign_ins.opened():
            await sign_ins.sign_out(name)

    asyncio.run(sign_out())
    click.echo(f"Signed out of {name}.")


def run_signed_in(servers: Servers, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run what connects servers, with the sign-ins that are stored for them."""

    async def run() -> ResultT:
        assert servers.sources.sign_ins is not None
        async with servers.sources.sign_ins.opened():
            return await work

    return asyncio.run(run())


def have_signed_in(sign_ins: SignIns, sign_in: Callable[[ShowAddress], Awaitable[bool]], nobody: str) -> None:
    """Have the person at this terminal sign in with a browser. `nobody` is said where nobody has to."""

    async def show(address: str) -> None:
        click.echo(f"Sign in at this address:\n{address}", err=True)
        webbrowser.open(address)

    async def signed_in() -> bool:
        async with sign_ins.opened():
            return await sign_in(show)

    try:
        if not asyncio.run(signed_in()):
            fail(nobody)
    except SignInFailed as error:
        fail(str(error))
