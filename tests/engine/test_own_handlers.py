"""A tool may bring a handler of its own. What it returns or raises is treated like what `execute` does."""

from collections.abc import Callable
from typing import Any

import pytest

from dogubako import tool
from dogubako.contract.errors import NotFoundError
from dogubako.response.builder import ToolResponseBuilder
from dogubako.testing import assert_mcp_tool_response
from dogubako.tools import BaseTool, NoArgs, ToolResult

from .boxes import box_of


def handled_by(act: Callable[[], Any]) -> type[BaseTool[Any, Any]]:
    class Own(BaseTool[NoArgs]):
        """Handle it."""

        name = "own"

        async def execute(self, args: NoArgs) -> str:
            return "from execute"

        async def handler(self, args: NoArgs) -> ToolResult:
            result: ToolResult = act()
            return result

    return Own


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("act", "code", "text"),
    [
        pytest.param(lambda: "a text", "OK", "a text", id="no result at all"),
        pytest.param(lambda: None, "OK", '{"success":true,"message":"Done","data":null}', id="nothing"),
        pytest.param(lambda: _raise(NotFoundError("gone")), "NOT_FOUND", "gone", id="an error of ours"),
        pytest.param(
            lambda: _raise(SystemExit(3)), "TOOL_EXECUTION_ERROR", "Tool execution failed: own", id="the end of it all"
        ),
        pytest.param(object, "TOOL_EXECUTION_ERROR", "Tool execution failed: own", id="no answer"),
    ],
)
async def test_whatever_an_own_handler_does_is_answered(act: Callable[[], Any], code: str, text: str) -> None:
    result = await box_of(handled_by(act)).call("own")

    assert (result.code, result.content[0]["text"]) == (code, text)
    assert_mcp_tool_response(result.to_mcp())


async def test_an_own_handler_may_add_to_ours() -> None:
    class Own(BaseTool[NoArgs]):
        """Handle it."""

        name = "own"

        async def execute(self, args: NoArgs) -> str:
            return "from execute"

        async def handler(self, args: NoArgs) -> ToolResult:
            return await super().handler(args)

    assert (await box_of(Own).call("own")).value == "from execute"


async def test_an_answer_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    success = ToolResponseBuilder.success

    def counted(self: ToolResponseBuilder, answer: Any) -> ToolResult:
        built.append(answer)
        return success(self, answer)

    @tool
    async def plain() -> str:
        """Answer."""
        return "once"

    monkeypatch.setattr(ToolResponseBuilder, "success", counted)
    await box_of(plain).call("plain")

    assert built == ["once"]
