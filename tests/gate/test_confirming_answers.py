"""What a form brings back comes from a client: only a plain true is a yes, whatever else it may look like."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import Conversation, ElicitResult, InputAnswer, InputRequests, Sample
from dogubako.contract.errors import ConfirmationRequiredError
from dogubako.gate.gate import ask_person


class _Answering:
    """Answers every question in the same way."""

    def __init__(self, answer: InputAnswer) -> None:
        self._answer = answer

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return dict.fromkeys(requests, self._answer)


def wipe(answer: InputAnswer) -> ToolCall:
    return ToolCall(name="wipe", conversation=cast("Conversation", _Answering(answer)))


LOOKS_LIKE_A_YES: list[Any] = ["false", "no", "yes", "true", 1, [False], {"confirm": True}]


@pytest.mark.slow
@pytest.mark.parametrize("value", LOOKS_LIKE_A_YES, ids=repr)
async def test_only_true_itself_is_a_yes(value: Any) -> None:
    with pytest.raises(ConfirmationRequiredError, match="did not agree"):
        await ask_person(wipe(ElicitResult(action="accept", content={"confirm": value})), "All is lost.", "1.0.0")


async def test_an_answer_to_another_kind_of_question_is_a_no() -> None:
    with pytest.raises(ConfirmationRequiredError, match="did not agree"):
        await ask_person(wipe(Sample(text="confirm", model="any")), "All is lost.", "1.0.0")


async def test_true_is_a_yes() -> None:
    await ask_person(wipe(ElicitResult(action="accept", content={"confirm": True})), "All is lost.", "1.0.0")
