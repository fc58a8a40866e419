"""Resources and prompts of all packs: found, read and rendered under the same budget and masking as tools."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import anyio

from dogubako.contract.call import Caller, Door, ToolCall, ToolResult
from dogubako.contract.context import Surroundings, ToolContext
from dogubako.contract.conversation import SILENCE, Conversation, capability_of
from dogubako.contract.errors import (
    AnswerTooLargeError,
    CapabilityRequiredError,
    NotFoundError,
    ToolTimeoutError,
)
from dogubako.contract.output import Text
from dogubako.contract.prompt import Prompt, PromptMessage
from dogubako.contract.resource import Complete, Resource, ResourceTemplate
from dogubako.engine.complaints import Complaint, collected
from dogubako.engine.discretion import Discreet
from dogubako.engine.events import CallObserver, CallObservers, observed
from dogubako.engine.policy import HousePolicy, Policy
from dogubako.engine.subscribers import Subscribers
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.fitting import plain_text
from dogubako.response.media import check_bytes
from dogubako.response.plain import clean_text, encode
from dogubako.response.tokens import count_tokens
from dogubako.response.trim import share_out, take_whole

Kind = Literal["resources", "prompts", "updated"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MOST_COMPLETIONS = 100
_LONGEST_COMPLETION = 500
_LONGEST_URI = 2_000
_LONGEST_NAME = 64
# What stands around the contents of a resource, and around a message of a prompt.
_CONTENTS_TOKENS = 12
_MESSAGE_TOKENS = 8
# As long as a call of a tool may take with all its attempts.
_MOST_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogChange:
    """The lists changed, or one resource did."""

    kind: Kind
    uri: str | None = None


class Catalog:
    """What packs bring besides tools."""

    def __init__(
        self,
        responses: ToolResponseBuilder,
        surroundings: Surroundings,
        policy: Policy | None = None,
        observer: CallObserver | None = None,
    ) -> None:
        self._policy = policy or HousePolicy()
        self._observer = CallObservers(observer)
        self._responses = responses
        self._surroundings = surroundings
        self._resources: dict[str, tuple[str, Resource]] = {}
        self._templates: dict[str, tuple[str, ResourceTemplate]] = {}
        self._prompts: dict[str, tuple[str, Prompt]] = {}
        self._subscribers: Subscribers[CatalogChange] = Subscribers()

    def add(
        self,
        pack: str,
        resources: Iterable[Resource] = (),
        templates: Iterable[ResourceTemplate] = (),
        prompts: Iterable[Prompt] = (),
    ) -> None:
        """Take in what a pack brings. A second prompt or resource of the same name is a mistake."""
        for resource in resources:
            _put(self._resources, resource.uri, (pack, resource))
        for template in templates:
            _put(self._templates, template.uri_template, (pack, template))
        for prompt in prompts:
            _put(self._prompts, prompt.name, (pack, prompt))

    def resources(self, caller: Caller) -> list[Resource]:
        return self._readable(self._resources, caller)

    def templates(self, caller: Caller) -> list[ResourceTemplate]:
        return self._readable(self._templates, caller)

    def prompts(self, caller: Caller) -> list[Prompt]:
        return self._readable(self._prompts, caller)

    def _readable(self, table: Mapping[str, tuple[str, ItemT]], caller: Caller) -> list[ItemT]:
        missing = self._policy.missing_scope_to_read
        return [item for _, (pack, item) in sorted(table.items()) if missing(pack, caller) is None]

    def check_readable(self, uri: str, caller: Caller) -> None:
        """Refuse who may not read this. An address that nothing answers yet passes: something may come to it."""
        if (pack := self.home_of("resources/read", uri)) is not None:
            self._check_scope(pack, caller)

    def home_of(self, method: str, named: str) -> str | None:
        """The pack that brought what a method names; nothing where there is no such thing."""
        if method == "resources/read":
            return found[0] if (found := self._search(named)) else None
        if method == "completion/complete" and named in self._templates:
            return self._templates[named][0]
        return self._prompts[named][0] if named in self._prompts else None

    def _check_scope(self, pack: str, caller: Caller) -> None:
        if (error := self._policy.missing_scope_to_read(pack, caller)) is not None:
            raise error

    async def read(
        self, uri: str, conversation: Conversation = SILENCE, *, caller: Caller, door: Door
    ) -> dict[str, Any]:
        """The contents of one resource, as `resources/read` shows them."""
        call = ToolCall(name="resources/read", parameters={"uri": uri}, caller=caller, door=door)
        async with self._admitted(call, uri):
            pack, resource, variables = self._find(uri)
            body = await _in_time(resource.read(self._context(pack, conversation), variables))
            return self._shown(uri, resource, body)

    def _shown(self, uri: str, resource: Resource | ResourceTemplate, body: str | bytes) -> dict[str, Any]:
        mask = self._responses.redactor.known
        head = {"uri": mask(clean_text(uri)), "mimeType": resource.mime_type}
        room = self._responses.max_tokens - count_tokens(encode(head)) - _CONTENTS_TOKENS
        if isinstance(body, str):
            return {**head, "text": plain_text(Text(text=body), room, lambda _page, _cuts: None, mask).text}
        blob = base64.b64encode(body).decode()
        if count_tokens(blob) > room:
            raise AnswerTooLargeError(f"The resource has {len(body):,} bytes, which does not fit the response budget.")
        check_bytes(blob, mask)
        return {**head, "blob": blob}

    async def render(
        self,
        name: str,
        arguments: Mapping[str, str],
        conversation: Conversation = SILENCE,
        *,
        caller: Caller,
        door: Door,
    ) -> tuple[Prompt, list[dict[str, Any]]]:
        """The messages of a prompt, with its blanks filled in."""
        call = ToolCall(name="prompts/get", parameters={"name": name, **arguments}, caller=caller, door=door)
        async with self._admitted(call, name):
            pack, prompt = self._prompt(name)
            _check_arguments(prompt, arguments)
            messages = await _in_time(prompt.render(self._context(pack, conversation), arguments))
            return prompt, self._fitted(messages)

    def _fitted(self, messages: Sequence[PromptMessage]) -> list[dict[str, Any]]:
        """The messages share the budget of one answer."""
        room = self._responses.max_tokens - len(messages) * _MESSAGE_TOKENS
        if room < 0:
            raise AnswerTooLargeError(f"The prompt has {len(messages):,} messages, which do not fit the budget.")
        built = [self._built(message, None) for message in messages]
        shares = share_out([result.tokens for result in built], room)
        if any(share < result.tokens for share, result in zip(shares, built, strict=True)):
            fitted = zip(messages, shares, strict=True)
            built = [self._built(message, max(share, 1)) for message, share in fitted]
        rendered = zip(messages, built, strict=True)
        return [{"role": message.role, "content": block} for message, result in rendered for block in result.content]

    def _built(self, message: PromptMessage, share: int | None) -> ToolResult:
        """One message. The result of a call that failed, or that asks something, is no message."""
        result = self._responses.for_call(share).success(message.content)
        if result.error is not None:
            raise result.error
        if result.pending is not None:
            raise CapabilityRequiredError(*map(capability_of, list(result.pending.values())[:1]))
        return result

    async def complete(
        self, reference: str, argument: str, value: str, others: Mapping[str, str], *, caller: Caller, door: Door
    ) -> list[str]:
        """What could stand in this blank. `reference` is a prompt's name or a template's address."""
        call = ToolCall(name="completion/complete", parameters={argument: value}, caller=caller, door=door)
        async with self._admitted(call, reference):
            pack, complete = self._completer(reference, argument)
            if complete is None:
                return []
            values = await _in_time(complete(self._context(pack, SILENCE), value, others))
            shown = [self._short(one) for one in values[:_MOST_COMPLETIONS]]
            return shown[: take_whole((count_tokens(encode(one)) + 1 for one in shown), self._responses.max_tokens)]

    def _short(self, completion: str) -> str:
        return self._responses.redactor.known(clean_text(completion))[:_LONGEST_COMPLETION]

    @asynccontextmanager
    async def _admitted(self, call: ToolCall, named: str) -> AsyncIterator[None]:
        """What is read is recorded, counted and bounded like a call. What nobody brought is not found inside."""
        pack = self.home_of(call.name, named)
        with observed(self._observer, call, pack):
            await self._policy.check_rate(call)
            if pack is not None:
                self._check_scope(pack, call.caller)
            with self._policy.place(call):
                yield

    def subscribe(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        """Hear of every change until the returned function is called."""
        return self._subscribers.add(listener)

    def changed(self, change: CatalogChange) -> None:
        self._subscribers.tell(change)

    def _search(self, uri: str) -> tuple[str, Resource | ResourceTemplate, dict[str, str]] | None:
        if uri in self._resources:
            pack, resource = self._resources[uri]
            return pack, resource, {}
        # The address is repeated in the answer, so a longer one is nobody's.
        for pack, template in self._templates.values() if len(uri) <= _LONGEST_URI else ():
            if (variables := template.match(uri)) is not None:
                return pack, template, variables
        return None

    def _find(self, uri: str) -> tuple[str, Resource | ResourceTemplate, dict[str, str]]:
        if (found := self._search(uri)) is not None:
            return found
        raise NotFoundError(f"Resource not found: {uri[:200]}", hint="resources/list has the addresses.")

    def _prompt(self, name: str) -> tuple[str, Prompt]:
        if name not in self._prompts:
            raise NotFoundError(f"Prompt not found: {name[:100]}", hint="prompts/list has the names.")
        return self._prompts[name]

    def _completer(self, reference: str, argument: str) -> tuple[str, Complete | None]:
        if reference in self._templates:
            pack, template = self._templates[reference]
            return pack, (template.completions or {}).get(argument)
        pack, prompt = self._prompt(reference)
        return pack, next((one.complete for one in prompt.arguments if one.name == argument), None)

    def _context(self, pack: str, conversation: Conversation) -> ToolContext[Any]:
        client, settings = self._surroundings(pack)
        discreet = Discreet(conversation, self._responses)
        return ToolContext(client=client, settings=settings, responses=self._responses, conversation=discreet)


async def _in_time(work: Awaitable[ResultT]) -> ResultT:
    with anyio.move_on_after(_MOST_SECONDS):
        return await work
    raise ToolTimeoutError(f"Execution timeout after {round(_MOST_SECONDS * 1000)}ms")


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    if key in table:
        raise ValueError(f"{key} is there twice")
    table[key] = value


def _check_arguments(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    known = {argument.name for argument in prompt.arguments}
    missing = [one.name for one in prompt.arguments if one.required and not arguments.get(one.name)]
    unknown = [name[:64] for name in arguments if name not in known]
    wrong = [Complaint.of(name, f"Required parameter missing: {name}") for name in missing]
    wrong += [Complaint.of(name, f"Unknown parameter: {name}") for name in unknown]
    if wrong:
        raise collected(wrong)
