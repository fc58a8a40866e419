"""`PackState`: a pack in this server, with the instances of its service and the clients of its callers."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec

from dogubako.contract.call import Caller
from dogubako.contract.credentials import INSTANCE, Credential, ServiceAccess
from dogubako.contract.errors import CredentialRequiredError, NotFoundError
from dogubako.contract.pack import HealthCheck, MissingSetting, Pack, PackSettings, ServiceState
from dogubako.contract.resources import Prompt, PromptArgument, PromptMessage, Resource, ResourceTemplate
from dogubako.contract.tool import BaseTool
from dogubako.loading import FoundPack
from dogubako.outbound.service_settings import ServiceSettings
from dogubako.settings import DEFAULT_INSTANCE, Settings, SettingsError, Sources
from dogubako.settings_view import ShownSetting, shown_settings
from dogubako_sandbox import SANDBOXES, Sandbox

# Callers over these transports are the operator, who has the settings.
_LOCAL_DOORS: Final = frozenset({"python", "stdio", "cli"})
# A client holds lists that were read a minute ago; a caller that comes back later reads them again.
_MOST_CLIENTS: Final = 256
# How long a health check of a service may take.
_CHECK_SECONDS: Final = 10.0


class Instance(msgspec.Struct, kw_only=True):
    """One configured instance of a service, with its client while the server runs."""

    name: str
    settings: PackSettings
    client: Any = None
    _clients: "OrderedDict[Credential, Any]" = msgspec.field(default_factory=OrderedDict)

    def client_as(self, pack: Pack[Any, Any], credential: Credential) -> Any:
        """The client of this credential. The least recently used ones are dropped."""
        client = self._clients.get(credential)
        if client is None:
            client = self._clients[credential] = pack.client_as(self.client, credential)
            if len(self._clients) > _MOST_CLIENTS:
                self._clients.popitem(last=False)
        self._clients.move_to_end(credential)
        return client


class Instances:
    """Chooses instance and credential for each call."""

    def __init__(self, pack: Pack[Any, Any], instances: Mapping[str, Instance]) -> None:
        self._pack = pack
        self._instances = instances

    @property
    def default(self) -> str | None:
        """The instance of calls that name none; None if they must name one."""
        names = [*self._instances]
        return names[0] if len(names) == 1 or names[0] == DEFAULT_INSTANCE else None

    def access(self, caller: Caller, door: str, instance: str | None) -> ServiceAccess:
        chosen = self._chosen(instance)
        credential = self._credential(chosen, caller, door)
        client = chosen.client if credential is None else chosen.client_as(self._pack, credential)
        return ServiceAccess(client=client, settings=chosen.settings, instance=chosen.name, credential=credential)

    def _chosen(self, name: str | None) -> Instance:
        chosen = self._instances.get(name or self.default or "")
        if chosen is None:
            hint = f"Name one as {INSTANCE}: {', '.join(self._instances)}."
            raise NotFoundError(f"This {self._pack.name} is not configured", hint=hint)
        return chosen

    def _credential(self, instance: Instance, caller: Caller, door: str) -> Credential | None:
        settings = instance.settings
        if not isinstance(settings, ServiceSettings) or settings.credentials == "shared" or door in _LOCAL_DOORS:
            return None
        own = dict(caller.credentials).get(reference(self._pack.name, instance.name))
        if settings.credentials == "switch-user":
            # Who did not prove who it is has no name that could be a login.
            known = settings.login_of(caller.name) if caller.authenticated else ""
            login = own.login if own and own.login else known
            # A login goes into a header; Redmine's own are plain ASCII.
            if not (login and login.isascii() and login.isprintable()):
                raise _required(self._pack.name, instance.name, caller, settings)
            return Credential(login=login)
        if own is not None and own.key:
            return own
        if (kept := self._pack.sign_in_of(caller)) is not None:
            return kept
        if settings.credentials == "own":
            raise _required(self._pack.name, instance.name, caller, settings)
        return None


def reference(pack: str, instance: str) -> str:
    """The name of an instance in a caller's credentials: `redmine`, or `redmine.hq`."""
    return f"{pack}.{instance}" if instance and instance != DEFAULT_INSTANCE else pack


def _required(pack: str, instance: str, caller: Caller, settings: ServiceSettings) -> CredentialRequiredError:
    service = reference(pack, instance)
    if settings.credentials == "switch-user":
        hint = f"An operator can name the login of '{caller.name}' in the table [{service}.logins]."
        return CredentialRequiredError(f"This server does not know your login in {service}.", hint=hint)
    header = settings.credential_header
    ways = [f"Send it in the header {header}."] if header else []
    if caller.authenticated:
        ways.append(f"An operator can store it: dogubako keys credential '{caller.name}' {service}")
    return CredentialRequiredError(f"{service} is used with your own key, and you have none.", hint=" ".join(ways))


@dataclass(kw_only=True)
class PackState:
    """A pack in this server: its instances, and their clients while the server runs."""

    pack: Pack[Any, Any]
    instances: dict[str, Instance]
    unconfigured: MissingSetting | None
    sandbox: Sandbox | None = None
    # The Python file that defines the pack. Agents see its tools even in discovery mode `search`.
    file: Path | None = None
    # Whether it is another MCP server or an HTTP API, whose definitions are stored.
    is_server: bool = False
    # Remove the observers that the pack brought.
    unobserve: list[Callable[[], None]] = field(default_factory=list)
    # Set when the pack of a file was replaced or the server stops: then its client is closed.
    released: anyio.Event = field(default_factory=anyio.Event)
    # Settings and client of the first instance, for packs with one. Plain attributes: every call reads them.
    settings: Any = field(init=False)
    client: Any = None
    accesses: Instances | None = field(init=False)

    def __post_init__(self) -> None:
        self.settings = next(iter(self.instances.values())).settings
        simple = len(self.instances) == 1 and not self._has_callers_credentials()
        self.accesses = None if simple else Instances(self.pack, self.instances)

    def connected(self, instance: Instance, client: Any) -> None:
        """Note the client of an instance."""
        instance.client = client
        self.client = next(iter(self.instances.values())).client

    @property
    def all_settings(self) -> dict[str, PackSettings]:
        """The settings of each instance."""
        return {name: instance.settings for name, instance in self.instances.items()}

    def _has_callers_credentials(self) -> bool:
        settings = [instance.settings for instance in self.instances.values()]
        return any(isinstance(one, ServiceSettings) and one.credentials != "shared" for one in settings)

    def shown(self) -> ServiceState:
        """What the console shows of the pack."""
        return ServiceState(
            name=self.pack.name,
            about=self.pack.about,
            missing=self.unconfigured,
            instances=tuple(name for name in self.instances if name),
            sandboxed=self.sandbox is not None,
            file=self.file,
        )

    async def check(self) -> list[HealthCheck]:
        """What is missing, or how every instance does."""
        name, missing = self.pack.name, self.unconfigured
        if missing is not None:
            message, advice = missing.reason, missing.advice
            return [HealthCheck(ok=False, subject=name, message=message, advice=advice, severity="warning")]
        return [
            replace(finding, subject=reference(finding.subject, instance.name))
            for instance in self.instances.values()
            for finding in await self._checked(instance)
        ]

    async def _checked(self, instance: Instance) -> Sequence[HealthCheck]:
        # A probe that waits for longer is no answer for a balancer.
        with anyio.move_on_after(_CHECK_SECONDS):
            return await self.pack.check(instance.settings, instance.client)
        message = f"{self.pack.name} did not answer within {_CHECK_SECONDS:g} s."
        return [HealthCheck(ok=False, subject=self.pack.name, message=message)]

    def replaced(self, pack: Pack[Any, Any]) -> "PackState":
        """The state of a pack that takes the place of this one, not yet connected."""
        instances = {name: msgspec.structs.replace(one, client=None) for name, one in self.instances.items()}
        return PackState(pack=pack, instances=instances, unconfigured=self.unconfigured, file=self.file)

    def tools(self) -> list[BaseTool[Any, Any]]:
        """The tools of the pack. Where there are several instances, each call names one."""
        tools = [one() if isinstance(one, type) else one for one in self.pack.tools]
        if self.accesses is None or len(self.instances) == 1:
            return [tool for tool in tools if not tool.between_instances]
        # Another server in this process may have the same tools, for one instance.
        tools = [copy(tool) for tool in tools]
        for tool in tools:
            tool.choose_instance([*self.instances], self.accesses.default)
        return tools

    def resources(self) -> list[Resource]:
        return [self._of(one, instance) for instance in self._names() for one in self.pack.resources]

    def templates(self) -> list[ResourceTemplate]:
        return [self._of(one, instance) for instance in self._names() for one in self.pack.resource_templates]

    def prompts(self) -> Sequence[Prompt]:
        if self.accesses is None or len(self.instances) == 1:
            return self.pack.prompts
        return [_for_instances(one, [*self.instances], self.accesses.default) for one in self.pack.prompts]

    def _names(self) -> list[str]:
        return [*self.instances] if len(self.instances) > 1 else [""]

    def _of(self, resource: Any, instance: str) -> Any:
        """The resource of one instance: `redmine://issues/8` becomes `redmine://hq/issues/8`."""
        if not instance:
            return resource
        place = "" if instance == DEFAULT_INSTANCE else f"{instance}/"
        field_name = "uri" if isinstance(resource, Resource) else "uri_template"
        address = getattr(resource, field_name).replace("://", f"://{place}", 1)
        name = f"{resource.name} ({instance})"
        return msgspec.structs.replace(resource, **{field_name: address, "name": name, "instance": instance})


def _for_instances(prompt: Prompt, instances: Sequence[str], default: str | None) -> Prompt:
    """The prompt with an argument for the instance, which it repeats for the model."""
    known = f"Which one: {', '.join(instances)}."
    argument = PromptArgument(name=INSTANCE, description=known, required=default is None)

    async def render(context: Any, arguments: Mapping[str, str]) -> Sequence[PromptMessage]:
        chosen = arguments.get(INSTANCE) or default
        if chosen not in instances:
            raise NotFoundError("There is no such instance", hint=known)
        others = {name: value for name, value in arguments.items() if name != INSTANCE}
        messages = await prompt.render(context, others)
        return [*messages, PromptMessage(content=f"Use {INSTANCE}: '{chosen}' in every call.")]

    return msgspec.structs.replace(prompt, arguments=(*prompt.arguments, argument), render=render)


def state_of(found_pack: FoundPack, sources: Sources, *, sandboxed: bool) -> PackState:
    """The pack with its settings; answered by the sandbox where it is not configured and `sandboxed`."""
    pack = found_pack.pack
    loaded = sources.load_instances(pack)
    settings = next(iter(loaded.values()))
    missing = pack.unconfigured(settings)
    # The sandbox replaces a pack that works without settings as long as none is set.
    untouched = missing is not None or settings == pack.settings()
    sandbox = SANDBOXES.get(pack.name) if sandboxed and untouched else None
    if sandbox is not None and not (missing and missing.extra):
        loaded, missing = {"": pack.settings(**sandbox.settings)}, None
    instances = {name: Instance(name=name, settings=one) for name, one in loaded.items()}
    return PackState(pack=pack, instances=instances, unconfigured=missing, file=found_pack.file, sandbox=sandbox)


def state_of_server(pack: Pack[Any, Any], settings: PackSettings, missing: MissingSetting | None) -> PackState:
    """The pack of another server, whose settings have a table of their own."""
    return PackState(
        pack=pack, instances={"": Instance(name="", settings=settings)}, unconfigured=missing, is_server=True
    )


def shown_with_packs(settings: Settings, packs: Iterable[PackState], sources: Sources) -> list[ShownSetting]:
    """All settings of the server and of its packs, secrets masked."""
    rows = [*shown_settings("", settings, sources)]
    for state in packs:
        for one in state.instances.values():
            section, sandboxed = reference(state.pack.name, one.name), state.sandbox is not None
            section = f"{one.settings.table}.{section}" if one.settings.table else section
            rows += shown_settings(section, one.settings, sources, sandboxed=sandboxed)
    return rows


def instructions_of(packs: Iterable[PackState]) -> str:
    """What the configured packs tell agents of their services, one line each."""
    states = [state for state in packs if state.unconfigured is None]
    texts = [state.pack.instructions(one.settings) for state in states for one in state.instances.values()]
    return "\n".join(text for text in texts if text)


def credential_headers(packs: Sequence[PackState]) -> dict[bytes, str]:
    """The headers in which callers send credentials, and the service of each. One key must not reach two services."""
    headers: dict[bytes, str] = {}
    for state in packs:
        for instance in state.instances.values():
            settings, service = instance.settings, reference(state.pack.name, instance.name)
            if not isinstance(settings, ServiceSettings) or settings.credential_header is None:
                continue
            name = settings.credential_header.encode()
            if name in headers:
                both = f"{headers[name]} and {service}"
                raise SettingsError(f"{both} take credentials from the same header; give each a header of its own.")
            if settings.credentials in ("own", "own-or-shared"):
                headers[name] = service
    return headers
