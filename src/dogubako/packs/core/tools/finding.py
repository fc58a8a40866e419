"""Tools that find tools: for agents that see only a few of many."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.contract.other_tools import FoundTool
from dogubako.contract.output import Message, Output, Text
from dogubako.contract.passing_tool import PassedOn, PassingTool
from dogubako.contract.tool import BaseTool, ToolArgs

_LONGEST_LINE: Final = 160
_MOST_SHOWN_PARAMETERS: Final = 6


class SearchToolsArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=2_000, description="What you want to do, in words.")
    category: str | None = Field(None, description="Only tools of this category, for example 'redmine'.")
    limit: int = Field(8, ge=1, le=50, description="How many at most.")


class SearchTools(BaseTool[SearchToolsArgs]):
    """Find tools for a task. Most tools of this server are not listed: search, then use call_tool."""

    name = "search_tools"
    effect = Effect.READ
    open_world = False
    keywords = {"ja": "ツール 検索"}

    async def execute(self, args: SearchToolsArgs) -> Text:
        found = await self.context.tools.search(args.query, category=args.category)
        if not found:
            total = self.context.tools.count()
            return Text(text=f"None of {total} tools fits. Try other words, or fewer.", count=0)
        shown = found[: args.limit]
        lines = [*(_line(one) for one in shown), "", _how_to_go_on(shown, len(found))]
        return Text(text="\n".join(lines), count=len(shown))


class DescribeToolArgs(ToolArgs):
    name: str = Field(min_length=1, description="Name of the tool, as search_tools shows it.")


class DescribeTool(BaseTool[DescribeToolArgs]):
    """Show a tool's arguments and what it does, before call_tool."""

    name = "describe_tool"
    effect = Effect.READ
    open_world = False
    keywords = {"ja": "ツール 説明 引数"}

    async def execute(self, args: DescribeToolArgs) -> Output:
        metadata = self.context.tools.describe(args.name)
        shown = {
            "name": metadata.name,
            "description": metadata.description,
            "annotations": metadata.annotations,
            "inputSchema": dict(metadata.input_schema),
        }
        example = metadata.examples[0].parameters if metadata.examples else {}
        call = example_call("call_tool", name=metadata.name, arguments=dict(example))
        return Output(
            data=shown,
            message=Message(en="Tool described", ja="ツールの説明"),
            guidance=Guidance(message="Call it like this.", example=call),
        )


class CallToolArgs(ToolArgs):
    name: str = Field(min_length=1, description="Name of the tool, as search_tools shows it.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Its arguments.")


class CallTool(PassingTool[CallToolArgs]):
    """Call any tool by name. A wrong argument is answered with the tool's schema."""

    name = "call_tool"
    keywords = {"ja": "ツール 呼び出し 実行"}

    def passed_on(self, args: CallToolArgs) -> PassedOn:
        if args.name == self.name:
            raise ValidationError.of("name", "Invalid value for parameter name: it must be another tool")
        return PassedOn(args.name, args.arguments)


def _line(found: FoundTool) -> str:
    """`create_issue(project_id, subject, …): Create an issue.`"""
    said = found.metadata.description.split("\n", 1)[0]
    sentence = said.split(". ", 1)[0].rstrip(".")
    short = sentence if len(sentence) <= _LONGEST_LINE else f"{sentence[:_LONGEST_LINE]}…"
    return f"{_signature(found.metadata)}: {short}"


def _signature(metadata: ToolMetadata) -> str:
    """Required arguments by name; that there are others is a mark only."""
    required = [one.name for one in metadata.parameters if one.required]
    shown = required[:_MOST_SHOWN_PARAMETERS]
    more = ["…"] if len(metadata.parameters) > len(shown) else []
    return f"{metadata.name}({', '.join([*shown, *more])})"


def _how_to_go_on(shown: Sequence[FoundTool], total: int) -> str:
    best = shown[0].metadata.name
    left = f"{total - len(shown)} more fit less well. " if total > len(shown) else ""
    return f"{left}{example_call('describe_tool', name=best)} shows its arguments; call_tool(name, arguments) calls it."


TOOLS = (SearchTools, DescribeTool, CallTool)
