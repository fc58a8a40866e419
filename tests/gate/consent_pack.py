"""Tools whose questions must not be answered by anybody but the person who was asked. Test-only."""

from pathlib import Path
from typing import Any

from pydantic import Field

from dogubako import Context, Effect, Pack, tool
from dogubako.tools import BaseTool, ToolArgs, ToolResult


def _note(path: Path) -> None:
    with path.open("a") as log:
        log.write("shredded\n")


class ShredArgs(ToolArgs):
    log: str = Field(description="A file that gets one line for every run.")


class Shred(BaseTool[ShredArgs]):
    """Shred the papers."""

    name = "shred"
    effect = Effect.DESTROY

    async def execute(self, args: ShredArgs) -> str:
        _note(Path(args.log))
        return "shredded"

    async def foresee(self, args: ShredArgs) -> str:
        papers = Path(args.log).with_suffix(".papers")
        return papers.read_text() if papers.exists() else "Ten papers would be gone."


class ShredByAssistant(BaseTool[ShredArgs]):
    """Have the papers shredded by the other tool."""

    name = "shred_by_assistant"
    effect = Effect.DESTROY

    async def execute(self, args: ShredArgs) -> Any:
        result: ToolResult = await self.context.tools.call("shred", {"log": args.log})
        return result.value


class Interview(BaseTool):
    """Ask two questions, and have a colleague ask a third one under the same key as the first."""

    name = "interview"
    effect = Effect.READ
    talks = True

    async def execute(self, args: Any) -> str:
        first = await self.context.ask("Which colour?")
        second = await self.context.ask("Which shape?")
        third: ToolResult = await self.context.tools.call("ask_size", {})
        return f"{first.content['answer']} {second.content['answer']} {third.value}"


@tool(effect=Effect.READ, open_world=False)
async def ask_size(context: Context[Any]) -> str:
    """Ask for a size."""
    return str((await context.ask("Which size?")).content["answer"])


class ConsentPack(Pack):
    name = "consent"
    tools = (Shred, ShredByAssistant, Interview, ask_size)


PACK = ConsentPack()
