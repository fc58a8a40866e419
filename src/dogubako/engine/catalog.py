"""Resources and prompts of all packs: found, read and rendered under the same budget and masking as tools."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import msgspec

from dogubako.contract.call import Caller, CallObserver, Door, ToolCall, ToolResult
from dogubako.contract.context import NO_PARTS, Context, PackParts
from dogubako.contract.conversation import SILENCE, Conversation, capability_of
from dogubako.contract.credentials import INSTANCE
from dogubako.contract.errors import (
    AnswerTooLargeError,
    CapabilityRequiredError,
    NotFoundError,
    ToolTimeoutError,
)
from dogubako.contract.offload import check_size, has_more_values, offload_if_large
from dogubako.contract.output import Text
from dogubako.contract.resources import Complete, Prompt, PromptMessage, Resource, ResourceBody, ResourceTemplate, Skill
from dogubako.contract.storage import ChangeKind, ChangeNews
from dogubako.contract.tool import is_cancelled
from dogubako.engine.conversations import RedactedConversation
from dogubako.engine.events import CallObservers, Subscribers, observed
from dogubako.engine.policy import Policy
from dogubako.engine.validation_messages import Complaint, collected
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.foreign_block import check_bytes, plain_copy
from dogubako.response.jsonable import clean_text, encode
from dogubako.response.text import plain_text
from dogubako.response.tokens import count_tokens, far_above_characters
from dogubako.response.truncation import share_out, take_whole

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MOST_COMPLETIONS = 100
_LONGEST_COMPLETION = 500
_LONGEST_URI = 2_000
_LONGEST_NAME = 64
# What stands around the contents of a resource, and around a message of a prompt.
_CONTENTS_TOKENS = 12
_MESSAGE_TOKENS = 8
_ROLES = ("user", "assistant")
_MOST_VALUES = 100_000
_MOST_CHARACTERS = 4_000_000
# As long as a call of a tool may take with all its attempts.
_MOST_SECONDS = 120.0


class CatalogChange(msgspec.Struct, frozen=True, kw_only=True):
    """The lists changed, or one resource did."""

    kind: ChangeKind
    uri: str | None = None


class Catalog:
    """The resources, resource templates and prompts of all packs."""

    def __init__(
        self,
        responses: ToolResponseBuilder,
        packs: Mapping[str, PackParts],
        policy: Policy | None = None,
        observer: CallObserver | None = None,
        *,
        news: ChangeNews | None = None,
    ) -> None:
        self._policy = policy or Policy()
        self.observers = CallObservers(observer)
        self._responses = responses
        self._packs = packs
        self._resources: dict[str, tuple[str, Resource]] = {}
        self._templates: dict[str, tuple[str, ResourceTemplate]] = {}
        self._prompts: dict[str, tuple[str, Prompt]] = {}
        self._skills: dict[str, tuple[str, Skill]] = {}
        self._subscribers: Subscribers[CatalogChange] = Subscribers()
        self._news = news
        if news is not None:
            news.listen(lambda kind, uri: self._subscribers.tell(CatalogChange(kind=kind, uri=uri)))

    def add(
        self,
        pack: str,
        resources: Iterable[Resource] = (),
        templates: Iterable[ResourceTemplate] = (),
        prompts: Iterable[Prompt] = (),
        skills: Iterable[Skill] = (),
    ) -> None:
        """Add the resources and prompts of a pack. A second one of the same name is an error."""
        for resource in resources:
            _put(self._resources, resource.uri, (pack, resource))
        for template in templates:
            _put(self._templates, template.uri_template, (pack, template))
        for prompt in prompts:
            _put(self._prompts, prompt.name, (pack, prompt))
        for skill in skills:
            _put(self._skills, skill.uri, (pack, skill))

    def remove_resource(self, pack: str, uri: str) -> None:
        """Remove a resource or a resource template of this pack, if it is there."""
        _drop(self._resources, pack, uri)
        _drop(self._templates, pack, uri)

    def remove_prompt(self, pack: str, name: str) -> None:
        _drop(self._prompts, pack, name)

    def remove_skill(self, pack: str, uri: str) -> None:
        _drop(self._skills, pack, uri)

    def remove_all(self, pack: str) -> None:
        """Remove all resources and prompts of this pack."""
        for table in (self._resources, self._templates, self._prompts, self._skills):
            for key in [key for key, (owner, _) in table.items() if owner == pack]:
                _drop(table, pack, key)

    def resources(self, caller: Caller) -> list[Resource]:
        return self._readable(self._resources, caller)

    def templates(self, caller: Caller) -> list[ResourceTemplate]:
        return self._readable(self._templates, caller)

    def prompts(self, caller: Caller) -> list[Prompt]:
        return self._readable(self._prompts, caller)

    @property
    def has_skills(self) -> bool:
        return bool(self._skills)

    def skills(self, caller: Caller) -> list[Skill]:
        return self._readable(self._skills, caller)

    def skill(self, uri: str, caller: Caller) -> Skill:
        """One skill by the address of its SKILL.md."""
        if uri not in self._skills:
            raise NotFoundError(f"Skill not found: {uri[:200]}", hint="skills/list has the addresses.")
        pack, skill = self._skills[uri]
        self._check_scope(pack, caller)
        return skill

    def _readable(self, table: Mapping[str, tuple[str, ItemT]], caller: Caller) -> list[ItemT]:
        missing = self._policy.missing_scope_to_read
        return [item for _, (pack, item) in sorted(table.items()) if missing(pack, caller) is None]

    def watch(self, uri: str, caller: Caller) -> None:
        """Raise if the caller may not read this, else tell its owner that somebody wants to hear of changes.

        A URI without a resource passes: one may be added later.
        """
        if (found := self._search(uri)) is not None:
            self._check_scope(found[0], caller)
            if found[1].watch is not None:
                found[1].watch(uri)

    def home_of(self, method: str, named: str) -> str | None:
        """The pack of the resource or prompt that a request names, or None if there is none."""
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
            body = await _in_time(resource.read(self._context(pack, conversation, call, resource.instance), variables))
            return await offload_if_large(body, self._shown, uri, resource, body)

    def _shown(self, uri: str, resource: Resource | ResourceTemplate, body: Any) -> dict[str, Any]:
        check_size(body)
        mask = self._responses.redactor.mask_configured
        own = body if isinstance(body, ResourceBody) else ResourceBody(content="")
        body = body.content if isinstance(body, ResourceBody) else body
        head: dict[str, Any] = {
            "uri": mask(clean_text(uri)),
            "mimeType": clean_text(own.mime_type or resource.mime_type),
        }
        if own.meta is not None:
            head["_meta"] = plain_copy(own.meta, mask)
        room = self._responses.max_tokens - count_tokens(encode(head)) - _CONTENTS_TOKENS
        if not isinstance(body, str | bytes):
            body = _as_json(body)
        if isinstance(body, str):
            return {**head, "text": plain_text(Text(text=body), room, lambda _page, _cuts: None, mask).text}
        # Three bytes are four characters in base64.
        blob = "" if len(body) > far_above_characters(room) else base64.b64encode(body).decode()
        if len(body) > len(blob) or count_tokens(blob) > room:
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
        """The messages of a prompt, with its arguments filled in."""
        call = ToolCall(name="prompts/get", parameters={"name": name, **arguments}, caller=caller, door=door)
        async with self._admitted(call, name):
            pack, prompt = self._prompt(name)
            _check_arguments(prompt, arguments)
            context = self._context(pack, conversation, call, arguments.get(INSTANCE))
            messages = await _in_time(prompt.render(context, arguments))
            return prompt, await offload_if_large(messages, self._fitted, messages)

    def _fitted(self, messages: Sequence[PromptMessage]) -> list[dict[str, Any]]:
        """The messages share the budget of one answer."""
        check_size(messages)
        room = self._responses.max_tokens - len(messages) * _MESSAGE_TOKENS
        if room < 0:
            raise AnswerTooLargeError(f"The prompt has {len(messages):,} messages, which do not fit the budget.")
        if any(message.role not in _ROLES for message in messages):
            raise ValueError("a message of a prompt has a role that the protocol does not know")
        sizes = [self._tokens(message) for message in messages]
        shares = share_out(sizes, room)
        budgets = [None if share >= size else max(share, 1) for share, size in zip(shares, sizes, strict=True)]
        built = map(self._built, messages, budgets)
        rendered = zip(messages, built, strict=True)
        return [{"role": message.role, "content": block} for message, result in rendered for block in result.content]

    def _tokens(self, message: PromptMessage) -> int:
        """What a message would need. A long text is counted, because to cut it takes many times as long."""
        if isinstance(message.content, str) and len(message.content) > self._responses.max_tokens:
            return count_tokens(message.content)
        return self._built(message, None).tokens

    def _built(self, message: PromptMessage, share: int | None) -> ToolResult:
        """Build one message. The result of a call that failed, or that asks a question, is refused."""
        result = self._responses.for_call(share).success(message.content, in_pieces=True)
        if result.error is not None:
            raise result.error
        if result.pending is not None:
            raise CapabilityRequiredError(*map(capability_of, list(result.pending.values())[:1]))
        return result

    async def complete(
        self, reference: str, argument: str, value: str, others: Mapping[str, str], *, caller: Caller, door: Door
    ) -> list[str]:
        """Complete an argument. `reference` is the name of a prompt or the URI of a template."""
        call = ToolCall(name="completion/complete", parameters={argument: value}, caller=caller, door=door)
        async with self._admitted(call, reference):
            pack, complete = self._completer(reference, argument)
            if complete is None:
                return []
            context = self._context(pack, SILENCE, call, self._instance_of(reference, others))
            values = await _in_time(complete(context, value, others))
            return await offload_if_large(values, self._completions, values)

    def _completions(self, values: Sequence[str]) -> list[str]:
        shown = [self._short(one) for one in values[:_MOST_COMPLETIONS]]
        return shown[: take_whole((count_tokens(encode(one)) + 1 for one in shown), self._responses.max_tokens)]

    def _short(self, completion: str) -> str:
        # A secret that is cut in the middle would not be recognised, so much more is masked than is shown.
        masked = self._responses.redactor.mask_configured(clean_text(completion[: 20 * _LONGEST_COMPLETION]))
        return masked[:_LONGEST_COMPLETION]

    @asynccontextmanager
    async def _admitted(self, call: ToolCall, named: str) -> AsyncIterator[None]:
        """Record, count and limit a read like a call. An unknown name is reported inside."""
        pack = self.home_of(call.name, named)
        with observed(self.observers, call, pack):
            await self._policy.check_rate(call)
            self._policy.check_fresh()
            if pack is not None:
                self._check_scope(pack, call.caller)
            with self._policy.place(call):
                async with self._policy.shared_place(call):
                    yield

    def subscribe(self, listener: Callable[[CatalogChange], None]) -> Callable[[], None]:
        """Call the listener with every change, until the returned function is called."""
        return self._subscribers.add(listener)

    def changed(self, change: CatalogChange) -> None:
        self._subscribers.tell(change)
        if self._news is not None:
            self._news.publish(change.kind, change.uri)

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

    def _instance_of(self, reference: str, arguments: Mapping[str, str]) -> str | None:
        if reference in self._templates:
            return self._templates[reference][1].instance
        return arguments.get(INSTANCE)

    def _context(self, pack: str, conversation: Conversation, call: ToolCall, instance: str | None) -> Context[Any]:
        parts = self._packs.get(pack, NO_PARTS)
        service = parts if parts.accesses is None else parts.accesses.access(call.caller, call.door, instance)
        redacted = RedactedConversation(conversation, self._responses)
        return Context(
            client=service.client,
            settings=service.settings,
            responses=self._responses,
            conversation=redacted,
            caller=call.caller,
            door=call.door,
        )


def _as_json(data: Any) -> str:
    if has_more_values(data, _MOST_VALUES) or has_more_values(data, _MOST_CHARACTERS, 1):
        # Encoding it is one long step in C, and a cut between lines would leave nothing that can be read as JSON.
        message = f"The resource has more than {_MOST_VALUES:,} values or {_MOST_CHARACTERS:,} characters of data."
        raise AnswerTooLargeError(message)
    return encode(data)


async def _in_time(work: Awaitable[ResultT]) -> ResultT:
    """Run code of an author. It can neither take too long, nor end the server as `sys.exit()` would."""
    with anyio.move_on_after(_MOST_SECONDS):
        try:
            return await work
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise RuntimeError("it raised CancelledError although nobody cancelled it") from None
        except BaseException as error:
            if isinstance(error, Exception):
                raise
            # In the task of a session, any other exception would end all sessions.
            raise RuntimeError(f"it raised {type(error).__name__}") from error
    raise ToolTimeoutError(f"Execution timeout after {round(_MOST_SECONDS * 1000)}ms")


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    if key in table:
        raise ValueError(f"{key} is there twice")
    table[key] = value


def _drop(table: Any, pack: str, key: str) -> None:
    if key in table and table[key][0] == pack:
        del table[key]


def _check_arguments(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    known = {argument.name for argument in prompt.arguments}
    missing = [one.name for one in prompt.arguments if one.required and not arguments.get(one.name)]
    unknown = [name[:64] for name in arguments if name not in known]
    wrong = [Complaint.of(name, f"Required parameter missing: {name}") for name in missing]
    wrong += [Complaint.of(name, f"Unknown parameter: {name}") for name in unknown]
    if wrong:
        raise collected(wrong)
