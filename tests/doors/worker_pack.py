"""Tools that tell which worker process answers."""

import os

from dogubako import Effect, ToolContext, tool

read = tool(effect=Effect.READ, open_world=False)


@read
async def which_worker() -> str:
    """Name the process."""
    return str(os.getpid())


@read
async def ask_as_worker(context: ToolContext) -> str:
    """Ask in the name of this process, and tell which process heard the answer."""
    answer = await context.ask(str(os.getpid()))
    return f"{os.getpid()} {answer.content['answer']}"
