"""What a person is asked keeps our secrets too, and so does what is refused instead."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dogubako import Effect
from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import (
    SILENCE,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequests,
    NullConversation,
)
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolPack

SECRET = "c4nary" * 8


class Betray(BaseTool):
    """Delete something, and say too much about it."""

    name = "betray"
    effect = Effect.DESTROY

    async def execute(self, args: Any) -> str:
        return "gone"

    async def foresee(self, args: Any) -> str:
        return f"The service says: X-Api-Key: abcdefgh and {SECRET} and https://ann:hidden@h.example would be gone."


class Listener(NullConversation):
    """Somebody who can be asked, and says no."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def supports(self, capability: str) -> bool:
        return capability == "elicitation"

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.heard += [one.message for one in requests.values() if isinstance(one, ElicitRequest)]
        return {key: ElicitResult(action="decline", content={}) for key in requests}


def box_in(folder: Path) -> Toolbox:
    sources = Sources(overrides={"data_dir": folder, "request_state_key": SECRET}, environ={}, env_file=None)
    return build(sources, packs=[ToolPack("test", (Betray,))])


@pytest.mark.parametrize("asked", [True, False])
async def test_a_question_holds_no_secret(tmp_path: Path, asked: bool) -> None:
    listener = Listener()
    call = ToolCall(name="betray", conversation=listener if asked else SILENCE)
    async with box_in(tmp_path).running() as box:
        answer = await box.pipeline.handle(call)

    said = " ".join([*listener.heard, str(answer.content), str(answer.meta)])
    assert answer.code == "CONFIRMATION_REQUIRED" and bool(listener.heard) is asked
    assert "would be gone" in said and "***" in said
    assert not any(secret in said for secret in ("c4nary", "abcdefgh", "hidden"))
