"""Turn the results and errors of a server into answers and errors of ours."""

import re
from typing import Any, Final

from dogubako.contract.errors import (
    AnswerTooLargeError,
    ApiError,
    ApiErrorContext,
    CapabilityRequiredError,
    DogubakoError,
    ToolNotFoundError,
    ValidationError,
)
from dogubako.contract.output import Blocks
from dogubako.gateway.link import AnswerTooLong, Message, UpstreamError, UpstreamLost

_LONGEST_ERROR: Final = 4_000
_INVALID_PARAMS: Final = -32602
_MISSING_CAPABILITY: Final = -32021
# A server of 2025-11-25 wants its user to open a page before it answers.
_PAGE_REQUIRED: Final = -32042
_CAPABILITIES: Final = frozenset({"elicitation", "sampling", "roots"})
_PAGE: Final = re.compile(r"https?://\S{1,2000}")
# SDKs write a protocol error of a tool into the text of a result.
_ERROR_IN_TEXT: Final = re.compile(r"^\s*MCP error (-?\d{1,6}):\s*", re.ASCII)
# Servers report an unknown tool in four shapes. The text only makes us look at the list again; the list decides.
_MAYBE_UNKNOWN_TOOL: Final = re.compile(r"(?i)\btool\b.{0,200}\b(not found|unknown|does not exist)|\bunknown tool\b")


class ToolFailure(Exception):  # noqa: N818 - carries what the server said, before it is put in our words
    """The server answered that the call failed: with a JSON-RPC error, or with a result that is marked as an error."""

    def __init__(self, text: str, code: int | None = None, data: Any = None) -> None:
        super().__init__(text)
        self.text = text
        self.code = code
        self._data = data

    @property
    def may_mean_unknown_tool(self) -> bool:
        return self.code in (_INVALID_PARAMS, -32601, -32603) or bool(_MAYBE_UNKNOWN_TOOL.search(self.text[:1000]))

    def in_our_words(self, server: str) -> DogubakoError:
        if self.code == _INVALID_PARAMS:
            message = f"Invalid parameters: the server '{server}' says: {self._short}"
            return ValidationError.of("parameters", message, hint="Correct the arguments and call again.")
        if self.code == _MISSING_CAPABILITY:
            required = self._data.get("requiredCapabilities") if isinstance(self._data, dict) else None
            name = next(iter(required), "") if isinstance(required, dict) else ""
            return CapabilityRequiredError(name if name in _CAPABILITIES else "elicitation")
        if self.code == _PAGE_REQUIRED and (pages := _pages_in(self._data)):
            message = f"The server '{server}' wants its user to open a page first: {self._short}"
            return ApiError(message, hint=f"Have the user open {pages[0]}, then call again.")
        context = ApiErrorContext(operation="call tool", error_details=self._short)
        return ApiError(f"The server '{server}' reports an error: {self._short}", context=context)

    @property
    def _short(self) -> str:
        text = self.text.strip() or "it gives no reason."
        return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def _pages_in(data: Any) -> list[str]:
    """The web addresses that an error asks the user to open."""
    asked = data.get("elicitations") if isinstance(data, dict) else None
    urls = [one.get("url") for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return [one for one in urls if isinstance(one, str) and _PAGE.fullmatch(one)]


def blocks_of(result: Message) -> Blocks:
    """The answer of a tool. Raises `ToolFailure` for a result that is marked as an error.

    The response builder checks each block, and replaces one of an unknown type by a note.
    """
    content = result.get("content")
    blocks: list[Any] = content if isinstance(content, list) else []
    if result.get("isError"):
        text = "\n".join(one["text"] for one in blocks if isinstance(one, dict) and isinstance(one.get("text"), str))
        marked = _ERROR_IN_TEXT.match(text)
        raise ToolFailure(text[marked.end() :], int(marked[1])) if marked else ToolFailure(text)
    structured = result.get("structuredContent")
    if not blocks and structured is None:
        blocks = [{"type": "text", "text": "[The server answered without content.]"}]
    return Blocks(content=blocks, structured=structured)


def failure_of(error: UpstreamError) -> ToolFailure:
    return ToolFailure(error.message, error.code, error.data)


def tool_is_gone(server: str) -> ToolNotFoundError:
    """The error for a tool that was listed, and that the server no longer has."""
    error = ToolNotFoundError(
        f"The server '{server}' no longer has this tool.", hint="List the tools again, or search for another one."
    )
    error.asked_directly = False
    return error


def lost(server: str, error: UpstreamLost, *, repeatable: bool) -> DogubakoError:
    """The error for a call whose answer was lost. Only a call that changed nothing may be repeated by the engine."""
    if isinstance(error, AnswerTooLong):
        return AnswerTooLargeError(
            f"The answer of the server '{server}' was discarded: {error.reason}", hint="Ask for less at once."
        )
    certain = not error.may_have_run
    hint = "Try again." if repeatable or certain else "It may have been done all the same: look first."
    return ApiError(
        f"The connection to the server '{server}' was lost: {error.reason}",
        unreachable=repeatable or certain,
        context=ApiErrorContext(operation="call tool", error_details=error.reason),
        hint=hint,
    )
