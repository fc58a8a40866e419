"""`@tool`: what a typed function says is what the tool says."""

import threading
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from dogubako import Context, Effect, tool
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.tools import FunctionTool, ToolExample, ToolResult


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


async def call(made: FunctionTool[..., Any], **arguments: Any) -> ToolResult:
    registry = ToolRegistry()
    registry.register(made)
    Pipeline(registry)
    return await registry.execute(made.name, arguments)


async def test_an_async_function_runs_in_the_event_loop() -> None:
    @tool
    async def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert (await call(where)).value == threading.current_thread().name


async def test_a_plain_function_runs_in_a_thread_of_its_own() -> None:
    @tool
    def where() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert (await call(where)).value != threading.current_thread().name


async def test_the_context_is_filled_in_and_is_no_argument() -> None:
    @tool
    async def who(greeting: str, context: Context[None]) -> str:
        """Greet the caller."""
        return f"{greeting}, {context.caller.name} at the {context.door} door"

    assert list(who.metadata.input_schema["properties"]) == ["greeting"]
    assert who.talks
    assert (await call(who, greeting="Hello")).value == "Hello, anonymous at the python door"


async def test_arguments_arrive_as_the_types_that_were_asked_for() -> None:
    @tool
    async def paint(colour: Colour, points: list[Point], note: str = "none") -> dict[str, Any]:
        """Paint some points."""
        return {"colour": colour.name, "sum": sum(point.x + point.y for point in points), "note": note}

    result = await call(paint, colour="blue", points=[{"x": 1}, {"x": 2, "y": 3}])

    assert result.value["data"] == {"colour": "BLUE", "sum": 6, "note": "none"}


def test_a_string_in_the_annotation_is_the_description_of_the_argument() -> None:
    @tool
    async def say(
        text: Annotated[str, "What to say."],
        times: Annotated[int, Field(ge=1, le=9, description="How often.")] = 1,
        loud: bool = False,
    ) -> str:
        """Say it."""
        return text

    assert say.metadata.input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say."},
            "times": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1, "description": "How often."},
            "loud": {"type": "boolean", "default": False},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_everything_a_tool_can_say_of_itself_can_be_said_in_the_decorator() -> None:
    example = ToolExample(description="Zero", parameters={})

    @tool(
        name="remove-all",
        title="Remove everything",
        effect=Effect.DESTROY,
        idempotent=True,
        open_world=False,
        version="2.1.0",
        category="house",
        tags=("clean",),
        author="Hanako",
        examples=(example,),
        dependencies=("echo",),
        keywords={"ja": "全削除"},
        timeout=5,
        retry=1,
    )
    async def anything() -> None:
        """Remove everything
        that is there.
        """

    metadata = anything.metadata
    assert (metadata.name, metadata.title, metadata.version) == ("remove-all", "Remove everything", "2.1.0")
    assert metadata.description == "Remove everything\nthat is there."
    assert metadata.annotations == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert (metadata.category, metadata.tags, metadata.author) == ("house", ("clean",), "Hanako")
    assert (metadata.examples, metadata.dependencies, metadata.keywords) == ((example,), ("echo",), {"ja": "全削除"})
    assert (anything.timeout, anything.retry) == (5, 1)


def test_an_argument_may_be_called_like_a_method_of_our_models() -> None:
    @tool
    async def send(json: str, schema: str, copy: bool = False) -> str:
        """Send something."""
        return json + schema

    assert list(send.metadata.input_schema["properties"]) == ["json", "schema", "copy"]


async def _args(*texts: str) -> str:
    return ""


async def _kwargs(**texts: str) -> str:
    return ""


async def _positional(text: str, /) -> str:
    return text


async def _untyped(text) -> str:  # type: ignore[no-untyped-def]
    return str(text)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        pytest.param(_args, r"_args: \*texts cannot be an argument of a tool", id="star arguments"),
        pytest.param(_kwargs, r"_kwargs: \*texts cannot be an argument of a tool", id="keyword arguments"),
        pytest.param(_positional, r"_positional: \*text cannot be an argument of a tool", id="positional only"),
        pytest.param(_untyped, "_untyped: parameter text needs a type", id="no type"),
    ],
)
def test_a_signature_that_no_schema_can_describe_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        tool(function)


async def test_an_argument_that_never_ends_in_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="contains itself"):
        _ = tool(_walk).metadata.input_schema


class Node(BaseModel):
    children: list["Node"] = []


async def _walk(root: Node) -> str:
    """Walk."""
    return ""
