"""Add, remove, approve and restart MCP servers while the toolbox runs, for administrators."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import structlog

from dogubako.contract.call import Caller, CallObserver, Door, ToolCall
from dogubako.contract.errors import ApiError, AuthorizationError, NotFoundError, ReadOnlyError, ValidationError
from dogubako.contract.pack import secrets_of
from dogubako.contract.redaction import Redactor
from dogubako.engine.events import CallObservers, observed
from dogubako.engine.policy import Policy
from dogubako.gate.scopes import ADMIN
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.probe import probe
from dogubako.gateway.server_changes import LocalChanges, ServerChanges, Serving
from dogubako.gateway.server_views import server_detail, server_info
from dogubako.gateway.servers import Servers
from dogubako.gateway.settings import read_server, resolve
from dogubako.gateway.sign_in_flows import SignInFlows
from dogubako.gateway.sign_ins import SignInFailed
from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako.gateway")

# A request waits so long for a server that is added.
_CONNECT_SECONDS: Final = 60.0


class ServerAdministration:
    """What administrators may do with servers. Every act is counted and recorded like a call, also when refused."""

    def __init__(
        self,
        servers: Servers,
        box: Serving,
        policy: Policy,
        observer: CallObserver | None,
        *,
        check: Callable[[str], None],
        changes: ServerChanges | None = None,
    ) -> None:
        self._servers = servers
        self._box = box
        self._policy = policy
        self._observer = CallObservers(observer)
        self._changes = changes or LocalChanges(servers, box)
        # Raises where other processes would not hear of a change, and the server would disagree with itself.
        self._check_processes = check

    async def list(self, *, caller: Caller, door: Door) -> list[dict[str, Any]]:
        with observed(self._observer, _call("list", "", caller, door), None):
            self._policy.check_administration(caller)
            return [self._masked(server_info(pack)) for pack in self._servers.packs.values()]

    async def show(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]:
        with observed(self._observer, _call("show", name, caller, door), None):
            self._policy.check_administration(caller)
            return self._masked(server_detail(self._named(name)))

    async def add(
        self, name: str, table: Mapping[str, Any], *, approve: bool, caller: Caller, door: Door
    ) -> dict[str, Any]:
        """Connect a server once, enter it into the settings file and serve it. Approve its tools, or hold them back."""
        with observed(self._observer, _call("add", name, caller, door), None, changing=True):
            await self._check_change("add", caller, door)
            self._check_name(name)
            pack = await self._connected(name, table)
            # Another process may have added one of this name meanwhile.
            await self._changes.prepare()
            self._check_name(name)
            with _stored():
                await self._changes.add(pack, table, approve=approve)
        log.info("Server added", server=name, caller=caller.name)
        return self._masked(server_detail(self._named(name)))

    def _check_name(self, name: str) -> None:
        if name in self._servers.packs or name in self._box.packs or self._changes.names_in_files(name):
            raise ValidationError.of("name", "There is a server or a pack of this name already.")

    async def _connected(self, name: str, table: Mapping[str, Any]) -> ServerPack:
        try:
            settings = read_server(name, table)
            resolved = resolve(name, settings, self._servers.sources.environ)
        except SettingsError as error:
            raise ValidationError.of("settings", str(error)) from None
        self._box.redactor.add(*secrets_of(resolved))
        connect = self._servers.sources.connect
        found = await probe(name, resolved, seconds=_CONNECT_SECONDS, connect=connect)
        if found.definitions is None:
            reason = self._box.redactor.mask_all(found.state.reason) or found.state.name.replace("_", " ")
            raise ApiError(f"The server does not work: {reason}", hint="Nothing was changed.")
        pack = self._servers.made(name, settings)
        pack.look_at(found.definitions)
        return pack

    async def remove(self, name: str, *, caller: Caller, door: Door) -> None:
        with observed(self._observer, _call("remove", name, caller, door), None, changing=True):
            await self._check_change("remove", caller, door)
            self._named(name)
            with _stored():
                await self._changes.remove(name)
        log.info("Server removed", server=name, caller=caller.name)

    async def approve(self, name: str, tools: Sequence[str] | None, *, caller: Caller, door: Door) -> dict[str, Any]:
        with observed(self._observer, _call("approve", name, caller, door), None, changing=True):
            await self._check_change("approve", caller, door)
            self._named(name)
            with _stored(), _known_tools():
                await self._changes.approve(name, tools)
        log.info("Server approved", server=name, caller=caller.name)
        return self._masked(server_detail(self._named(name)))

    async def restart(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]:
        with observed(self._observer, _call("restart", name, caller, door), None, changing=True):
            await self._check_change("restart", caller, door)
            pack = self._named(name)
            if pack.missing is not None:
                raise ApiError(pack.missing.reason, hint=f"Set {pack.missing.setting} and start the toolbox again.")
            with _stored():
                await self._changes.restart(name)
        log.info("Server restarted", server=name, caller=caller.name)
        return self._masked(server_info(pack))

    # Sign-ins, also for callers that are no administrators.

    async def sign_in_state(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]:
        """Whether a caller has signed in at a server, and whose sign-in that is: `own` or `shared`."""
        with observed(self._observer, _call("sign-in-state", name, caller, door), None):
            account, flows = self._account(name, caller)
            signed_in = bool(flows.signed_in_at(name, account))
            return {"name": name, "account": "own" if account else "shared", "signedIn": signed_in}

    async def begin_sign_in(self, name: str, redirect_uri: str, *, caller: Caller, door: Door) -> str:
        """The address at which the caller's browser signs in."""
        with observed(self._observer, _call("sign-in", name, caller, door), None, changing=True):
            await self._policy.check_rate(_call("sign-in", name, caller, door))
            account, flows = self._account(name, caller)
            settings = self._named(name).server
            with _in_our_words():
                return await flows.begin(name, settings, account, owner=caller.id, redirect_uri=redirect_uri)

    async def finish_sign_in(self, query: Mapping[str, str], *, caller: Caller, door: Door) -> str:
        """Complete the sign-in that this caller began. Returns the name of the server."""
        with observed(self._observer, _call("signed-in", "", caller, door), None, changing=True):
            flows = self._servers.sources.flows
            if flows is None or not caller.authenticated:
                raise NotFoundError("There is nothing to sign in at.")
            with _in_our_words():
                return await flows.finish(caller.id, query)

    async def sign_out(self, name: str, *, caller: Caller, door: Door) -> None:
        """Forget the tokens of this caller, or of all callers where they share them."""
        with observed(self._observer, _call("sign-out", name, caller, door), None, changing=True):
            account, flows = self._account(name, caller)
            await flows.sign_ins.of(account).sign_out(name)

    def _account(self, name: str, caller: Caller) -> tuple[str, SignInFlows]:
        """The caller whose sign-in it is, empty for the one of all callers. Only administrators make that one."""
        entries = [entry for entry in self._box.registry.list() if entry.pack == name]
        flows, pack = self._servers.sources.flows, self._servers.packs.get(name)
        if not any(self._policy.shows(entry, caller) for entry in entries) and ADMIN not in caller.scopes:
            pack = None
        if pack is None or flows is None or not pack.server.takes_sign_ins:
            raise NotFoundError("There is no such server to sign in at.")
        if not caller.authenticated:
            message = "Only callers that prove who they are sign in here."
            raise AuthorizationError(message, hint=f"The operator signs in with: dogubako servers login {name}")
        if pack.server.credentials == "shared":
            self._policy.check_administration(caller, changing=True)
            return "", flows
        return caller.id, flows

    async def _check_change(self, act: str, caller: Caller, door: Door) -> None:
        await self._policy.check_rate(_call(act, "", caller, door))
        self._policy.check_administration(caller, changing=True)
        if not caller.authenticated:
            message = "Servers are changed over REST only by callers that prove who they are."
            hint = "Set DOGUBAKO_AUTH=keys and use a key with the scope admin, or use `dogubako servers`."
            raise AuthorizationError(message, hint=hint)
        self._check_processes(act)
        await self._changes.prepare()

    def _named(self, name: str) -> ServerPack:
        try:
            return self._servers.named(name)
        except SettingsError as error:
            raise NotFoundError("There is no such server.", hint=str(error)) from None

    def _masked(self, shown: dict[str, Any]) -> dict[str, Any]:
        """What servers say may quote our keys."""
        masked: dict[str, Any] = _masked(shown, self._box.redactor)
        return masked


def _masked(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.mask_all(value)
    if isinstance(value, dict):
        return {key: _masked(one, redactor) for key, one in value.items()}
    return [_masked(one, redactor) for one in value] if isinstance(value, list) else value


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except SignInFailed as error:
        raise ApiError(str(error), hint="Begin the sign-in again.") from error


def _call(act: str, name: str, caller: Caller, door: Door) -> ToolCall:
    return ToolCall(name=f"servers/{act}/{name[:64]}".rstrip("/"), caller=caller, door=door)


@contextmanager
def _stored() -> Iterator[None]:
    """Say what keeps a change from being made."""
    try:
        yield
    except OSError as error:
        message = f"It cannot be stored, so nothing was changed: {error.strerror}."
        hint = "An operator must make DOGUBAKO_DATA_DIR and the settings file writable."
        raise ReadOnlyError(message, hint=hint) from error


@contextmanager
def _known_tools() -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        raise NotFoundError(str(error)) from None
