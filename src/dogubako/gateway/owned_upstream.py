"""A server that keeps state has one owner among the processes that share it; the others call it through the owner.

A process that was started as a child, and a session, exist once: a change that one call makes is seen by the next,
whichever process gets it. What the owner knows of the server (its definitions, its state) is told to all. A call that
was under way when its owner ended fails, and is repeated by the engine only if that is harmless.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import count
from typing import Any, Final

import structlog

from dogubako.contract.call import Caller
from dogubako.contract.context import Context
from dogubako.contract.owners import Owners
from dogubako.contract.storage import NoReply, NotDelivered
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.forwarding import CAPABILITIES, RemoteConversation, opened, outcome, said_to
from dogubako.gateway.keeper import UpstreamState
from dogubako.gateway.link import Message, UpstreamLost
from dogubako.gateway.messages import decoded, encoded
from dogubako.gateway.session import MODERN_VERSION
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.upstream import Upstream
from dogubako.gateway.upstream_calls import UpstreamClient
from dogubako.response.builder import ToolResponseBuilder

log = structlog.get_logger("dogubako.gateway")

# A call waits this long for an owner: the lease of one that was killed has ended by then.
_MOVE_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.5
# All processes that use one data folder see that a restart is asked for.
_RESTART_SECONDS: Final = 2.0
# Calls of other processes have this long when this one shuts down.
_FINISH_SECONDS: Final = 20.0
# As much as a message between processes may hold, with what is around it.
_MOST_BYTES: Final = 8 * 1024 * 1024 - 1024
_CALL: Final = "tools/call"
_UNREACHED: Final = "No process that runs it can be reached."
_UNSURE: Final = "Whether another process runs it by now is not known: the Redis of all processes does not answer."
_ENDED: Final = "The process that runs it ended during the call."
_NOT_STARTED: Final = "It could not be started ({error}); the log of the process that runs it has the reason."
# How long a process waits after an error that nobody foresaw.
_AGAIN_SECONDS: Final = 5.0


def connector(
    connect: Callable[..., UpstreamClient], settings: ServerSettings, definitions: Definitions, owners: Owners | None
) -> Callable[..., UpstreamClient]:
    """How a server is connected: by one process for all, where several share it and it keeps state."""
    if owners is None or settings.table != ServerSettings.table or not _has_one_owner(settings, definitions):
        return connect
    return partial(OwnedUpstream, owners, connect)


def _has_one_owner(settings: ServerSettings, definitions: Definitions) -> bool:
    """As set; else for all but HTTP servers of the revision that has no sessions."""
    if settings.processes is not None:
        return settings.processes == "one"
    return settings.kind != "http" or definitions.protocol != MODERN_VERSION


class OwnedUpstream(Upstream):
    """One server that one of several processes runs: this one, or another that it is called through."""

    def __init__(
        self,
        owners: Owners,
        connect: Callable[..., UpstreamClient],
        name: str,
        settings: ServerSettings,
        *,
        on_definitions: Callable[[Definitions], None],
        on_resource_updated: Callable[[str], None],
    ) -> None:
        super().__init__(name, settings, on_definitions=on_definitions, on_resource_updated=on_resource_updated)
        self._owners = owners
        self._connect = connect
        self._messages = owners.messages
        self._topic = f"server {name}"
        self._moved = asyncio.Event()
        # The server, while this process owns it.
        self._local: Upstream | None = None
        self._told: Definitions | None = None
        self._numbers = count(1)
        self._calls: dict[int, Context[Any]] = {}
        self._restarted_at = 0.0
        self._background: set[asyncio.Task[None]] = set()
        # Calls of other processes that run here.
        self._serving: set[asyncio.Task[Any]] = set()
        self._leaving = False
        # Why this process, which owns the server, cannot run it.
        self._fault: str | None = None

    @property
    def state(self) -> UpstreamState:
        return self._local.state if self._local is not None else self._state

    async def run(self) -> None:
        """Run the server while this process owns it, else follow the process that does."""
        self._messages.handle(self._topic, self._hear)
        try:
            await self._owners.join(self._topic, self._moved.set)
            task = asyncio.current_task()
            # The client of Redis swallows a cancellation while it connects.
            while task is None or not task.cancelling():
                self._moved.clear()
                work = self._keep_owning() if self._owners.owns(self._topic) else self._follow()
                working = asyncio.create_task(work)
                try:
                    await self._moved.wait()
                except asyncio.CancelledError:
                    await self._finish_calls()
                    raise
                finally:
                    working.cancel()
                    await asyncio.wait({working})
        finally:
            self._set_state("stopped")
            await self._owners.leave(self._topic, self._moved.set)

    async def _finish_calls(self) -> None:
        """Finish the calls of other processes before the server ends. New ones wait for the next owner."""
        self._leaving = True
        if self._serving:
            await asyncio.wait(self._serving, timeout=_FINISH_SECONDS)

    async def _keep_owning(self) -> None:
        """Run the server. After an error that nobody foresaw, callers are told at once, and it is tried again."""
        while True:
            try:
                await self._own()
            except Exception as error:
                log.error("Running an MCP server for all failed", server=self.name, exc_info=error)
                self._fault = _NOT_STARTED.format(error=type(error).__name__)
                self._set_state("unreachable", self._fault)
                self._have_all_look()
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _own(self) -> None:
        log.info("This process runs an MCP server for all", server=self.name)
        callbacks = {"on_definitions": self._defined, "on_resource_updated": self._on_resource_updated}
        local = self._connect(self.name, self.settings, **callbacks)
        assert isinstance(local, Upstream)
        local.on_state = self._tell_all
        local.subscribed |= self.subscribed
        self._local, self._fault = local, None
        try:
            await local.run()
        finally:
            self._local = None
            self._set_state("starting", "Another process takes it over.")

    async def _follow(self) -> None:
        self._fault = None
        owner = self._owners.owner_of(self._topic)
        if owner is None:
            self._set_state("unreachable", "The processes that share it cannot agree on one that runs it.")
            return
        self._set_state("starting", "Another process runs it.")
        await self._look(owner)
        for uri in self.subscribed:
            with suppress(NotDelivered, NoReply):
                await self._send(owner, {"subscribe": uri})

    # What the owner tells.

    def _defined(self, definitions: Definitions) -> None:
        self._told = definitions
        self._on_definitions(definitions)
        self._tell_all()

    def _tell_all(self) -> None:
        """Have others look. What they see would be kept for long if it were sent to all of them."""
        if self._local is not None and self._local.state.name != "stopped":
            self._have_all_look()

    def _have_all_look(self) -> None:
        async def send() -> None:
            with suppress(NotDelivered):
                await self._messages.broadcast(self._topic, encoded({"changed": True}))

        self._soon(send())

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _look(self, owner: str) -> None:
        with suppress(NotDelivered, NoReply):
            self._take(await self._send(owner, {"look": True}))

    def _take(self, told: Message) -> None:
        if isinstance(state := told.get("state"), dict):
            self._state = UpstreamState(**state)
        if isinstance(found := told.get("definitions"), dict):
            faults = tuple(found.pop("faults", ()))
            definitions = Definitions.of(protocol=str(found.pop("protocol", "")), **found)
            self._on_definitions(Definitions(**{**vars(definitions), "faults": faults}))

    # Calls.

    async def answered(self, method: str, params: Message, context: Context[Any] | None = None) -> Message:
        until = time.monotonic() + _MOVE_SECONDS
        while True:
            local, holds = self._local, self._owners.holds(self._topic)
            if local is not None and (holds or method != _CALL):
                return await local.answered(method, params, context)
            if self._fault is not None:
                raise UpstreamLost(self._fault, may_have_run=False)
            owner = self._owners.owner_of(self._topic)
            if owner is not None and not self._owners.owns(self._topic):
                try:
                    return await self._through(owner, {"method": method, "params": params}, context)
                except NotDelivered:
                    pass
                except NoReply:
                    raise UpstreamLost(_ENDED) from None
            if time.monotonic() > until:
                raise UpstreamLost(_UNREACHED if local is None else _UNSURE, may_have_run=False)
            # Nothing was done: whoever owns it next gets the call.
            await asyncio.sleep(_LOOK_SECONDS)

    async def _through(self, owner: str, request: Message, context: Context[Any] | None) -> Message:
        if context is None:
            return opened(await self._send(owner, {"call": request}))
        number = next(self._numbers)
        self._calls[number] = context
        client = {
            "number": number,
            "name": context.caller.name,
            "id": context.caller.id,
            "supports": [one for one in CAPABILITIES if context.supports(one)],
        }
        try:
            return opened(await self._send(owner, {"call": request, "client": client}))
        finally:
            del self._calls[number]

    async def _send(self, process: str, message: Message) -> Message:
        reply = decoded(await self._messages.request(process, self._topic, encoded(message)))
        if not isinstance(reply, dict) or "moved" in reply:
            # It was the owner a moment ago.
            raise NotDelivered
        return reply

    async def lacks(self, tool: str) -> bool:
        return await self._local.lacks(tool) if self._local is not None else False

    async def restart(self) -> None:
        owner = self._owners.owner_of(self._topic)
        if self._local is not None:
            self._restarted_at = time.monotonic()
            await self._local.restart()
        elif owner is not None:
            with suppress(NotDelivered, NoReply):
                await self._send(owner, {"restart": True})

    async def subscribe(self, uri: str) -> None:
        self.subscribed.add(uri)
        owner = self._owners.owner_of(self._topic)
        if self._local is not None:
            await self._local.subscribe(uri)
        elif owner is not None:
            with suppress(NotDelivered, NoReply):
                await self._send(owner, {"subscribe": uri})

    async def unsubscribe(self, uri: str) -> None:
        self.subscribed.discard(uri)
        if self._local is not None:
            await self._local.unsubscribe(uri)

    # What other processes send.

    async def _hear(self, payload: bytes, sender: str) -> bytes:
        message = decoded(payload)
        if not isinstance(message, dict) or sender == self._messages.process:
            return b"{}"
        if "said" in message:
            context = self._calls.get(message.get("number", 0))
            return encoded(await said_to(context.conversation, message["said"])) if context is not None else b"{}"
        if (local := self._local) is not None and not self._leaving:
            if "call" in message and not self._owners.holds(self._topic):
                return encoded({"moved": True})
            return await self._served(local, message, sender)
        if self._fault is not None and not self._leaving:
            return encoded({"lost": [self._fault, False], "state": asdict(self._state)})
        if "changed" in message:
            await self._look(sender)
        return encoded({"moved": True})

    async def _served(self, local: Upstream, message: Message, sender: str) -> bytes:
        if "call" in message:
            return await self._called(local, message, sender)
        if "subscribe" in message:
            await local.subscribe(message["subscribe"])
        elif "restart" in message and time.monotonic() - self._restarted_at > _RESTART_SECONDS:
            self._restarted_at = time.monotonic()
            await local.restart()
        elif "look" in message:
            known = {"definitions": _written(self._told)} if self._told is not None else {}
            shown = encoded({"state": asdict(local.state), **known})
            if len(shown) <= _MOST_BYTES:
                return shown
            log.warning("What a server offers is too much for other processes", server=self.name, bytes=len(shown))
            return encoded({"state": asdict(local.state)})
        return b"{}"

    async def _called(self, local: Upstream, message: Message, sender: str) -> bytes:
        request, client = message["call"], message.get("client")
        context = None if client is None else self._context_of(client, sender)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        answer = encoded(await outcome(local.answered(request["method"], request["params"], context)))
        if len(answer) > _MOST_BYTES:
            reason = f"The answer is larger than {_MOST_BYTES // 1024**2 + 1} MB, and another process runs the server."
            return encoded({"too_long": reason})
        return answer

    def _context_of(self, client: Message, sender: str) -> Context[Any]:
        async def tell(said: Message) -> Message:
            try:
                return await self._send(sender, {"said": said, "number": client["number"]})
            except (NotDelivered, NoReply):
                return {"lost": ["The process that got the call is gone.", True]}

        return Context(
            client=None,
            responses=ToolResponseBuilder(),
            conversation=RemoteConversation(client["supports"], tell),
            caller=Caller(name=client["name"], id=client["id"]),
            door="http",
        )


def _written(definitions: Definitions) -> Message:
    return dict(vars(definitions))
