"""A pack with a secret, and tools that spill it in every way a tool can."""

import os
from collections.abc import Callable
from typing import Any, Literal

import structlog
from pydantic import SecretStr

from dogubako import Context, Effect, Pack, tool
from dogubako.contract import errors
from dogubako.output import Embedded, Json, Link, Markdown, Message, Mixed, Text, Xml, XmlElement
from dogubako.tools import PackSettings, Prompt, PromptMessage, Resource, setting

# Not a setting of ours, but everything about them says that they are secret.
FOREIGN = {
    "url": "Zr8-in-a-url",
    "header": "Zr8-in-a-header",
    "bearer": "Zr8-after-bearer.x.y",
    "query": "Zr8-in-a-query",
}

log = structlog.get_logger("dogubako.tool")


class CanarySettings(PackSettings):
    key: SecretStr = setting(SecretStr(""), "CANARY_KEY", "The secret that must not be seen.")


def _caused(key: str) -> BaseException:
    error = RuntimeError("outer")
    error.__cause__ = ValueError(f"inner {key}")
    return error


FAILURES: dict[str, Callable[[str], BaseException]] = {
    "upstream message": lambda key: errors.ApiError(f"Failed to update workflow: key {key} is wrong", status_code=401),
    "hint": lambda key: errors.NotFoundError("Nothing here", hint=f"Try it with {key}."),
    "validation": lambda key: errors.ValidationError.of("text", f"Invalid value for parameter text: not {key}"),
    "credentials in a URL": lambda _: errors.ApiError(f"Cannot reach https://bob:{FOREIGN['url']}@n8n.example/api"),
    "header": lambda _: errors.ApiError(f"Refused: X-N8N-API-KEY: {FOREIGN['header']}"),
    "bearer": lambda _: errors.ApiError(f"Refused: Authorization: Bearer {FOREIGN['bearer']}"),
    "query": lambda _: errors.HttpError(f"GET https://api.example/?api_key={FOREIGN['query']}&x=1 failed"),
    "exception": lambda key: RuntimeError(
        f"connection with key={key} to https://bob:{FOREIGN['url']}@h.example failed"
    ),
    "exception group": lambda key: ExceptionGroup(key, [ValueError(key), KeyError(key)]),
    "cause": _caused,
}

SUCCESSES: dict[str, Callable[[str], Any]] = {
    "text": lambda key: f"the key is {key}",
    "long text": lambda key: f"{key}\n" * 20_000,
    "one long line": lambda key: "x" * 1_000 + f"{key} and " * 30_000,
    "data": lambda key: {"key": key, "nested": [{"deep": f"a {key} b"}]},
    "name of a field": lambda key: {key: 1},
    "message": lambda key: Json(data=1, message=Message(en=f"Done with {key}", ja=key)),
    "xml": lambda key: Xml(root=XmlElement("a", {"b": key}, [XmlElement("c", {}, key)])),
    "markdown": lambda key: Markdown(blocks=[f"# {key}", f"`{key}`"]),
    "embedded": lambda key: Embedded(uri="canary://x", body=f"key={key}", mime_type="text/plain"),
    "link": lambda key: Link(uri=f"https://x.example/?k={key}", name=key, title=key, description=key),
    "mixed": lambda key: Mixed(parts=[key, Text(text=key), Json(data=key)]),
}


def _key(context: Context[Any]) -> str:
    settings: CanarySettings = context.settings
    return settings.key.get_secret_value()


def _spill(how: str, key: str) -> Any:
    log.info("Spilling", key=key, header=f"X-Api-Key: {FOREIGN['header']}", nested={"list": [key]})
    log.warning(f"Spilling {key} by {how}")
    if how in FAILURES:
        raise FAILURES[how](key)
    return SUCCESSES[how](key)


@tool(effect=Effect.READ)
async def spill(how: str, context: Context) -> Any:
    """Spill the secret."""
    return _spill(how, _key(context))


@tool(effect=Effect.READ)
async def spill_plainly(how: str) -> Any:
    """Spill the secret on the short way, which has no context."""
    return _spill(how, os.environ["CANARY_KEY"])


@tool(effect=Effect.READ)
async def chat(way: Literal["log", "progress", "ask"], context: Context) -> str:
    """Tell the secret to the client while running."""
    key = _key(context)
    if way == "log":
        await context.log("error", f"the key is {key}")
    elif way == "progress":
        await context.progress(1, 2, f"the key is {key}")
    else:
        await context.ask(f"Is the key {key}?")
    return "told"


async def _read(context: Context[Any], variables: Any) -> str:
    return f"the key is {_key(context)}"


async def _render(context: Context[Any], arguments: Any) -> list[PromptMessage]:
    return [PromptMessage(role="user", content=f"use the key {_key(context)}")]


class CanaryPack(Pack[CanarySettings, None]):
    name = "canary"
    tools = (spill, spill_plainly, chat)
    settings = CanarySettings
    resources = (Resource(uri="canary://key", name="key", read=_read),)
    prompts = (Prompt(name="use_key", description="Use the key.", render=_render),)


PACK = CanaryPack()
