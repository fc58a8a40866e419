"""Read a whole description: which operations it has, where they are, and which tools they become."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from dogubako.openapi.definitions import REQUEST, definitions_of
from dogubako.openapi.document import MAX_BYTES, DescriptionError, Documents
from dogubako.openapi.generic import generic_definition
from dogubako.openapi.operations import Operation, read_operations, security_groups
from dogubako.openapi.overlay import overlaid, read_overlay
from dogubako.openapi.schemes import token_address, with_scopes_in_use, with_whole_addresses

_MOST_FAULTS: Final = 200
_LONGEST_TEXT: Final = 1_000
# The largest bodies of well-known APIs stay below this.
_LARGEST_DEFINITION: Final = 256_000


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which description is read, and what of it is wanted. It is sent to another process."""

    address: str
    content: bytes
    # Documents that were fetched for references, by address.
    others: dict[str, bytes] = {}
    url: str = ""
    variables: dict[str, str] = {}
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    deprecated: bool = False
    # The path of a file; empty without one.
    overlay: str = ""
    # The name of the generic tool; empty without one.
    request: str = ""
    read_only: bool = False


class Described(msgspec.Struct, frozen=True, kw_only=True, tag="described"):
    """What a description offers: tools, security schemes, and what was left out and why."""

    title: str
    version: str
    about: str
    tools: list[dict[str, Any]]
    schemes: dict[str, Any]
    faults: list[str]
    # Addresses of other documents that are needed first.
    missing: list[str] = []


def read_description(wanted: Wanted) -> Described:
    """Read the description. DescriptionError if nothing of it can be used."""
    missing: list[str] = []

    def fetch(address: str) -> bytes:
        if urlsplit(address).scheme == "file":
            return _file(address)
        if address not in wanted.others:
            missing.append(address)
            return b"{}"
        return wanted.others[address]

    documents = Documents(wanted.address, wanted.content, fetch)
    found = read_operations(documents)
    chosen: list[Operation] = []
    bases: dict[int, str] = {}
    for one in found.operations:
        if reason := _left_out(one, wanted):
            if reason != "not wanted":
                found.faults.append(f"{one.method.upper()} {one.path[:200]}: {reason}")
            continue
        try:
            bases[len(chosen)] = _base(documents, one, wanted)
            chosen.append(one)
        except DescriptionError as error:
            found.faults.append(f"{one.method.upper()} {one.path[:200]}: {error}")
    schemes = _schemes(documents)
    # A changed address must not get the secret of a client without an approval.
    tokens = {name: address for name, one in schemes.items() if (address := token_address(one))}
    definitions = definitions_of(chosen, bases, tokens)
    if wanted.request:
        try:
            taken = {one["name"] for one in definitions}
            definitions.append(_generic(documents, wanted, found.operations, taken, tokens))
        except DescriptionError as error:
            found.faults.append(f"{wanted.request}: {error}")
    definitions = [one for one in definitions if _fits(one, found.faults)]
    tools, unfitting = overlaid(definitions, read_overlay(Path(wanted.overlay) if wanted.overlay else None))
    info = documents.root.get("info")
    info = info if isinstance(info, Mapping) else {}
    return Described(
        title=_text(info.get("title")),
        version=_text(info.get("version")),
        about=_text(info.get("summary")) or _text(info.get("description")).partition("\n")[0],
        tools=tools,
        schemes=schemes,
        faults=[*unfitting, *found.faults][:_MOST_FAULTS],
        missing=missing,
    )


def _fits(definition: dict[str, Any], faults: list[str]) -> bool:
    """Whether a tool has a size that somebody can read. The reason of another one goes to the faults."""
    if len(msgspec.json.encode(definition)) <= _LARGEST_DEFINITION:
        return True
    plan = definition["_meta"][REQUEST]
    request = f"{plan['method'].upper()} {plan['path'][:200]}"
    faults.append(f"{request}: its arguments take more than {_LARGEST_DEFINITION:,} characters.")
    return False


def _generic(
    documents: Documents,
    wanted: Wanted,
    operations: Sequence[Operation],
    taken: set[str],
    tokens: Mapping[str, str],
) -> dict[str, Any]:
    """The generic tool, with the credentials that the description wants anywhere."""
    everywhere = security_groups(documents.root.get("security"))
    groups = dict.fromkeys([*everywhere, *(group for one in operations for group in one.security)])
    name, number = wanted.request, 2
    while name in taken:
        name, number = f"{wanted.request}_{number}", number + 1
    base = _base(documents, Operation(method="", path=""), wanted)
    return generic_definition(
        name,
        base,
        methods=wanted.methods,
        paths=wanted.paths,
        read_only=wanted.read_only,
        security=tuple(groups),
        tokens=tokens,
    )


def _file(address: str) -> bytes:
    path = Path(unquote(urlsplit(address).path))
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DescriptionError(f"{path.name} is larger than {MAX_BYTES // 1024 // 1024} MB.")
        return path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"The file {path.name} cannot be read: {error.strerror}.") from None


def _left_out(operation: Operation, wanted: Wanted) -> str:
    """Why an operation is not served; empty if it is."""
    if operation.deprecated and not wanted.deprecated:
        return "it is deprecated."
    is_wanted = (
        (not wanted.tags or bool(set(wanted.tags) & set(operation.tags)))
        and (not wanted.methods or operation.method in [one.lower() for one in wanted.methods])
        and (not wanted.paths or any(fnmatchcase(operation.path, one) for one in wanted.paths))
    )
    return "" if is_wanted else "not wanted"


def _base(documents: Documents, operation: Operation, wanted: Wanted) -> str:
    """The address that the operation's path is added to."""
    if wanted.url:
        return wanted.url.rstrip("/")
    root = documents.root
    servers = operation.servers or root.get("servers")
    server = servers[0] if isinstance(servers, list | tuple) and servers else None
    if isinstance(server, Mapping) and isinstance(server.get("url"), str):
        written = _with_variables(server, wanted.variables)
    elif "swagger" in root:
        written = _swagger_address(root, documents.address)
    else:
        written = "/"
    there = urljoin(documents.address, written)
    parts = urlsplit(there)
    if not there.isprintable() or " " in there or parts.query or parts.fragment:
        raise DescriptionError("The description names a server whose address is no address.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise DescriptionError("The description names no server; set url in the settings of the service.")
    return there.rstrip("/")


def _with_variables(server: Mapping[str, Any], values: Mapping[str, str]) -> str:
    url = str(server["url"])
    variables = server.get("variables")
    for name, one in variables.items() if isinstance(variables, Mapping) else ():
        value = values.get(str(name)) or (one.get("default") if isinstance(one, Mapping) else None)
        url = url.replace(f"{{{name}}}", str(value if value is not None else ""))
    if "{" in url:
        raise DescriptionError("The address has a variable without a value; set it in variables.")
    return url


def _swagger_address(root: Mapping[str, Any], address: str) -> str:
    ours = urlsplit(address)
    schemes = root.get("schemes")
    scheme = "https" if isinstance(schemes, list) and "https" in schemes else str((schemes or [ours.scheme])[0])
    path = str(root.get("basePath", "/"))
    if not isinstance(root.get("host"), str):
        return path
    return f"{scheme if scheme in ('http', 'https') else 'https'}://{root['host']}{path}"


def _schemes(documents: Documents) -> dict[str, Any]:
    components = documents.root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    schemes = schemes if schemes is not None else documents.root.get("securityDefinitions")
    found = {}
    for name, one in schemes.items() if isinstance(schemes, Mapping) else ():
        try:
            scheme, _ = documents.resolve(one, documents.address)
            found[str(name)] = with_whole_addresses(scheme, documents.address)
        except DescriptionError:
            continue
    return with_scopes_in_use(found, documents.root)


def _text(value: Any) -> str:
    return " ".join(value.split())[:_LONGEST_TEXT] if isinstance(value, str) else ""
