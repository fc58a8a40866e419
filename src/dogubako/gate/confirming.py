"""Is a deletion meant? Asked of the person where the client can ask, else of the caller by an argument."""

import json
from typing import Any, Final

from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import Answer, Question
from dogubako.contract.errors import ConfirmationRequiredError

# What a tool asks by itself has other names: an answer must not be taken for one to another question.
_QUESTION: Final = "dogubako_confirm"
_KEY: Final = "confirm"
# Nothing is required: who sends the form back empty has answered, and has not said yes.
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _KEY: {"type": "boolean", "title": "Go on?", "description": "Whether this is to be done.", "default": False}
    },
}


def can_ask(call: ToolCall) -> bool:
    """Whether there is a person behind the caller whom we can reach."""
    return call.conversation.supports("elicitation")


async def ask(call: ToolCall, what_would_happen: str, version: str = "") -> None:
    """Ask the person; anything but a clear yes is a no. A yes counts for this tool, version and arguments alone."""
    subject = json.dumps([call.name, version, dict(call.parameters)], sort_keys=True, default=str)
    question = Question(message=f"{what_would_happen} Go on?", schema=_FORM, subject=subject)
    answer = (await call.conversation.request({_QUESTION: question}))[_QUESTION]
    if not (isinstance(answer, Answer) and answer.accepted and answer.content.get(_KEY) is True):
        message = f"{what_would_happen} The user did not agree; nothing was done."
        raise ConfirmationRequiredError(message, hint="Do not try again unless the user asks for it.")
