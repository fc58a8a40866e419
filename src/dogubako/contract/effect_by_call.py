"""Tools whose effect depends on the arguments of a call, such as one that sends any HTTP method."""

from typing import Any

from dogubako.contract.tool import BaseTool


class EffectByCall:
    """Lists show it with `Effect.DELEGATE`; each call is checked and run as a tool with its own effect."""

    def for_call(self, arguments: Any) -> BaseTool[Any, Any]:
        """The tool with the effect of this call: the same object for the same effect.

        The arguments are as they were received: nobody has validated them yet.
        """
        raise NotImplementedError
