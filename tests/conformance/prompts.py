"""Prompts: plain, with arguments, with content, and one that asks first."""

from collections.abc import Mapping

from dogubako import Context
from dogubako.output import Embedded, Image
from dogubako.tools import Prompt, PromptArgument, PromptMessage

from .content import PNG
from .forms import CONTEXT

Blanks = Mapping[str, str]


async def _simple(context: Context, blanks: Blanks) -> list[PromptMessage]:
    return [PromptMessage(content="This is a simple prompt for testing.")]


async def _with_arguments(context: Context, blanks: Blanks) -> list[PromptMessage]:
    return [PromptMessage(content=f"Prompt with arguments: arg1='{blanks['arg1']}', arg2='{blanks['arg2']}'")]


async def _with_resource(context: Context, blanks: Blanks) -> list[PromptMessage]:
    body = "Embedded resource content for testing."
    return [
        PromptMessage(content=Embedded(uri=blanks["resourceUri"], body=body, mime_type="text/plain")),
        PromptMessage(content="Please process the embedded resource above."),
    ]


async def _with_image(context: Context, blanks: Blanks) -> list[PromptMessage]:
    return [
        PromptMessage(content=Image(data=PNG, mime_type="image/png")),
        PromptMessage(content="Please analyze the image above."),
    ]


async def _asking(context: Context, blanks: Blanks) -> list[PromptMessage]:
    answer = await context.ask("What context should the prompt use?", CONTEXT, key="user_context")
    return [PromptMessage(content=f"Use this context: {answer.content.get('context', 'none')}")]


async def _values(context: Context, value: str, others: Blanks) -> list[str]:
    return [one for one in ("testValue1", "testValue2") if one.startswith(value)]


PROMPTS = (
    Prompt(name="test_simple_prompt", description="A prompt without blanks.", render=_simple),
    Prompt(
        name="test_prompt_with_arguments",
        description="A prompt with two blanks.",
        arguments=(
            PromptArgument(name="arg1", description="The first blank.", required=True, complete=_values),
            PromptArgument(name="arg2", description="The second blank.", required=True, complete=_values),
        ),
        render=_with_arguments,
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="A prompt that carries a resource.",
        arguments=(PromptArgument(name="resourceUri", description="Address of the resource.", required=True),),
        render=_with_resource,
    ),
    Prompt(name="test_prompt_with_image", description="A prompt that carries a picture.", render=_with_image),
    Prompt(name="test_input_required_result_prompt", description="A prompt that asks first.", render=_asking),
)
