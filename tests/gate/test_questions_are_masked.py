"""What a person is asked before something is destroyed holds no secret, also when nobody knows what would happen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from dogubako import Effect
from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import Conversation, ElicitRequest, ElicitResult, InputAnswer, InputRequests
from dogubako.tools import BaseTool, ToolArgs

from .sheds import shed_in

SECRET = "c4narySmithHasRightOfWay"


class Burn(BaseTool[ToolArgs]):
    """Burn it down."""

    name = "burn"
    effect = Effect.DESTROY
    timeout = 50
    knows = True

    async def execute(self, args: ToolArgs) -> str:
        return "burnt"

    async def foresee(self, args: ToolArgs) -> str:
        if not self.knows:
            await anyio.sleep_forever()
        return f"{SECRET} would burn."

    def consequence(self, args: ToolArgs) -> str:
        return f"Perhaps {SECRET} would burn."


class BurnBlindly(Burn):
    """Burn it down without looking."""

    name = "burn_blindly"
    knows = False


class _Person:
    """Says no, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def supports(self, capability: str) -> bool:
        return capability == "elicitation"

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.asked += [one.message for one in requests.values() if isinstance(one, ElicitRequest)]
        return dict.fromkeys(requests, ElicitResult(action="decline", content={}))


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        pytest.param("burn", "*** would burn. Go on?", id="foreseen"),
        pytest.param("burn_blindly", "Perhaps *** would burn. Go on?", id="not foreseen in time"),
    ],
)
async def test_a_secret_in_what_would_happen_is_not_shown(tmp_path: Path, tool: str, asked: str) -> None:
    person: Any = _Person()
    async with shed_in(tmp_path, Burn(), BurnBlindly()).running() as box:
        box.redactor.add(SECRET)
        call = ToolCall(name=tool, door="http", conversation=cast("Conversation", person))
        result = await box.pipeline.handle(call)

    assert (result.code, person.asked) == ("CONFIRMATION_REQUIRED", [asked])
