"""`UpstreamCalls`: the client of a server's tools, resources and prompts. It asks to sign in where that is needed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, runtime_checkable

import structlog

from dogubako.contract.context import Context
from dogubako.contract.conversation import URL_ELICITATION
from dogubako.contract.errors import CredentialRequiredError, DogubakoError
from dogubako.contract.storage import SharedStore
from dogubako.gate.scopes import ADMIN
from dogubako.gateway.keeper import UpstreamState
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_in_flows import SignInFlows
from dogubako.gateway.sign_ins import SignInFailed

log = structlog.get_logger("dogubako.gateway")

# Who calls through these uses the machine that this server runs on.
_LOCAL_DOORS: Final = frozenset({"python", "stdio", "cli"})
# Clients answer as soon as their user agreed to open a page. A call waits this long for the rest; the next one goes on.
WAIT_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.1


class UpstreamClient(Protocol):
    """A connection to a server, as the pack uses it. `Upstream` is one."""

    @property
    def state(self) -> UpstreamState: ...

    async def run(self) -> None: ...

    async def restart(self) -> None: ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Any: ...

    async def read_resource(self, uri: str, context: Context[Any] | None = None) -> list[dict[str, Any]]: ...

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context[Any] | None = None
    ) -> list[dict[str, Any]]: ...

    async def complete(
        self, ref: dict[str, Any], argument: str, value: str, filled: Mapping[str, str] | None = None
    ) -> list[str]: ...


@runtime_checkable
class Subscriber(Protocol):
    """A connection that can report changes of resources."""

    async def subscribe(self, uri: str) -> None: ...


async def subscribe(upstream: Subscriber, uri: str) -> None:
    """Have changes of a resource reported, now or as soon as the server is back."""
    try:
        await upstream.subscribe(uri)
    except DogubakoError as error:
        log.info("A resource cannot be watched now", uri=uri, code=error.code)


class SignInQuestion:
    """Asks the user of a client to sign in at one server: for its caller, or for all callers (`caller` is empty)."""

    def __init__(self, server: str, settings: ServerSettings, flows: SignInFlows, caller: str = "") -> None:
        self._server = server
        self._settings = settings
        self._flows = flows
        self._caller = caller

    @property
    def signed_in_at(self) -> float:
        return self._flows.signed_in_at(self._server, self._caller)

    def refuse_signed_out(self) -> None:
        """A caller that has not signed in gets no connection: the server might serve somebody without a name."""
        if self._caller and not self.signed_in_at:
            raise CredentialRequiredError(f"The server '{self._server}' wants you to sign in with your own account.")

    async def ask(self, context: Context[Any], refused: CredentialRequiredError, before: float) -> None:
        """Have the user sign in, and wait a little. Raises `CredentialRequiredError` with what to do instead.

        A client of 2026-07-28 calls again with the answer: the address is the same then.
        """
        if not self._may_ask(context):
            raise self._hinted(refused)
        try:
            address = await self._address(context)
        except SignInFailed as error:
            raise CredentialRequiredError(refused.message, hint=str(error)) from error
        message = f"The server '{self._server}' wants you to sign in. Do you want to open its page?"
        answer = await context.ask_to_open(message, address, key="sign_in")
        if not answer.accepted:
            raise CredentialRequiredError(f"The user did not want to sign in at the server '{self._server}'.")
        until = time.monotonic() + WAIT_SECONDS
        while self.signed_in_at == before:
            if time.monotonic() > until:
                hint = "Call again when the user has finished signing in."
                raise CredentialRequiredError(f"The sign-in at '{self._server}' is not complete yet.", hint=hint)
            await asyncio.sleep(_LOOK_SECONDS)

    def _may_ask(self, context: Context[Any]) -> bool:
        """The sign-in of all callers belongs to the operator."""
        if not context.supports(URL_ELICITATION):
            return False
        if context.door in _LOCAL_DOORS:
            return True
        is_own = bool(self._caller) or (context.caller.authenticated and ADMIN in context.caller.scopes)
        return is_own and bool(self._flows.page_of(self._server))

    async def _address(self, context: Context[Any]) -> str:
        if context.door in _LOCAL_DOORS:
            return await self._flows.begin(self._server, self._settings, self._caller)
        # The console knows who opens it. An address that counts for whoever opens it could be sent to somebody else.
        return self._flows.page_of(self._server)

    def _hinted(self, refused: CredentialRequiredError) -> CredentialRequiredError:
        if not self._caller:
            return refused
        page = self._flows.page_of(self._server)
        hint = f"Sign in at {page} with your key for this server, then call again." if page else None
        return CredentialRequiredError(refused.message, hint=hint or "The operator has to set DOGUBAKO_PUBLIC_URL.")


class UpstreamCalls:
    """The client of the pack's tools: connects a server when it is first used."""

    def __init__(
        self,
        connect: Callable[[], UpstreamClient],
        question: SignInQuestion | None = None,
        shared: SharedStore | None = None,
    ) -> None:
        self.shared = shared
        self._connect = connect
        self._question = question

    @property
    def upstream(self) -> UpstreamClient:
        if self._question is not None:
            self._question.refuse_signed_out()
        return self._connect()

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Any:
        return await self._signed_in(
            context, lambda upstream: upstream.call_tool(name, arguments, context, idempotent=idempotent)
        )

    async def read_resource(self, uri: str, context: Context[Any]) -> Any:
        return await self._signed_in(context, lambda upstream: upstream.read_resource(uri, context))

    async def get_prompt(self, name: str, arguments: Mapping[str, str], context: Context[Any]) -> Any:
        return await self._signed_in(context, lambda upstream: upstream.get_prompt(name, arguments, context))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.upstream, name)

    async def _signed_in(self, context: Context[Any], work: Callable[[UpstreamClient], Awaitable[Any]]) -> Any:
        """Do the work; once more after the user signed in. A server that wants a sign-in has done nothing."""
        question = self._question
        if question is None:
            return await work(self._connect())
        before = question.signed_in_at
        try:
            return await work(self.upstream)
        except CredentialRequiredError as refused:
            await question.ask(context, refused, before)
        return await work(self.upstream)
