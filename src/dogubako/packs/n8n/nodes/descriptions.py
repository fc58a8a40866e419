"""Node types in our own compact form, and how n8n's own form (`dist/types/nodes.json`) becomes it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

# Values of other parameters that show or hide a parameter, as n8n writes them.
Conditions = dict[str, list[Any]]

TRIGGER_GROUP: Final = "trigger"
_LONGEST_DESCRIPTION: Final = 200
_CONTAINERS: Final = ("collection", "fixedCollection")
# What a list of choices comes from when it is not in the description: the service, or another method.
_LOADED: Final = ("loadOptionsMethod", "loadOptions", "allowArbitraryValues")


class Choice(Struct, omit_defaults=True, gc=False):
    """One value of a parameter that has a list of values."""

    value: Any
    title: str = ""
    show: Conditions | None = None
    hide: Conditions | None = None


class Property(Struct, omit_defaults=True, gc=False):
    """One parameter. Several properties may share a name: `show` and `hide` tell which of them counts."""

    name: str
    type: str = "string"
    title: str = ""
    description: str = ""
    default: Any = None
    required: bool = False
    many: bool = False
    show: Conditions | None = None
    hide: Conditions | None = None
    choices: list[Choice] = []
    loaded: bool = False
    children: list["Property"] = []
    groups: dict[str, list["Property"]] = {}
    modes: list[str] = []
    editor: str = ""
    # n8n takes an expression here as plain text.
    plain: bool = False

    @property
    def is_container(self) -> bool:
        return self.type in _CONTAINERS


class CredentialUse(Struct, omit_defaults=True, gc=False):
    """A type of credential that a node can use."""

    name: str
    required: bool = False
    show: Conditions | None = None
    hide: Conditions | None = None


class Needed(Struct, omit_defaults=True, gc=False):
    """An input to which a sub-node has to be connected, such as `ai_languageModel`."""

    name: str
    show: Conditions | None = None
    hide: Conditions | None = None


class NodeDescription(Struct, omit_defaults=True, gc=False):
    """One node type in some of its versions."""

    type: str
    title: str = ""
    description: str = ""
    versions: list[float] = []
    default_version: float | None = None
    trigger: bool = False
    usable_as_tool: bool = False
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    credentials: list[CredentialUse] = []
    properties: list[Property] = []
    aliases: list[str] = []
    # Whether the parameters are all known. A source may know a type and only some of its parameters.
    complete: bool = True
    # n8n takes any version of a type with a single description. Of a tool, the others may not be described here.
    only_these_versions: bool = False
    hidden: bool = False
    needs: list[Needed] = []

    @property
    def newest(self) -> float:
        return self.default_version or max(self.versions, default=1)

    def values_of(self, name: str) -> list[str]:
        """All values of a parameter with choices, such as `resource` or `operation`."""
        found = (str(choice.value) for one in self.properties if one.name == name for choice in one.choices)
        return list(dict.fromkeys(found))


def newest_version(descriptions: Sequence[NodeDescription]) -> float | None:
    """The version in which n8n's editor makes a new node: its default, else the highest; None if none is known."""
    versions = sorted({one for description in descriptions for one in description.versions})
    newest = max((one.newest for one in descriptions if one.versions or one.default_version), default=None)
    return newest if newest in versions or not versions else versions[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewVersions:
    """The newest versions of types: of the instance, in its workflows, and in node types of another n8n."""

    instance: Mapping[str, float] = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    other: Mapping[str, float] = field(default_factory=dict)
    # Types that n8n does not have: the validation tells them, with similar names.
    missing: Collection[str] = ()


class Summary(Struct, omit_defaults=True, gc=False):
    """What a search shows of a node type."""

    type: str
    title: str = ""
    description: str = ""
    version: float = 1
    trigger: bool = False
    usable_as_tool: bool = False
    aliases: list[str] = []
    resources: list[str] = []
    operations: list[str] = []
    # n8n does not offer it for new workflows.
    hidden: bool = False

    @classmethod
    def of(cls, description: NodeDescription) -> "Summary":
        return cls(
            type=description.type,
            title=description.title,
            description=description.description,
            version=description.newest,
            trigger=description.trigger,
            usable_as_tool=description.usable_as_tool,
            aliases=description.aliases,
            resources=description.values_of("resource"),
            operations=description.values_of("operation"),
            hidden=description.hidden,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A node type that a search found, and the part of the words that it fits."""

    summary: Summary
    score: float
    share: float
    # It comes after all others.
    last: bool = False


class NodeSource(Protocol):
    """Knows node types."""

    @property
    def name(self) -> str:
        """The words by which answers name the source."""

    @property
    def complete(self) -> bool:
        """Whether a type of n8n's own packages that it does not know does not exist."""

    @property
    def certain(self) -> bool:
        """Whether its problems are certain: it describes the version that the instance runs."""

    async def search(self, query: str, limit: int) -> Sequence[Match]:
        """The node types that fit best, best first."""

    async def names(self) -> Sequence[str]: ...

    async def describe(self, node_type: str) -> Sequence[NodeDescription]:
        """All descriptions of a type, for its different versions; none if it is not known."""


def description_of(package: str, written: Mapping[str, Any]) -> NodeDescription:
    """A node type as n8n's package describes it."""
    versions = written.get("version", 1)
    properties = [_property(one) for one in _objects(written.get("properties"))]
    return NodeDescription(
        type=f"{package}.{written.get('name')}",
        title=str(written.get("displayName") or ""),
        description=_short(written.get("description")),
        versions=[float(one) for one in (versions if isinstance(versions, list) else [versions])],
        default_version=written.get("defaultVersion"),
        trigger=TRIGGER_GROUP in (written.get("group") or ()),
        usable_as_tool=bool(written.get("usableAsTool")),
        inputs=_channels(written.get("inputs")),
        outputs=_channels(written.get("outputs")),
        credentials=[_credential(one) for one in _objects(written.get("credentials"))],
        properties=properties,
        aliases=[str(one) for one in (written.get("codex") or {}).get("alias") or ()],
        # The sandbox describes some of its types only in part.
        complete=not written.get("partial"),
        hidden=bool(written.get("hidden")),
        needs=_needed(written),
    )


def _property(written: Mapping[str, Any]) -> Property:
    options, kind = _objects(written.get("options")), str(written.get("type") or "string")
    settings = written.get("typeOptions") or {}
    show, hide = _display(written)
    return Property(
        name=str(written.get("name")),
        type=kind,
        title=str(written.get("displayName") or ""),
        description=_short(written.get("description")),
        default=written.get("default"),
        required=bool(written.get("required")),
        many=settings.get("multipleValues") is True,
        show=show,
        hide=hide,
        choices=[] if kind in _CONTAINERS else [_choice(one) for one in options if "value" in one],
        loaded=any(settings.get(key) for key in _LOADED),
        children=[_property(one) for one in options] if kind == "collection" else [],
        groups=_groups(options) if kind == "fixedCollection" else {},
        modes=[str(one.get("name")) for one in _objects(written.get("modes"))],
        editor=str(settings.get("editor") or ""),
        plain=bool(written.get("noDataExpression")),
    )


def _groups(options: Iterable[Mapping[str, Any]]) -> dict[str, list[Property]]:
    return {str(one.get("name")): [_property(value) for value in _objects(one.get("values"))] for one in options}


def _choice(written: Mapping[str, Any]) -> Choice:
    show, hide = _display(written)
    return Choice(value=written["value"], title=str(written.get("name") or ""), show=show, hide=hide)


def _credential(written: Mapping[str, Any]) -> CredentialUse:
    show, hide = _display(written)
    return CredentialUse(name=str(written.get("name")), required=bool(written.get("required")), show=show, hide=hide)


def _display(written: Mapping[str, Any]) -> tuple[Conditions | None, Conditions | None]:
    options = written.get("displayOptions") or {}
    return options.get("show") or None, options.get("hide") or None


def _channels(written: Any) -> list[str] | None:
    """The types of inputs or outputs; None if an expression decides them."""
    if not isinstance(written, list):
        return None
    return [str(one.get("type")) if isinstance(one, Mapping) else str(one) for one in written]


def _needed(written: Mapping[str, Any]) -> list[Needed]:
    """The inputs that n8n requires: by its own list, or by its advice where an expression makes the list."""
    advised = (written.get("builderHint") or {}).get("inputs")
    listed = {str(one.get("type")): one for one in _objects(written.get("inputs"))}
    inputs = {
        name: one for name, one in (advised or listed).items() if isinstance(one, Mapping) and one.get("required")
    }
    return [Needed(name, *_display(one)) for name, one in inputs.items()]


def _objects(written: Any) -> list[Mapping[str, Any]]:
    return [one for one in written if isinstance(one, Mapping)] if isinstance(written, list) else []


def _short(text: Any) -> str:
    return str(text or "")[:_LONGEST_DESCRIPTION]


ENCODER: Final = msgspec.msgpack.Encoder()
DECODER: Final = msgspec.msgpack.Decoder(NodeDescription)
