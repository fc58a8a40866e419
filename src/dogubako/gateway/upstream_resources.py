"""Resources, resource templates and prompts of another server as ours."""

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from dogubako.contract.context import Context
from dogubako.contract.errors import ApiError
from dogubako.contract.output import Blocks
from dogubako.contract.pack import Host
from dogubako.contract.resources import (
    Complete,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResource,
    Render,
    Resource,
    ResourceBody,
    ResourceTemplate,
)
from dogubako.gateway.definitions import Definitions, Item
from dogubako.gateway.names import Names
from dogubako.gateway.skills import served_skills

# The variable that holds the whole address: the server knows its own templates best.
_ADDRESS: Final = "uri"
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_TEXT: Final = "text/plain"
_APP: Final = "text/html;profile=mcp-app"


class Reads(Protocol):
    """Reads what is no tool: what `context.client` is for resources and prompts of a server."""

    def read_resource(self, uri: str, context: Context[Any]) -> Awaitable[list[dict[str, Any]]]: ...

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context[Any]
    ) -> Awaitable[list[dict[str, Any]]]: ...

    def complete(
        self, ref: dict[str, Any], argument: str, value: str, filled: Mapping[str, str] | None = None
    ) -> Awaitable[list[str]]: ...


class UpstreamTemplate(ResourceTemplate, frozen=True, kw_only=True):
    """A template of another server, in any form of RFC 6570. What stands around its variables decides."""

    def match(self, uri: str) -> dict[str, str] | None:
        literals = _EXPRESSION.split(self.uri_template)
        head, tail = literals[0], literals[-1]
        fits = bool(head) and uri.startswith(head) and uri.endswith(tail) and len(uri) > len(head) + len(tail)
        return {_ADDRESS: uri} if fits else None


class ServedCatalogue:
    """What is served of one server besides its tools, and how that is changed."""

    def __init__(self, server: str, names: Names, watch: Callable[[str], None]) -> None:
        self._server = server
        self._names = names
        self._watch = watch
        self._resources: dict[str, Item] = {}
        self._prompts: dict[str, Item] = {}
        self._skills: dict[str, Mapping[str, Any]] = {}

    def replace(self, host: Host, definitions: Definitions, skills: Sequence[Item] = ()) -> list[str]:
        """Serve these resources and prompts, and the skills that are approved. Returns why some are left out."""
        completes = "completions" in definitions.capabilities
        resources = {**_pages_of_tools(definitions), **{one["uri"]: one for one in definitions.resources}}
        resources |= {one["uriTemplate"]: one for one in definitions.templates}
        offered = definitions.capabilities.get("resources")
        watch = self._watch if isinstance(offered, Mapping) and offered.get("subscribe") is True else None
        faults = []
        for uri in _replaced(self._resources, resources, host.remove_resource):
            item = resources[uri]
            made = resource_of(item) if "uri" in item else template_of(item, completes=completes)
            if not _added(host.add_resource, msgspec.structs.replace(made, watch=watch)):
                faults.append(f"The address {uri[:200]} is served already.")
        names = self._names.of(self._server, [one["name"] for one in definitions.prompts])
        prompts = {names[one["name"]]: one for one in definitions.prompts}
        for name in _replaced(self._prompts, prompts, host.remove_prompt):
            if not _added(host.add_prompt, prompt_of(prompts[name], name, completes=completes)):
                faults.append(f"A prompt {name} is served already.")
        return faults + self._replace_skills(host, skills)

    def _replace_skills(self, host: Host, items: Sequence[Item]) -> list[str]:
        wanted, faults = served_skills(self._server, items)
        for uri in [
            uri for uri, entry in self._skills.items() if uri not in wanted or wanted[uri].skill.entry != entry
        ]:
            host.remove_skill(uri)
            host.remove_resource(uri)
            host.remove_resource(f"{uri.removesuffix('/SKILL.md')}/{{+file}}")
            del self._skills[uri]
        for uri in [uri for uri in wanted if uri not in self._skills]:
            one = wanted[uri]
            if _added(host.add_resource, one.resource) and _added(host.add_resource, one.files):
                host.add_skill(one.skill)
                self._skills[uri] = one.skill.entry
            else:
                faults.append(f"The address {uri[:200]} is served already.")
        return faults


def _pages_of_tools(definitions: Definitions) -> dict[str, Item]:
    """The user interfaces that tools name (MCP Apps). Not every server lists them as resources."""
    found: dict[str, Item] = {}
    for tool in definitions.tools:
        meta = tool.get("_meta")
        ui = meta.get("ui") if isinstance(meta, Mapping) else None
        uri = ui.get("resourceUri") if isinstance(ui, Mapping) else None
        if isinstance(uri, str) and uri.startswith("ui://"):
            found[uri] = {"uri": uri, "name": f"User interface of {tool['name']}", "mimeType": _APP}
    return found


def _replaced(served: dict[str, Item], wanted: Mapping[str, Item], remove: Callable[[str], None]) -> list[str]:
    """Remove what is gone or different. Returns what has to be added."""
    for key in [key for key, item in served.items() if wanted.get(key) != item]:
        remove(key)
        del served[key]
    missing = [key for key in wanted if key not in served]
    served |= wanted
    return missing


def _added(add: Callable[[Any], None], item: Any) -> bool:
    try:
        add(item)
    except ValueError:
        return False
    return True


def resource_of(item: Item) -> Resource:
    return Resource(uri=item["uri"], read=_reads(item["uri"]), **_described(item, "uri"))


def template_of(item: Item, *, completes: bool) -> UpstreamTemplate:
    address = item["uriTemplate"]
    names = [name for part in _EXPRESSION.findall(address) for name in _VARIABLE.findall(part)]
    reference = {"type": "ref/resource", "uri": address}
    completions = {name: _completes(reference, name) for name in names} if completes else None
    described = _described(item, "uriTemplate")
    return UpstreamTemplate(uri_template=address, read=_reads(None), completions=completions, **described)


def prompt_of(item: Item, name: str, *, completes: bool) -> Prompt:
    """The prompt under its public name."""
    reference = {"type": "ref/prompt", "name": item["name"]}
    given = item.get("arguments")
    arguments = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return Prompt(
        name=name,
        description=_text(item.get("description")) or item["name"],
        title=_text(item.get("title")) or None,
        render=_renders(item["name"]),
        arguments=tuple(
            PromptArgument(
                name=one["name"],
                description=_text(one.get("description")),
                required=one.get("required") is True,
                complete=_completes(reference, one["name"]) if completes else None,
            )
            for one in arguments
            if isinstance(one.get("name"), str)
        ),
    )


def _described(item: Item, fallback: str) -> dict[str, Any]:
    return {
        "name": _text(item.get("name")) or item[fallback],
        "title": _text(item.get("title")) or None,
        "description": _text(item.get("description")) or None,
        "mime_type": _text(item.get("mimeType")) or _TEXT,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _reads(uri: str | None) -> ReadResource:
    async def read(context: Context[Any], variables: Mapping[str, str]) -> str | bytes | ResourceBody:
        client: Reads = context.client
        address = uri or variables[_ADDRESS]
        contents = await client.read_resource(address, context)
        return _page(contents[0]) if address.startswith("ui://") and len(contents) == 1 else _body(contents)

    return read


def _page(item: Mapping[str, Any]) -> ResourceBody:
    """A user interface, with what it says of the rights that it needs."""
    meta = item.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    return msgspec.structs.replace(ResourceBody.of(item), meta={"ui": ui} if isinstance(ui, Mapping) else None)


def _body(contents: Sequence[Mapping[str, Any]]) -> str | bytes:
    """Texts are joined: a folder may be answered with the contents of its files."""
    texts = [one["text"] for one in contents if isinstance(one.get("text"), str)]
    if texts:
        return "\n\n".join(texts)
    blob = next((one["blob"] for one in contents if isinstance(one.get("blob"), str)), None)
    if blob is None:
        raise ApiError("The server answered without contents.", hint="resources/list has the addresses.")
    try:
        return base64.b64decode(blob, validate=True)
    except binascii.Error:
        raise ApiError("The server answered with bytes that are not base64.") from None


def _renders(name: str) -> Render:
    async def render(context: Context[Any], arguments: Mapping[str, str]) -> list[PromptMessage]:
        client: Reads = context.client
        messages = await client.get_prompt(name, arguments, context)
        return [
            PromptMessage(
                content=Blocks(content=[one.get("content", {})]),
                role="assistant" if one.get("role") == "assistant" else "user",
            )
            for one in messages
        ]

    return render


def _completes(reference: dict[str, Any], argument: str) -> Complete:
    async def complete(context: Context[Any], value: str, others: Mapping[str, str]) -> list[str]:
        client: Reads = context.client
        return await client.complete(reference, argument, value, others)

    return complete
