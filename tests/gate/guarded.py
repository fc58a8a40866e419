"""A toolbox with two services and a bench, each tool named after what it does, so that a table can say who may what."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dogubako import Context, Effect, Pack, tool
from dogubako.app import Toolbox, build
from dogubako.contract.resources import Skill
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import (
    BaseTool,
    HealthCheck,
    NoSettings,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    ToolPack,
)

Values = Mapping[str, str]


async def _text(context: Context[Any], values: Values) -> str:
    return "read"


async def _numbers(context: Context[Any], value: str, others: Values) -> list[str]:
    return ["17", "18"]


async def _start(context: Context[Any], values: Values) -> list[PromptMessage]:
    return [PromptMessage(content="begin")]


class ServicePack(Pack):
    """Three tools, a resource, a family of resources and a prompt."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools = [_tool(effect, name) for effect in (Effect.READ, Effect.WRITE, Effect.DESTROY)]
        self.resources = [Resource(uri=f"{name}://news", name=f"{name} news", read=_text)]
        self.resource_templates = [
            ResourceTemplate(
                uri_template=f"{name}://items/{{id}}", name=f"{name} item", read=_text, completions={"id": _numbers}
            )
        ]
        argument = PromptArgument(name="id", description="Which one.", complete=_numbers)
        self.prompts = [Prompt(name=f"{name}-start", description="Begin.", render=_start, arguments=(argument,))]

    async def check(self, settings: NoSettings, client: Any) -> Sequence[HealthCheck]:
        return [HealthCheck(ok=True, subject=self.name, message=f"{self.name} answers")]


def _tool(effect: Effect, service: str) -> BaseTool[Any, Any]:
    async def act(number: int = 0) -> str:
        return "done"

    act.__doc__ = f"Do what is called {effect.value} at {service}."
    return tool(name=f"{effect.value}_{service}", effect=effect)(act)


@tool(effect=Effect.READ)
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effect=Effect.WRITE)
async def ask_colour(context: Context[Any]) -> str:
    """Ask the user for a colour."""
    answer = await context.ask("Which colour?")
    return str(answer.content.get("answer"))


def skill_of(pack: str) -> Skill:
    uri = f"skill://{pack}/guide/SKILL.md"
    return Skill(uri=uri, entry={"uri": uri, "name": f"{pack}-guide"})


def guarded_box(folder: Path, *more: BaseTool[Any, Any], **environ: str) -> Toolbox:
    """The toolbox with keys in this folder, or guarded as the settings say; `more` tools go to the bench."""
    chosen = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(folder), "DOGUBAKO_DISCOVERY": "full", **environ}
    packs = [CORE, ToolPack("bench", [echo, ask_colour, *more]), ServicePack("redmine"), ServicePack("n8n")]
    box = build(Sources(environ=chosen, env_file=None), packs=packs)
    for name in ("redmine", "n8n"):
        # Only servers of other people bring skills.
        box.catalog.add(name, skills=[skill_of(name)])
    return box
