"""The paginated lists of MCP: tools, resources, templates and prompts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from dogubako.contract.call import Caller
from dogubako.contract.errors import ToolNotFoundError, ValidationError
from dogubako.engine.discovery import tool_map
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.transports.toolbox import FINDING, INSTRUCTIONS, LIGHT, MAP, ServedToolbox

PAGE_SIZE: Final = 1_000
CACHEABLE_METHODS: Final = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
)

SKILLS_EXTENSION: Final = "io.modelcontextprotocol/skills"
# Lists differ by caller and change at any time: nobody may share one, or use one again without asking.
FRESH: Final = {"ttlMs": 0, "cacheScope": "private"}

ItemT = TypeVar("ItemT")


def tools(inside: ServedToolbox, caller: Caller, cursor: str | None = None) -> dict[str, Any]:
    """List callable tools only: disabled and forbidden ones would cost context for nothing."""
    found = _callable(inside, caller)
    return _page("tools", inside.discovery.listed(found), cursor, inside.discovery.definitions(found))


def instructions(inside: ServedToolbox, caller: Caller) -> str:
    """The server's instructions: how answers look, a map of what is not listed in full, and house rules."""
    found = _callable(inside, caller)
    shown = inside.discovery.shown(found)
    own = f"\n{inside.pack_instructions}" if inside.pack_instructions else ""
    if shown == "full":
        return INSTRUCTIONS + own
    lines = MAP.format(lines=tool_map(found, inside.about))
    return lines + (FINDING if shown == "search" else LIGHT) + INSTRUCTIONS + own


def _callable(inside: ServedToolbox, caller: Caller) -> list[ToolRegistryEntry]:
    shows = inside.pipeline.policy.shows
    return [entry for entry in inside.registry.list() if shows(entry, caller)]


def resources(inside: ServedToolbox, caller: Caller, cursor: str | None = None) -> dict[str, Any]:
    return _page("resources", inside.catalog.resources(caller), cursor, lambda one: {"uri": one.uri, **_described(one)})


def templates(inside: ServedToolbox, caller: Caller, cursor: str | None = None) -> dict[str, Any]:
    found = inside.catalog.templates(caller)
    return _page("resourceTemplates", found, cursor, lambda one: {"uriTemplate": one.uri_template, **_described(one)})


def prompts(inside: ServedToolbox, caller: Caller, cursor: str | None = None) -> dict[str, Any]:
    return _page("prompts", inside.catalog.prompts(caller), cursor, _prompt)


def skills(inside: ServedToolbox, caller: Caller, cursor: str | None = None) -> dict[str, Any]:
    return _page("skills", inside.catalog.skills(caller), cursor, lambda one: dict(one.entry)) | FRESH


def annotated_schema(registry: ToolRegistry, name: str) -> Mapping[str, Any] | None:
    """The schema of a tool whose arguments are mirrored in HTTP headers, else nothing."""
    try:
        entry = registry.get(name)
    except ToolNotFoundError:
        return None
    return entry.metadata.input_schema if entry.mirrored_in_headers else None


def _page(name: str, items: Sequence[ItemT], cursor: str | None, show: Callable[[ItemT], Any]) -> dict[str, Any]:
    start = _offset(cursor)
    page: dict[str, Any] = {name: [show(item) for item in items[start : start + PAGE_SIZE]]}
    if start + PAGE_SIZE < len(items):
        page["nextCursor"] = str(start + PAGE_SIZE)
    return page


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise ValidationError.of("cursor", "Invalid value for parameter cursor: it is not one of ours")
    return int(cursor)


def _described(item: Any) -> dict[str, Any]:
    known = {"name": item.name, "title": item.title, "description": item.description, "mimeType": item.mime_type}
    return {key: value for key, value in known.items() if value is not None}


def _prompt(prompt: Any) -> dict[str, Any]:
    arguments = [
        {"name": one.name, "description": one.description, "required": one.required} for one in prompt.arguments
    ]
    title = {"title": prompt.title} if prompt.title else {}
    return {"name": prompt.name, "description": prompt.description, "arguments": arguments} | title
