"""`BaseTool`: declares itself on the class, and its handler never raises."""

import asyncio
from typing import Any

import pytest
import structlog.testing
from pydantic import BaseModel, Field

from dogubako import Context, Effect
from dogubako.contract.conversation import InputRequired, RootsRequest
from dogubako.contract.errors import ApiError, ApiErrorContext, EmptyQuery, NotFoundError
from dogubako.output import Text
from dogubako.response.builder import ToolResponseBuilder
from dogubako.tools import BaseTool, NoArgs, ToolArgs, ToolResult


class GreetArgs(ToolArgs):
    name: str = Field(min_length=1, description="Whom to greet.")


class Greeting(BaseModel):
    text: str


class Greet(BaseTool[GreetArgs]):
    """Greet somebody.

    With a smile.
    """

    name = "greet-somebody"
    effect = Effect.READ
    output_model = Greeting

    async def execute(self, args: GreetArgs) -> Any:
        return Greeting(text=f"Hello {args.name}")


class Raises(BaseTool[NoArgs]):
    """Raise what it was made with."""

    name = "raises"

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def execute(self, args: NoArgs) -> Any:
        raise self.error


async def handled(error: BaseException) -> tuple[ToolResult, dict[str, Any]]:
    bound = Raises(error).bind(Context(client=None, responses=ToolResponseBuilder(), call_id="c1"))
    with structlog.testing.capture_logs() as events:
        result = await bound.handler(NoArgs())
    (event,) = events
    return result, dict(event)


def test_a_definition_is_derived_from_the_class() -> None:
    assert Greet().to_definition() == {
        "name": "greet-somebody",
        "title": "Greet somebody",
        "description": "Greet somebody.\n\nWith a smile.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1, "description": "Whom to greet."}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
    }


def test_a_subclass_keeps_the_arguments_of_its_parent_and_may_have_its_own_words() -> None:
    class GreetLoudly(Greet):
        """Greet with a shout."""

        name = "greet_loudly"

    class GreetInWords(Greet):
        description = "Said otherwise."

    assert GreetLoudly().args_model is GreetArgs
    assert GreetLoudly().description == "Greet with a shout."
    assert GreetInWords().description == "Said otherwise."


def test_a_tool_without_arguments_takes_an_empty_object() -> None:
    class Bare(BaseTool[Any]):
        """Do nothing."""

        name = "bare"

        async def execute(self, args: Any) -> Any:
            return None

    assert Bare().metadata.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


async def test_a_bound_tool_has_its_client_and_leaves_the_original_alone() -> None:
    original = Greet()
    bound = original.bind(Context(client="a client", responses=ToolResponseBuilder()))

    assert bound.client == "a client"
    assert not hasattr(original, "context")
    result = await bound.handler(GreetArgs(name="Hanako"))
    assert result.value == {"success": True, "message": "Done", "data": {"text": "Hello Hanako"}}


def test_a_tool_may_be_made_with_its_context() -> None:
    context: Context[None] = Context(client=None, responses=ToolResponseBuilder())

    assert Greet(context).context is context


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("private detail"), id="exception"),
        pytest.param(SystemExit("private detail"), id="SystemExit"),
        pytest.param(KeyboardInterrupt("private detail"), id="KeyboardInterrupt"),
        pytest.param(GeneratorExit("private detail"), id="GeneratorExit"),
        pytest.param(asyncio.CancelledError("private detail"), id="CancelledError that nobody asked for"),
        pytest.param(ExceptionGroup("private detail", [KeyError("a"), ValueError("b")]), id="group of two"),
        pytest.param(BaseExceptionGroup("private detail", [SystemExit(), KeyError("b")]), id="base group"),
        pytest.param(StopAsyncIteration("private detail"), id="StopAsyncIteration"),
    ],
)
async def test_whatever_a_tool_raises_the_answer_says_only_that_it_failed(error: BaseException) -> None:
    result, event = await handled(error)

    assert result.is_error
    assert [block["text"] for block in result.content] == ["Tool execution failed: raises"]
    assert result.meta == {"code": "TOOL_EXECUTION_ERROR", "retryable": False, "errorId": event["error_id"]}
    assert (event["event"], event["log_level"], event["call_id"]) == ("[raises] Error", "error", "c1")
    assert isinstance(event["exc_info"], BaseException)


async def test_a_domain_error_keeps_its_message_and_its_log_level() -> None:
    context = ApiErrorContext(operation="update", resource_type="workflow", resource_id="7", status_code=400)
    result, event = await handled(ApiError("Failed to update workflow: name", status_code=400, context=context))

    assert result.content[0]["text"] == "Failed to update workflow: name"
    assert (event["log_level"], event["operation"], event["resource_id"]) == ("error", "update", "7")

    result, event = await handled(EmptyQuery())
    assert (result.code, event["log_level"]) == ("EMPTY_QUERY", "warning")


async def test_a_group_of_one_is_that_one() -> None:
    error = ExceptionGroup("tasks", [ExceptionGroup("inner", [NotFoundError("Issue 8 not found")])])

    result, _ = await handled(error)

    assert (result.code, result.content[0]["text"]) == ("NOT_FOUND", "Issue 8 not found")


async def test_a_question_is_not_a_failure() -> None:
    bound = Raises(InputRequired({"a": RootsRequest()})).bind(Context(client=None, responses=ToolResponseBuilder()))

    with structlog.testing.capture_logs() as events:
        result = await bound.handler(NoArgs())

    assert (result.code, result.pending, events) == ("INPUT_REQUIRED", {"a": RootsRequest()}, [])


async def test_a_real_cancellation_passes_through() -> None:
    started = asyncio.Event()

    class Waits(BaseTool[NoArgs]):
        """Wait for ever."""

        name = "waits"

        async def execute(self, args: NoArgs) -> Any:
            started.set()
            await asyncio.Event().wait()

    bound = Waits().bind(Context(client=None, responses=ToolResponseBuilder()))
    task = asyncio.create_task(bound.handler(NoArgs()))
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_text_is_text_and_not_json() -> None:
    class Says(BaseTool[NoArgs]):
        """Say it."""

        name = "says"

        async def execute(self, args: NoArgs) -> Any:
            return Text(text="just words")

    bound = Says().bind(Context(client=None, responses=ToolResponseBuilder()))
    assert (await bound.handler(NoArgs())).value == "just words"


def test_a_destructive_tool_says_what_it_would_do() -> None:
    class Drop(BaseTool[NoArgs]):
        """Drop it."""

        name = "drop_table"
        effect = Effect.DESTROY

        async def execute(self, args: NoArgs) -> Any:
            return None

    assert Drop().consequence(NoArgs()) == "Drop table cannot be undone."
    assert "confirm" in Drop().to_definition()["inputSchema"]["properties"]
    assert "confirm" not in Drop().input_schema()["properties"]
