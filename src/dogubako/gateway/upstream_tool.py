"""`UpstreamTool`: a tool of another server as one of ours."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, Protocol

import msgspec
import structlog

from dogubako.contract.call import ToolResult
from dogubako.contract.context import Context
from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.metadata import Effect
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Blocks
from dogubako.contract.storage import SharedStore
from dogubako.contract.tool import Arguments, BaseTool
from dogubako.engine.validation import compiled
from dogubako.gateway import kept_answers
from dogubako.gateway.definitions import Definitions, Item
from dogubako.gateway.pins import fingerprint, pinned_part
from dogubako.gateway.schema import normalised, relaxed
from dogubako.gateway.settings import ServerSettings
from dogubako.response.builder import ToolResponseBuilder

log = structlog.get_logger("dogubako.gateway")

# A definition has a description for a language model, so a longer one is a mistake or an attack.
_LONGEST_DESCRIPTION: Final = 20_000
_LONGEST_TITLE: Final = 200


class ToolCalls(Protocol):
    """Calls tools of a server: what `context.client` is for these tools."""

    # Where answers are kept for all processes; None where they are kept in this one.
    shared: SharedStore | None

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Any: ...


class UpstreamTool(BaseTool[Arguments]):
    """One tool of a server, under its public name. Its schemas are normalised when they are first needed."""

    # A server may report progress, log, or ask a question in any call.
    talks = True
    foreign = True
    # Most servers do not say that a tool reads, and its answer cannot be asked for twice then.
    keeps_answers = True

    def __init__(self, server: str, name: str, definition: Item, settings: ServerSettings, aliases: str = "") -> None:
        self.remote_name: str = definition["name"]
        hints = _hints(definition)
        title = definition.get("title") or hints.get("title")
        super().__init__()
        self.name, self.description = name, _description(server, definition)
        self.title = title[:_LONGEST_TITLE] if isinstance(title, str) else None
        self.effect = settings.effect_of(self.remote_name) or effect_of(definition)
        self.idempotent = hints.get("idempotentHint") is True
        self.open_world = hints.get("openWorldHint") is not False
        self.timeout = round(settings.timeout * 1000) if settings.timeout else None
        # A name in another script is not the public one, and people search by it.
        own = "" if self.remote_name.isascii() else self.remote_name
        words = " ".join(part for part in (settings.words_of(self.remote_name), aliases, own) if part)
        self.keywords = {"en": words} if words else {}
        self._definition = definition

    @cached_property
    def fingerprint(self) -> str:
        """Changes with everything that is shown of the tool."""
        return f"{self.name} {fingerprint(self._definition)}"

    def input_schema(self) -> dict[str, Any]:
        return self._schemas_for_clients[0]

    def output_schema(self) -> dict[str, Any] | None:
        return self._schemas_for_clients[1]

    @cached_property
    def _schemas_for_clients(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        output = self._definition.get("outputSchema")
        is_object = isinstance(output, dict) and output.get("type") == "object"
        answer = relaxed(normalised(output, of_answer=True)) if is_object and isinstance(output, dict) else None
        # A promise that nobody can check is not passed on.
        return normalised(self._definition["inputSchema"]), answer if answer and _is_valid(answer) else None

    def checked_schema(self) -> dict[str, Any]:
        """The schema that arguments are checked against: as the server sent it."""
        return self._checked

    @cached_property
    def _checked(self) -> dict[str, Any]:
        schema: dict[str, Any] = self._definition["inputSchema"]
        # One that refers to other documents cannot be used. The server checks its arguments itself.
        return schema if _is_valid(schema) else self.input_schema()

    def to_definition(self) -> dict[str, Any]:
        """As `tools/list` shows it, with the reference to its user interface (MCP Apps)."""
        ui = pinned_part(self._definition).get("_meta")
        return {**super().to_definition(), **({"_meta": ui} if ui is not None else {})}

    async def execute(self, args: Arguments) -> Any:
        if self.effect is Effect.READ:
            return await self._call(args)
        client: ToolCalls = self.context.client
        key = kept_answers.key_of(self.context.caller.identity, self.name, args)
        if self._is_read_on:
            return await kept_answers.read(key, client.shared)
        answer = await self._call(args)
        if isinstance(answer, Blocks):
            await kept_answers.keep(key, answer, client.shared)
        return answer

    async def _call(self, args: Arguments) -> Any:
        client: ToolCalls = self.context.client
        repeatable = self.idempotent or self.effect is Effect.READ
        return await client.call_tool(self.remote_name, args, self.context, idempotent=repeatable)

    @property
    def _is_read_on(self) -> bool:
        """Whether this call reads on in an earlier answer. Then nothing must run."""
        responses = self.context.responses
        continuation = responses.continuation if isinstance(responses, ToolResponseBuilder) else None
        return continuation is not None and continuation.resume is not None

    async def _answered(self, answer: Any) -> ToolResult:
        """Build the answer. Data that breaks the server's own promise, or that does not fit, does not cost the call."""
        responses = self.context.responses
        if self.output_schema() is None or not isinstance(answer, Blocks):
            return await super()._answered(answer)
        assert isinstance(responses, ToolResponseBuilder)
        if answer.structured is not None:
            try:
                return await super()._answered(answer)
            except (ValueError, AnswerTooLargeError) as error:
                log.info("Structured data of a server is left out", tool=self.name, reason=type(error).__name__)
        texts = Blocks(content=answer.content or [_as_text(answer.structured)])
        plain = responses.for_call(responses.max_tokens, None, responses.continuation)
        built = await offload_if_large(texts, plain.success, texts)
        # Clients refuse an answer without any data from a tool that promises some.
        return msgspec.structs.replace(built, structured={})


class VaryingTool(UpstreamTool, EffectByCall):
    """A tool whose effect depends on one of its arguments."""

    def __init__(self, server: str, name: str, definition: Item, settings: ServerSettings, aliases: str = "") -> None:
        super().__init__(server, name, definition, settings, aliases)
        found = settings.hints_by_argument(definition)
        assert found is not None
        self._argument, hints_of = found
        self._tools = {
            value: UpstreamTool(server, name, {**definition, "annotations": hints}, settings, aliases)
            for value, hints in hints_of.items()
        }
        # The schema refuses an unknown value. Until then it counts as the worst.
        worst = {**definition, "annotations": {"destructiveHint": True}}
        self._worst = UpstreamTool(server, name, worst, settings, aliases)
        self.effect, self.idempotent = Effect.DELEGATE, False

    def for_call(self, arguments: Any) -> UpstreamTool:
        value = arguments.get(self._argument) if isinstance(arguments, Mapping) else None
        return self._tools.get(value, self._worst) if isinstance(value, str) else self._worst


def upstream_tool(
    server: str, name: str, definition: Item, settings: ServerSettings, aliases: str = ""
) -> UpstreamTool:
    """The tool of a definition. An effect in the settings counts for every call."""
    varies = settings.hints_by_argument(definition) is not None and settings.effect_of(definition["name"]) is None
    return (VaryingTool if varies else UpstreamTool)(server, name, definition, settings, aliases)


def _as_text(data: Any) -> dict[str, Any]:
    return {"type": "text", "text": msgspec.json.encode(data).decode() if data is not None else ""}


def usable_definitions(definitions: Definitions, mask: Callable[[str], str] = str) -> Definitions:
    """The definitions without secrets, and without tools whose schema says nothing that a client could use."""
    definitions = definitions.without_secrets(mask)
    usable = [_is_valid(normalised(tool["inputSchema"])) for tool in definitions.tools]
    if all(usable):
        return definitions
    pairs = list(zip(definitions.tools, usable, strict=True))
    faults = [
        f"Tool {tool['name'][:64]} has an inputSchema that is no JSON Schema." for tool, good in pairs if not good
    ]
    return replace(
        definitions,
        tools=tuple(tool for tool, good in pairs if good),
        faults=(*definitions.faults, *faults),
    )


def _is_valid(schema: Mapping[str, Any]) -> bool:
    try:
        compiled(schema)
    except ValueError:
        return False
    return True


def effect_of(definition: Mapping[str, Any]) -> Effect:
    """What the annotations say that a call changes. Who says nothing may write."""
    hints = _hints(definition)
    if hints.get("readOnlyHint") is True:
        return Effect.READ
    return Effect.DESTROY if hints.get("destructiveHint") is True else Effect.WRITE


def only_for_apps(definition: Mapping[str, Any]) -> bool:
    """Whether only a user interface may call it, and no model."""
    meta = definition.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    visibility = ui.get("visibility") if isinstance(ui, Mapping) else None
    return isinstance(visibility, list) and "model" not in visibility


def aliases_of(tools: Iterable[Item]) -> dict[str, str]:
    """Names that stand for an earlier tool of the same server: the same definition, and a name that ends alike."""
    first: dict[bytes, str] = {}
    found: dict[str, str] = {}
    for tool in tools:
        part = {key: value for key, value in pinned_part(tool).items() if key not in ("name", "title")}
        key, name = msgspec.json.encode(_without_titles(part), order="deterministic"), str(tool["name"])
        original = first.setdefault(key, name)
        if original != name and (name.endswith(original) or original.endswith(name)):
            found[name] = original
    return found


def _without_titles(node: Any) -> Any:
    """A definition without titles, which repeat the tool's name in schemas."""
    if isinstance(node, list):
        return [_without_titles(one) for one in node]
    if isinstance(node, dict):
        return {key: _without_titles(value) for key, value in node.items() if not _is_title(key, value)}
    return node


def _is_title(key: str, value: Any) -> bool:
    return key == "title" and isinstance(value, str)


def _hints(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    hints = definition.get("annotations")
    return hints if isinstance(hints, Mapping) else {}


def _description(server: str, definition: Item) -> str:
    text = definition.get("description")
    written = text.strip() if isinstance(text, str) else ""
    return written[:_LONGEST_DESCRIPTION] or f"{definition['name']} of the MCP server {server}."
