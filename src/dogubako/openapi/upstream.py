"""`ApiUpstream`: one HTTP API behind our tools. It reads the description, and sends requests."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import msgspec
import structlog

from dogubako.contract.context import Context
from dogubako.contract.errors import ApiError, DogubakoError, ToolNotFoundError, ValidationError
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.sign_ins import SignIns, StoredTokens
from dogubako.gateway.upstream import StateName, UpstreamState
from dogubako.openapi.answers import answer_of, failed
from dogubako.openapi.connections import Connections, Resolve
from dogubako.openapi.credentials import Credentials
from dogubako.openapi.definitions import FIELDS, REQUEST, RequestPlan
from dogubako.openapi.description import Described, Wanted
from dogubako.openapi.document import MAX_BYTES, DescriptionError
from dogubako.openapi.generic import generic_request
from dogubako.openapi.oauth import SignedIn
from dogubako.openapi.request import File, Request, write_request
from dogubako.openapi.schemes import wants_sign_in
from dogubako.openapi.settings import ApiSettings
from dogubako.openapi.worker import DescriptionReader
from dogubako.outbound.allowed_folders import OpenFolders
from dogubako.outbound.bounds import Bound
from dogubako.outbound.http import Operation, ServiceHttp, ServiceResponse
from dogubako.outbound.public_addresses import resolve_by_system

log = structlog.get_logger("dogubako.openapi")

_READ_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 60.0
_LARGEST_FILE: Final = 20 * 1024 * 1024
# References to other documents are followed this many times, one round for all that are missing.
_MOST_ROUNDS: Final = 5
_DESCRIPTION: Final = Bound(most_bytes=MAX_BYTES)
_plan = msgspec.convert


class ApiUpstream:
    """One API. `stored` has its last known tools, which work before the description was read again."""

    def __init__(
        self,
        name: str,
        settings: ApiSettings,
        *,
        on_definitions: Callable[[Definitions], None],
        on_resource_updated: Callable[[str], None],
        stored: Definitions | None = None,
        public_name: Callable[[str], str] = str,
        files: Sequence[Path] = (),
        transport: Any = None,
        resolve: Resolve = resolve_by_system,
        sign_ins: SignIns | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self._on_definitions = on_definitions
        self._public_name = public_name
        self._files = OpenFolders(files)
        self._state = UpstreamState(name="stopped", since=time.time())
        self._again = asyncio.Event()
        self._connections = Connections(name, settings, transport, resolve)
        # Kept for as long as the upstream, because a token must not be refreshed twice.
        self._signed_in = SignedIn(StoredTokens(sign_ins, name), settings, self._connections) if sign_ins else None
        self._credentials: Credentials | None = None
        self._plans: dict[str, RequestPlan] = {}
        self._schemes: Mapping[str, Any] = {}
        if stored is not None:
            self._take(stored)

    @property
    def state(self) -> UpstreamState:
        return self._state

    async def run(self) -> None:
        """Read the description, and again after `restart` or a failure, until cancelled."""
        try:
            while True:
                self._again.clear()
                self._set_state("starting")
                is_read = await self._read()
                with anyio.move_on_after(None if is_read else _RETRY_SECONDS):
                    await self._again.wait()
        finally:
            self._set_state("stopped")
            with anyio.CancelScope(shield=True):
                await self._connections.aclose()

    async def restart(self) -> None:
        """Read the description again."""
        self._again.set()

    async def _read(self) -> bool:
        try:
            described = await self._described()
        except DescriptionError as error:
            self._set_state("broken_configuration", str(error))
        except DogubakoError as error:
            self._set_state("unreachable", error.message)
        else:
            definitions = _definitions(described)
            self._take(definitions)
            self._set_state("ready")
            self._on_definitions(definitions)
            return True
        log.warning("A description could not be read", service=self.name, reason=self._state.reason)
        return False

    async def _described(self) -> Described:
        settings, others = self.settings, dict[str, bytes]()
        address, content = await self._content(settings.openapi)
        async with DescriptionReader() as reader:
            for _ in range(_MOST_ROUNDS):
                wanted = Wanted(
                    address=address,
                    content=content,
                    others=others,
                    url=settings.url or "",
                    variables=settings.variables,
                    tags=settings.tags,
                    paths=settings.paths,
                    methods=settings.methods,
                    deprecated=settings.deprecated,
                    overlay=str(settings.overlay or ""),
                    request=f"{self.name}_request" if settings.request else "",
                    read_only=settings.read_only,
                )
                described = await reader.read(wanted)
                if not described.missing:
                    return described
                for missing in described.missing:
                    others[missing] = (await self._content(missing))[1]
        raise DescriptionError("The description refers to files that refer to files, too deeply.")

    async def _content(self, where: str) -> tuple[str, bytes]:
        """The address and the bytes of a document."""
        if urlsplit(where).scheme in ("http", "https"):
            http = await self._connections.to(where)
            response = await http.request(
                "GET", where, Operation(name="read the description"), at_most=_DESCRIPTION, seconds=_READ_SECONDS
            )
            if not response.ok:
                raise ApiError(
                    f"The description was answered with status {response.status}", status_code=response.status
                )
            return where, response.body
        path = await anyio.Path(where).expanduser()
        path = await path.absolute()
        try:
            if (await path.stat()).st_size > MAX_BYTES:
                raise DescriptionError(f"{path.name} is larger than {MAX_BYTES // 1024 // 1024} MB.")
            return Path(path).as_uri(), await path.read_bytes()
        except OSError as error:
            raise DescriptionError(f"The description {path} cannot be read: {error.strerror}.") from None

    def _take(self, definitions: Definitions) -> None:
        meta = {one["name"]: one.get("_meta", {}).get(REQUEST) for one in definitions.tools}
        self._plans = {name: _plan(plan, RequestPlan) for name, plan in meta.items() if plan is not None}
        self._schemes = definitions.capabilities.get("securitySchemes", {})
        self._credentials = None

    def _set_state(self, name: StateName, reason: str = "") -> None:
        self._state = UpstreamState(name=name, reason=reason, since=time.time())

    # Calls.

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Any:
        """Send the request of this tool, and answer with what the service says."""
        plan = self._plans.get(name)
        if plan is None:
            raise ToolNotFoundError(f"The service '{self.name}' no longer has this tool.", hint="List the tools again.")
        fields = arguments.get(FIELDS) if FIELDS not in plan.arguments else None
        if plan.generic:
            plan, request = generic_request(plan, arguments)
        else:
            sent = {key: value for key, value in arguments.items() if key in plan.arguments}
            request = write_request(plan, sent, await self._read_files(plan, sent))
        operation = Operation(name=f"{request.method} {plan.path}")
        response = await self._send(plan, request, operation)
        if not response.ok:
            schemes = {name for group in plan.security for name in group}
            may_sign_in = any(wants_sign_in(self._schemes.get(name)) for name in schemes)
            raise failed(self.name, operation.name, response, may_sign_in=may_sign_in)
        try:
            return await answer_of(self._public_name(name), plan, arguments, fields or plan.fields, response)
        except ValueError:
            raise ApiError(f"The answer of {self.name} is not the JSON that it claims to be") from None

    async def _read_files(self, plan: RequestPlan, arguments: Mapping[str, Any]) -> dict[str, File]:
        files = {}
        for name, value in arguments.items():
            if plan.arguments[name].is_file:
                if not isinstance(value, str):
                    raise ValidationError.of(name, f"Invalid type for parameter {name}: expected the path of a file")
                content = await self._files.read(value, _LARGEST_FILE, parameter=name)
                files[name] = File(name=Path(value).name, content=content)
        return files

    async def _send(self, plan: RequestPlan, request: Request, operation: Operation) -> ServiceResponse:
        http = await self._connections.to(plan.base)
        credentials = self._credentials = self._credentials or Credentials(
            self._schemes, self.settings.secrets, self._connections, self._signed_in
        )
        unsigned = deepcopy(request)
        await credentials.sign(request, plan.security)
        response = await self._sent(http, plan.base, request, operation)
        if response.status == 401 and credentials.has_tokens:
            # A token may be revoked before it ends. The request was refused, so it may be sent again.
            credentials.forget()
            await credentials.sign(unsigned, plan.security)
            response = await self._sent(http, plan.base, unsigned, operation)
        return credentials.masked(response)

    async def _sent(self, http: ServiceHttp, base: str, request: Request, operation: Operation) -> ServiceResponse:
        url = f"{base}{request.path}" + (f"?{'&'.join(request.query)}" if request.query else "")
        cookies = {"Cookie": "; ".join(request.cookies)} if request.cookies else {}
        own = {name: value.get_secret_value() for name, value in self.settings.headers.items()}
        headers = {"Accept": "application/json, */*;q=0.5", **own, **request.headers, **cookies}
        return await http.request(request.method, url, operation, content=request.content, headers=headers)

    # An API has no resources and no prompts.

    async def read_resource(self, uri: str, context: Context[Any] | None = None) -> list[dict[str, Any]]:
        raise NotImplementedError

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context[Any] | None = None
    ) -> list[dict[str, Any]]:
        raise NotImplementedError

    async def complete(
        self, ref: dict[str, Any], argument: str, value: str, filled: Mapping[str, str] | None = None
    ) -> list[str]:
        return []


def _definitions(described: Described) -> Definitions:
    return Definitions(
        info={"name": described.title, "version": described.version, "description": described.about},
        protocol="openapi",
        capabilities={"securitySchemes": described.schemes},
        tools=tuple(described.tools),
        faults=tuple(described.faults),
    )
