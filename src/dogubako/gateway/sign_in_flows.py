"""Sign-ins under way: who began each one, the address that its browser goes to, and how it ended."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import structlog

from dogubako.contract.storage import NoReply, NotDelivered, ProcessMessages, SharedStore
from dogubako.gateway.messages import decoded, encoded
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_ins import RedirectTarget, SignInFailed, SignIns

log = structlog.get_logger("dogubako.gateway")

# The page of the console for one server, and the page that browsers come back to.
PAGE: Final = "/console/sign-in-at"
RETURN_PAGE: Final = "/console/signed-in"
_MOST_FLOWS: Final = 200
# How long the server may take to exchange a code for tokens.
_FINISH_SECONDS: Final = 60.0
# How long it is known which process began a sign-in: as long as a person may take.
_BEGUN_SECONDS: Final = 600.0
_TOPIC: Final = "sign-in"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Flow:
    task: "asyncio.Task[bool]"
    address: "asyncio.Future[str]"
    query: "asyncio.Future[dict[str, str]]"
    redirect_uri: str

    @property
    def state(self) -> str:
        """What the browser has to bring back. Nobody can guess it."""
        if not self.address.done() or self.address.cancelled():
            return ""
        return parse_qs(urlsplit(self.address.result()).query).get("state", [""])[0]


class SignInFlows:
    """Begins and completes sign-ins, one at a time for each caller and server."""

    def __init__(self, sign_ins: SignIns, base: str = "") -> None:
        """`base` is the address at which browsers reach the console; empty if they cannot."""
        self.sign_ins = sign_ins
        self._base = base
        self._flows: dict[tuple[str, str], _Flow] = {}
        self._messages: ProcessMessages | None = None
        self._store: SharedStore | None = None

    def share(self, messages: ProcessMessages, store: SharedStore) -> None:
        """Let browsers come back to any process: it asks the one that began the sign-in to complete it."""
        self._messages, self._store = messages, store
        messages.handle(_TOPIC, self._hear)

    def page_of(self, server: str) -> str:
        """The page of the console on which a caller signs in at a server; empty if there is none."""
        return f"{self._base}{PAGE}/{quote(server)}" if self._base else ""

    def signed_in_at(self, server: str, caller: str) -> float:
        """When the tokens of a caller for a server last changed; 0 for a caller that has not signed in."""
        return self.sign_ins.of(caller).changed_at(server)

    async def begin(
        self, server: str, settings: ServerSettings, account: str, *, owner: str = "", redirect_uri: str = ""
    ) -> str:
        """Begin a sign-in. Returns the address of the page to sign in at, or raises `SignInFailed`.

        `account` is the caller that it counts for, empty for all; `owner` is the caller that has to complete it.
        Without `redirect_uri` the browser comes back to a port of this machine; such a sign-in, once begun, is the same
        for everybody who asks while it waits.
        """
        key = owner, server
        known = self._flows.get(key)
        if known is not None and not redirect_uri and not known.redirect_uri and known.state:
            return known.address.result()
        if known is not None:
            known.task.cancel()
        flow = self._flows[key] = self._started(server, settings, account, redirect_uri)
        flow.task.add_done_callback(lambda task: self._ended(key, flow))
        if len(self._flows) > _MOST_FLOWS:
            next(iter(self._flows.values())).task.cancel()
        either: set[asyncio.Future[Any]] = {flow.task, flow.address}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if flow.address.done():
            if self._store is not None and self._messages is not None and redirect_uri:
                process = self._messages.process.encode()
                await self._store.put(f"sign-in {flow.state}", process, ttl=_BEGUN_SECONDS)
            return flow.address.result()
        if not flow.task.cancelled() and (error := flow.task.exception()) is not None:
            raise error if isinstance(error, SignInFailed) else SignInFailed("The sign-in could not be begun.")
        raise SignInFailed(f"The server '{server}' wants nobody to sign in.")

    async def finish(self, owner: str, query: Mapping[str, str]) -> str:
        """Complete the sign-in that this caller began, with what its browser brought. Returns the server's name."""
        begun_by = await self._begun_by(query.get("state", ""))
        if begun_by is None or self._messages is None:
            return await self._finish_here(owner, query)
        try:
            message = encoded({"owner": owner, "query": dict(query)})
            reply = decoded(await self._messages.request(begun_by, _TOPIC, message))
        except (NotDelivered, NoReply):
            raise SignInFailed("The process that began this sign-in has ended. Begin again.") from None
        if not isinstance(reply, dict) or "server" not in reply:
            raise SignInFailed(str(reply.get("failed", "")) if isinstance(reply, dict) else "The sign-in failed.")
        return str(reply["server"])

    async def _begun_by(self, state: str) -> str | None:
        """The other process that began a sign-in; None if it was this one, or nobody knows."""
        if self._store is None or self._messages is None or any(one.state == state for one in self._flows.values()):
            return None
        process = await self._store.get(f"sign-in {state}") if state else None
        return process.decode() if process is not None and process.decode() != self._messages.process else None

    async def _hear(self, payload: bytes, sender: str) -> bytes:
        message = decoded(payload)
        try:
            return encoded({"server": await self._finish_here(message["owner"], message["query"])})
        except SignInFailed as error:
            return encoded({"failed": str(error)})

    async def _finish_here(self, owner: str, query: Mapping[str, str]) -> str:
        state = query.get("state", "")
        found = [(key[1], flow) for key, flow in self._flows.items() if key[0] == owner and flow.state == state != ""]
        if not found or found[0][1].query.done():
            raise SignInFailed("This sign-in is unknown or has expired. Begin again.")
        server, flow = found[0]
        flow.query.set_result(dict(query))
        await asyncio.wait({flow.task}, timeout=_FINISH_SECONDS)
        if not flow.task.done():
            flow.task.cancel()
            raise SignInFailed("The server did not answer in time.")
        if flow.task.cancelled() or isinstance(flow.task.exception(), SignInFailed):
            error = None if flow.task.cancelled() else flow.task.exception()
            raise error or SignInFailed("The sign-in was ended. Begin again.")
        if flow.task.exception() is not None or not flow.task.result():
            raise SignInFailed("The sign-in failed.")
        return server

    def end(self, server: str) -> None:
        """End the sign-ins at a server that are not complete."""
        for key, flow in self._flows.items():
            if key[1] == server:
                flow.task.cancel()

    def _started(self, server: str, settings: ServerSettings, account: str, redirect_uri: str) -> _Flow:
        loop = asyncio.get_running_loop()
        address: asyncio.Future[str] = loop.create_future()
        query: asyncio.Future[dict[str, str]] = loop.create_future()

        async def show(found: str) -> None:
            if not address.done():
                address.set_result(found)

        async def brought() -> dict[str, str]:
            return await query

        redirect_target = RedirectTarget(redirect_uri, brought) if redirect_uri else None
        work = self.sign_ins.of(account).sign_in(server, settings, show, redirect_target)
        task = loop.create_task(work, name=f"sign in at {server}")
        return _Flow(task=task, address=address, query=query, redirect_uri=redirect_uri)

    def _ended(self, key: tuple[str, str], flow: _Flow) -> None:
        if self._flows.get(key) is flow:
            del self._flows[key]
        error = None if flow.task.cancelled() else flow.task.exception()
        if error is not None:
            log.warning("A sign-in at an MCP server failed", server=key[1], error=type(error).__name__)
        elif not flow.task.cancelled() and flow.task.result():
            log.info("Signed in at an MCP server", server=key[1])
