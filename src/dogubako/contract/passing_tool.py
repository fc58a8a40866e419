"""`PassingTool`: stands for another tool, and is never run itself."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from dogubako.contract.metadata import Effect
from dogubako.contract.tool import ArgsT, BaseTool


class PassingTool(BaseTool[ArgsT]):
    """The path replaces a call of it by the call that it names.

    So everything is that other tool's: what may be done, how long it takes, how an error reads.
    """

    effect = Effect.DELEGATE
    # The argument that names the other tool.
    target: ClassVar[str] = "name"

    @abstractmethod
    def passed_on(self, args: ArgsT) -> tuple[str, Mapping[str, Any]]:
        """The name of the other tool, and its arguments."""

    async def execute(self, args: ArgsT) -> Any:
        """Outside of the path, where nothing replaces the call."""
        name, arguments = self.passed_on(args)
        return await self.context.tools.call(name, arguments)
