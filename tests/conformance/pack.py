"""What the official MCP conformance suite wants to find on a server, written with our public API only.

dogubako serve --tools tests/conformance/pack.py
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dogubako import Context, Pack, tool
from dogubako.tools import Host, PackSettings

from . import content, long_work, questions
from .prompts import PROMPTS
from .resources import RESOURCES, TEMPLATES


@tool
async def test_passing_guest() -> str:
    """Come and go, so that the list of tools changes."""
    return "I am here only for a moment."


@tool
async def test_trigger_tool_change(context: Context[Host]) -> str:
    """Let a tool come and go."""
    context.client.add(test_passing_guest)
    context.client.remove(test_passing_guest.name)
    return "The list of tools changed."


@tool
async def test_trigger_prompt_change(context: Context[Host]) -> str:
    """Say that the list of prompts changed."""
    context.client.prompts_changed()
    return "The list of prompts changed."


class ConformancePack(Pack[PackSettings, Host]):
    """Its client is the server itself: the tools above change the lists of the server they live in."""

    name = "conformance"
    tools = (*content.TOOLS, *questions.TOOLS, *long_work.TOOLS, test_trigger_tool_change, test_trigger_prompt_change)
    resources = RESOURCES
    resource_templates = TEMPLATES
    prompts = PROMPTS

    @asynccontextmanager
    async def connect(self, settings: PackSettings, host: Host) -> AsyncIterator[Host]:
        yield host


PACK = ConformancePack()
