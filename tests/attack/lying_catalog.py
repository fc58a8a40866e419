"""Resources, prompts and completions that return whatever they should not. Test-only."""

import asyncio
import os
from typing import Any

from dogubako import Pack
from dogubako.tools import Prompt, PromptArgument, PromptMessage, Resource, ResourceTemplate

_SECRET = os.environ.get("N8N_API_KEY", "n8n-key-4711-nobody-may-see")


class Text(str):
    """A string that lies about itself."""

    def __str__(self) -> str:
        raise RuntimeError(_SECRET)


BODIES: dict[str, Any] = {
    "huge": "lorem ipsum " * 500_000,
    "huge bytes": b"\x00\xff" * 2_000_000,
    "large bytes": b"\x00\xff" * 100_000,
    "wide": "ﷺ" * 200_000,
    "nothing": None,
    "a number": 5,
    "data": {"a": [1, float("nan")], "key": _SECRET},
    "a list": [1, 2],
    "secret": f"the key is {_SECRET}",
    "secret bytes": f"the key is {_SECRET}".encode(),
    "half characters": "\ud800 and \udfff",
    "controls": "\x00\x01\x1b[31m",
    "empty": "",
    "empty bytes": b"",
    "not text": b"\xff\xfe\x00",
    "a subclass": Text("lorem"),
    "a tuple": ("a", "b"),
    "many lines": "\n" * 1_000_000,
}
RAISED: dict[str, BaseException] = {
    "raises": RuntimeError(_SECRET),
    "exits": SystemExit(3),
    "interrupts": KeyboardInterrupt(),
    "no exception of Python's own": BaseException(_SECRET),
    "a group of those": BaseExceptionGroup("several", [BaseException(_SECRET)]),
    "cancels": asyncio.CancelledError(),
    "group": BaseExceptionGroup("several", [RuntimeError(_SECRET)]),
    "deep": RecursionError("lorem" * 100_000),
    "stops": StopAsyncIteration(),
}
MESSAGES: dict[str, Any] = {
    "huge": [PromptMessage(content="lorem ipsum " * 300_000)],
    "many": [PromptMessage(content="lorem")] * 200_000,
    "many large": [PromptMessage(content="lorem ipsum " * 10_000)] * 50,
    "a system message": [PromptMessage(content="lorem", role="system")],  # type: ignore[arg-type]
    "no text": [PromptMessage(content=None)],  # type: ignore[arg-type]
    "data": [PromptMessage(content={"key": _SECRET})],  # type: ignore[arg-type]
    "nothing": None,
    "no messages": [],
    "a text": "lorem ipsum",
    "numbers": [1, 2, 3],
    "secret": [PromptMessage(content=f"the key is {_SECRET}")],
    "half characters": [PromptMessage(content="\ud800")],
}
VALUES: dict[str, Any] = {
    "huge": ["lorem ipsum " * 300_000] * 3,
    "many": ["a"] * 300_000,
    "numbers": [1, 2],
    "nothing": None,
    "a text": "lorem",
    "secret": [_SECRET, f"x{_SECRET}"],
    "secret at the cut": ["x" * 490 + _SECRET],
    "half characters": ["\ud800"],
    "data": [{"a": 1}],
}
CASES = {"read": [*BODIES, *RAISED], "prompt": [*MESSAGES, *RAISED], "complete": [*VALUES, *RAISED]}


def _lie(table: dict[str, Any], how: str) -> Any:
    if how in RAISED:
        raise RAISED[how]
    return table[how]


async def _read(context: Any, variables: Any) -> Any:
    return _lie(BODIES, variables["how"])


async def _render(context: Any, arguments: Any) -> Any:
    return _lie(MESSAGES, arguments["how"])


async def _complete(context: Any, value: str, others: Any) -> Any:
    return _lie(VALUES, value)


class LyingCatalog(Pack[Any, Any]):
    name = "liar"
    resources = (Resource(uri="lie://fixed", name="fixed", read=_read),)
    resource_templates = (
        ResourceTemplate(uri_template="lie://read/{how}", name="lie", read=_read, completions={"how": _complete}),
        ResourceTemplate(uri_template="lie://many/{a}-{b}-{c}-{d}-{e}.{f}", name="many", read=_read),
    )
    prompts = (
        Prompt(
            name="lie",
            description="Lie.",
            render=_render,
            arguments=(PromptArgument(name="how", description="How?", complete=_complete),),
        ),
    )


PACK = LyingCatalog()
