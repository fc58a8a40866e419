"""Tools that return hand-made results, in every way in which a tool can return something. Test-only."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dogubako import Context, Effect, Pack, tool
from dogubako.contract.conversation import ElicitRequest
from dogubako.contract.errors import DogubakoError
from dogubako.tools import BaseTool, Prompt, PromptMessage, Resource, ResourceTemplate, SchemaTool, ToolArgs, ToolResult


def secret() -> str:
    return os.environ["N8N_API_KEY"]


def _text(text: str, **more: Any) -> ToolResult:
    return ToolResult(content=({"type": "text", "text": text},), **more)


class BoastfulError(DogubakoError):
    """An error whose details are as large as its author likes."""

    code = "BOASTFUL"
    http_status = 400

    @property
    def details(self) -> list[dict[str, str]]:
        return [{"field": f"field {number} " * 50, "message": f"{secret()} " * 50} for number in range(5_000)]


LIES: dict[str, Callable[[], Any]] = {
    "1.2 million characters": lambda: _text("abcdefgh ijk" * 100_000, kind="text"),
    "1.2 million characters as blocks": lambda: _text("abcdefgh ijk" * 100_000),
    "100,000 blocks": lambda: ToolResult(content=({"type": "text", "text": "word"},) * 100_000),
    "100,000 videos": lambda: ToolResult(content=({"type": "video", "data": "AAAA"},) * 100_000),
    "large JSON": lambda: _text('{"success":true,"message":"m","data":[' + '"word",' * 200_000 + "1]}", kind="json"),
    "a video": lambda: ToolResult(content=({"type": "video", "data": "AAAA", "mimeType": "video/mp4"},)),
    "no base64": lambda: ToolResult(content=({"type": "image", "data": "%%%", "mimeType": "image/png"},)),
    "no blocks": lambda: ToolResult(content=()),
    "content that is no list": lambda: ToolResult(content=7),  # type: ignore[arg-type]
    "JSON that is none": lambda: _text("{", kind="json"),
    "the key": lambda: _text(f"the key is {secret()}", kind="text"),
    "the key in JSON": lambda: _text(f'{{"success":true,"message":"","data":"{secret()}"}}', kind="json"),
    "the key in a block": lambda: ToolResult(
        content=(
            {"type": "resource_link", "uri": f"x:{secret()}", "name": secret(), "_meta": {secret(): secret()}},
            {"type": secret()},
        )
    ),
    "the key in structured data": lambda: _text("done", structured={"key": secret()}),
    "a failure with the key": lambda: _text("x", is_error=True, error=DogubakoError(secret(), hint=secret())),
    "a failure without an error": lambda: _text(f"It failed with {secret()}", is_error=True),
    "an error as success": lambda: _text("all is well", error=DogubakoError(f"It failed with {secret()}")),
    "boastful details": lambda: _text("x", is_error=True, error=BoastfulError("It failed")),
    "a question that nobody put": lambda: ToolResult(
        content=(), pending={"a": ElicitRequest(message=secret(), schema={"type": "object", "properties": {}})}
    ),
}


class LieArgs(ToolArgs):
    how: str


@tool(effect=Effect.READ)
async def lie(how: str) -> Any:
    """Return a hand-made result from a function."""
    return LIES[how]()


class LyingHandler(BaseTool[LieArgs]):
    """Return a hand-made result from an own handler."""

    name = "lie_by_handler"
    effect = Effect.READ

    async def execute(self, args: LieArgs) -> Any:
        raise NotImplementedError

    async def handler(self, args: LieArgs) -> ToolResult:
        result: ToolResult = LIES[args.how]()
        return result


class ChangingHandler(LyingHandler):
    """Let the server build a result and change it afterwards."""

    name = "lie_by_change"

    async def execute(self, args: LieArgs) -> str:
        return "all is well"

    async def handler(self, args: LieArgs) -> ToolResult:
        built = await BaseTool.handler(self, args)
        lie: ToolResult = LIES[args.how]()
        if built.content and isinstance(lie.content, tuple) and lie.content:
            built.content[0].clear()
            built.content[0].update(lie.content[0])
        return msgspec.structs.replace(built, **{name: getattr(lie, name) for name in ("kind", "is_error", "error")})


async def _act(args: Mapping[str, Any], context: Context[Any]) -> Any:
    return LIES[args["how"]]()


_HOW = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
lie_by_schema = SchemaTool("lie_by_schema", "Return a hand-made result.", _HOW, _act, effect=Effect.READ, talks=False)


@tool(effect=Effect.READ)
async def lie_by_call(how: str, context: Context) -> Any:
    """Pass on the result of another tool."""
    return await context.tools.call("lie_by_handler", {"how": how})


@tool(effect=Effect.READ)
async def complain() -> str:
    """Raise an error with boastful details."""
    raise BoastfulError("It failed")


@tool(effect=Effect.READ)
async def chatter(context: Context) -> str:
    """Say too much while running."""
    await context.log("error", f"{secret()} " * 100_000)
    await context.progress(1, 2, f"{secret()} " * 100_000)
    await context.progress(float("nan"), float("nan"), "not a number")
    return "told"


async def _render(context: Context[Any], arguments: Mapping[str, str]) -> list[PromptMessage]:
    return [PromptMessage(content=LIES[arguments["how"]]())]


async def _read(context: Context[Any], variables: Mapping[str, str]) -> str:
    raise BoastfulError("It failed")


class LyingPack(Pack[Any, None]):
    name = "lying"
    tools = (lie, LyingHandler, ChangingHandler, lie_by_schema, lie_by_call, complain, chatter)
    prompts = (Prompt(name="lie", description="Lie.", render=_render),)
    resources = (Resource(uri="lie://details", name="details", read=_read),)
    resource_templates = (ResourceTemplate(uri_template="lie://long/{id}", name="long", read=_read),)


PACK = LyingPack()
