"""`PassingTool`: stands for another tool, and is never run itself."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from dogubako.contract.call import Resume
from dogubako.contract.metadata import Effect
from dogubako.contract.tool import ArgsT, BaseTool


class PassedOn(NamedTuple):
    """The call that stands in for one of a passing tool."""

    name: str
    arguments: Mapping[str, Any]
    # Where in the answer to begin, for a tool that reads on.
    resume: Resume | None = None


class PassingTool(BaseTool[ArgsT]):
    """The path replaces a call of it by the call that it names.

    So everything is that other tool's: what may be done, how long it takes, how an error reads.
    """

    effect = Effect.DELEGATE
    # The argument that names the other tool.
    target: ClassVar[str] = "name"

    @abstractmethod
    def passed_on(self, args: ArgsT) -> PassedOn:
        """The other tool, and its arguments."""

    async def execute(self, args: ArgsT) -> Any:
        """Outside of the path, where nothing replaces the call."""
        return await self.context.tools.call(*self.passed_on(args))
