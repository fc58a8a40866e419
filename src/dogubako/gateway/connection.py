"""One connection of a server: its link and session, its definitions, and what keeps them up to date."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import structlog

from dogubako.contract.gateway_ids import GatewayIds
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.handshake import connect
from dogubako.gateway.http_link import HttpLink
from dogubako.gateway.isolation import Program, isolated, variables_for
from dogubako.gateway.link import Link, Message, UpstreamError, UpstreamLost, WrongConfiguration
from dogubako.gateway.messages import encoded
from dogubako.gateway.pending_requests import Acknowledged, Answered, Failed
from dogubako.gateway.session import Era, UpstreamSession
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.skills import offers_skills
from dogubako.gateway.sse_link import SseLink
from dogubako.gateway.stdio_link import StdioLink, last_line
from dogubako.gateway.stdio_process import ChildCommand

log = structlog.get_logger("dogubako.gateway")

_MEGABYTE: Final = 1024 * 1024
# The largest list that we know takes 4 seconds.
_LIST_SECONDS: Final = 60.0
# JSON-RPC's internal error, as for other answers that cannot be read.
_NO_LIST: Final = -32603
_MOST_PAGES: Final = 200
_MOST_LIST_BYTES: Final = 64 * _MEGABYTE
# A server may announce many changes at once; the lists are fetched once for all of them.
DEBOUNCE_SECONDS: Final = 0.5
_LISTEN_AGAIN_SECONDS: Final = 5.0
# A server that does not say that it listens is listed all the same.
_ACKNOWLEDGE_SECONDS: Final = 2.0
_MOST_LISTINGS: Final = 5
_LONGEST_REASON: Final = 300
# A list, its key in the result, and the capability that announces it.
_LISTS: Final = (
    ("tools", "tools/list", "tools", "tools"),
    ("resources", "resources/list", "resources", "resources"),
    ("templates", "resources/templates/list", "resourceTemplates", "resources"),
    ("prompts", "prompts/list", "prompts", "prompts"),
)


async def open_connection(
    link: Link, era: Era | None, *, subscribed: Iterable[str], on_updated: Callable[[str], None]
) -> "Connection":
    """Connect to a server and read its lists. Ends what it started if that fails."""
    connection = Connection(link, on_updated)
    opened = False
    try:
        await connect(connection.session, era)
        await connection.listen()
        connection.definitions = await connection.read_lists()
        for uri in subscribed:
            await connection.subscribe(uri)
        opened = True
    except TimeoutError as error:
        if wrote := last_line(link.diagnostics):
            raise UpstreamLost(f"It did not answer in time. It wrote: {wrote}") from error
        raise
    finally:
        if not opened:
            await connection.close()
    return connection


def link_of(settings: ServerSettings, *, auth: Any = None, gateways: GatewayIds | None = None) -> Link:
    """The transport of a server. `auth` signs its HTTP requests, where somebody has signed in."""
    if settings.kind == "sse":
        return SseLink(settings, auth=auth)
    if settings.command is None:
        return HttpLink(settings, auth=auth, gateways=gateways)
    return StdioLink(_command_of(settings))


def why_not_startable(settings: ServerSettings) -> str | None:
    """Why a server cannot be started on this machine; None if nothing is known against it."""
    try:
        if settings.command is not None:
            _command_of(settings).resolved()
    except WrongConfiguration as error:
        return str(error)
    return None


def _command_of(settings: ServerSettings) -> ChildCommand:
    program = Program(
        command=settings.command or "",
        args=settings.args,
        cwd=settings.cwd,
        folders=settings.folders,
        variables=[*settings.env],
        memory=settings.memory_limit,
    )
    env = {name: value.get_secret_value() for name, value in settings.env.items()}
    command, *args = isolated(settings.run_as, program, env.get("PATH"))
    return ChildCommand(
        command=command,
        args=args,
        env={**variables_for(settings.run_as), **env},
        cwd=settings.cwd,
        memory_limit=settings.memory_limit * _MEGABYTE or None,
    )


class Connection:
    """An open connection. `keep` returns when it has ended."""

    def __init__(self, link: Link, on_updated: Callable[[str], None]) -> None:
        self.link = link
        self.session = UpstreamSession(link, self)
        self.definitions = Definitions()
        self.end_reason = ""
        # Whether the server refused a request until somebody signs in.
        self.needs_sign_in = False
        self._on_updated = on_updated
        self._event = asyncio.Event()
        self._changed_at: float | None = None
        self._users = 0
        self._last_used = time.monotonic()
        self._subscribed: set[str] = set()
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged = asyncio.Event()
        self._has_lists = False
        # Listings that failed since the last one that did not.
        self._failures = 0

    @property
    def is_open(self) -> bool:
        return not self.end_reason

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the connection from falling asleep."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._last_used = time.monotonic()

    async def keep(self, idle_timeout: float | None, on_definitions: Callable[[Definitions], None]) -> bool:
        """Wait for the end; read the lists again when they change. True if nobody used it for the idle timeout."""
        while self.is_open:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds_to_wait(idle_timeout)):
                    await self._event.wait()
            self._event.clear()
            now = time.monotonic()
            if self.is_open and self._changed_at is not None and now - self._changed_at >= DEBOUNCE_SECONDS:
                self._changed_at = None
                await self._read_again(on_definitions)
            elif idle_timeout is not None and not self._users and now - self._last_used >= idle_timeout:
                return True
        return False

    def _seconds_to_wait(self, idle_timeout: float | None) -> float | None:
        now = time.monotonic()
        waits = []
        if self._changed_at is not None:
            waits.append(self._changed_at + DEBOUNCE_SECONDS - now)
        if idle_timeout is not None:
            waits.append(idle_timeout if self._users else self._last_used + idle_timeout - now)
        return max(0.0, min(waits)) if waits else None

    async def _read_again(self, on_definitions: Callable[[Definitions], None]) -> None:
        try:
            definitions = await self.read_lists()
        except (UpstreamError, UpstreamLost, TimeoutError) as error:
            log.warning("The lists of an MCP server could not be read again", reason=str(error)[:_LONGEST_REASON])
            self._failures += 1
            if self.is_open and self._failures < _MOST_LISTINGS:
                # Nobody announces the same change twice.
                self.list_changed()
            return
        self._failures = 0
        if definitions != self.definitions:
            self.definitions = definitions
            on_definitions(definitions)

    # The lists.

    async def read_lists(self) -> Definitions:
        """Everything that the server offers. A list that it does not have is empty."""
        session = self.session
        lists = {}
        for name, method, key, capability in _LISTS:
            if capability in session.capabilities:
                lists[name] = [item async for item in self._items(method, key)]
        if offers_skills(session.capabilities):
            lists["skills"] = [item async for item in self._items("skills/list", "skills")]
        definitions = Definitions.of(
            info=session.info,
            instructions=session.instructions,
            protocol=session.protocol,
            capabilities=session.capabilities,
            **lists,
        )
        self._has_lists = True
        refused = self.link.learn(definitions.tools)
        faults = tuple(f"Tool {name[:64]} {reason}." for name, reason in refused.items())
        usable = tuple(tool for tool in definitions.tools if tool["name"] not in refused)
        return replace(definitions, tools=usable, faults=definitions.faults + faults)

    async def tool_names(self) -> set[str]:
        """The names of the tools that the server has now."""
        return {str(item.get("name")) async for item in self._items("tools/list", "tools") if isinstance(item, dict)}

    async def _items(self, method: str, key: str) -> AsyncIterator[Any]:
        cursor, seen, size = None, set(), 0
        for _ in range(_MOST_PAGES):
            params: Message = {} if cursor is None else {"cursor": cursor}
            try:
                page = await self.session.request(method, params, seconds=_LIST_SECONDS)
            except UpstreamError:
                if cursor is None and method != "tools/list":
                    # Servers announce lists that they do not have.
                    return
                raise
            size += len(encoded(page))
            if size > _MOST_LIST_BYTES:
                log.warning("A list of an MCP server is too large; its rest is left out", method=method)
                return
            items = page.get(key)
            if method == "tools/list" and not isinstance(items, list):
                # Whatever it is, it does not say that the tools are gone.
                raise UpstreamError(_NO_LIST, "Its answer is no list of tools.")
            for item in items if isinstance(items, list) else ():
                yield item
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                return
            seen.add(cursor)

    # Subscriptions.

    async def subscribe(self, uri: str) -> None:
        """Have changes of a resource reported."""
        self._subscribed.add(uri)
        if self.session.era == "modern":
            self._listen()
        else:
            with suppress(UpstreamError):
                await self.session.request("resources/subscribe", {"uri": uri})

    async def unsubscribe(self, uri: str) -> None:
        self._subscribed.discard(uri)
        if self.session.era == "modern":
            self._listen()
        else:
            with suppress(UpstreamError, UpstreamLost):
                await self.session.request("resources/unsubscribe", {"uri": uri})

    async def listen(self) -> None:
        """Have changes reported before the lists are read: one that came between the two would be missed."""
        self._listen()
        if self._listening is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ACKNOWLEDGE_SECONDS):
                    await self._acknowledged.wait()

    def _listen(self) -> None:
        """Have changes reported by a modern server: with one request that stays open."""
        before, self._listening = self._listening, None
        wanted: Message = {
            f"{kind}ListChanged": True
            for kind in ("tools", "resources", "prompts")
            if _declares(self.session.capabilities, kind, "listChanged")
        }
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        if self.session.era == "modern" and wanted and self.is_open:
            work = self._listen_to(wanted, before)
            self._listening = asyncio.get_running_loop().create_task(work, name="listen to changes")
        elif before is not None:
            before.cancel()

    async def _listen_to(self, wanted: Message, before: "asyncio.Task[None] | None") -> None:
        """Listen, and end an earlier request for fewer changes as soon as this one is acknowledged."""
        try:
            await self._listen_on(wanted, before)
        finally:
            self._acknowledged.set()
            if before is not None:
                before.cancel()

    async def _listen_on(self, wanted: Message, before: "asyncio.Task[None] | None") -> None:
        while self.is_open:
            try:
                pending = await self.session.start("subscriptions/listen", {"notifications": wanted})
            except UpstreamLost:
                return
            try:
                while not isinstance(event := await pending.next(), Answered | Failed):
                    if isinstance(event, Acknowledged):
                        self._listens_now(before)
            finally:
                self.session.abandon(pending)
            if isinstance(event, Failed) and isinstance(event.error, UpstreamError):
                log.info("An MCP server does not report changes", reason=event.error.message[:_LONGEST_REASON])
                return
            # What changed meanwhile was not reported.
            self.list_changed()
            await asyncio.sleep(_LISTEN_AGAIN_SECONDS)

    def _listens_now(self, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            before.cancel()
        if not self._acknowledged.is_set() and self._has_lists:
            # It took so long that the lists were read before.
            self.list_changed()
        self._acknowledged.set()

    # The end.

    def end(self, reason: str) -> None:
        """Let `keep` return."""
        self.end_reason = self.end_reason or reason
        self._event.set()

    async def close(self) -> None:
        """Close the connection and end the process, in order."""
        self.end("The connection was closed.")
        if self._listening is not None:
            self._listening.cancel()
        # A cancelled server must still end its children.
        closing = asyncio.ensure_future(self.session.close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait({closing})
            raise

    # What the session reports.

    def list_changed(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()
            self._event.set()

    def resource_updated(self, uri: str) -> None:
        self._on_updated(uri)

    def connection_lost(self, reason: str) -> None:
        self.end(reason)


def _declares(capabilities: Message, kind: str, flag: str) -> bool:
    declared = capabilities.get(kind)
    return isinstance(declared, dict) and bool(declared.get(flag))
