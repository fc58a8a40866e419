"""Tools about answers themselves."""

from typing import Any

from pydantic import Field

from dogubako.contract.call import Resume
from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.passing_tool import PassedOn, PassingTool
from dogubako.contract.tool import ToolArgs


class ReadMoreArgs(ToolArgs):
    tool: str = Field(min_length=1, description="The tool whose answer was cut.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="The arguments of that call.")
    path: str = Field("", description="Which part was cut, as the answer named it; empty for the answer itself.")
    offset: int = Field(0, ge=0, description="How many items, fields or characters of it to leave out.")


class ReadMore(PassingTool[ReadMoreArgs]):
    """Show what an answer left out. An answer that was cut names the exact call."""

    name = "read_more"
    # Only answers of tools that read can be read on.
    effect = Effect.READ
    target = "tool"

    def passed_on(self, args: ReadMoreArgs) -> PassedOn:
        if args.tool == self.name:
            raise ValidationError.of("tool", "Invalid value for parameter tool: it must be the tool that was cut")
        return PassedOn(args.tool, args.arguments, Resume(path=args.path, offset=args.offset))


TOOLS = (ReadMore,)
