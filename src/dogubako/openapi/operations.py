"""Normalise the operations of OpenAPI 3.1, 3.0 and Swagger 2. An invalid operation is skipped with its reason."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dogubako.contract.redaction import visible
from dogubako.openapi.document import DescriptionError, Documents
from dogubako.openapi.schema import Schema, SchemaWriter

Place = Literal["path", "query", "header", "cookie"]
BodyKind = Literal["json", "form", "multipart", "text", "bytes"]

METHODS: Final = ("get", "head", "post", "put", "patch", "delete")
_STYLES: Final[Mapping[str, str]] = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
# The specification says that descriptions of the first three are ignored. The others belong to the connection: with
# them a request could arrive at another host, or hide a second one.
_IGNORED_HEADERS: Final = frozenset(
    {
        *("accept", "content-type", "authorization"),
        *("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"),
    }
)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
# How Swagger 2 writes lists: a style and whether the name is repeated.
_COLLECTIONS: Final = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
_MOST_OPERATIONS: Final = 5_000


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter outside of the body, and how its value is written."""

    name: str
    place: Place
    schema: Schema
    description: str = ""
    required: bool = False
    style: str = "form"
    explode: bool = True
    allow_reserved: bool = False
    # The value is written as JSON.
    is_json: bool = False


@dataclass(frozen=True, kw_only=True)
class Body:
    """The body of a request."""

    kind: BodyKind
    media_type: str
    schema: Schema
    description: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation, as it is called."""

    method: str
    path: str
    operation_id: str = ""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    # Names of security schemes: any one of these groups is enough. Empty: nothing is needed.
    security: tuple[tuple[str, ...], ...] = ()
    # Addresses that count for this operation alone.
    servers: tuple[Any, ...] = ()


@dataclass(kw_only=True)
class ReadOperations:
    """The operations that can be used, and why others cannot."""

    operations: list[Operation] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_operations(documents: Documents) -> ReadOperations:
    """All operations of the description in its own order."""
    root, found = documents.root, ReadOperations()
    version = str(root.get("openapi") or root.get("swagger") or "")
    if not version.startswith(("3.", "2.")):
        raise DescriptionError("The description names no version of OpenAPI (3.x) or Swagger (2.0).")
    paths = root.get("paths", {})
    if not isinstance(paths, Mapping):
        raise DescriptionError("The paths of the description are no object.")
    credentials = _credentials(root)
    for path, item in paths.items():
        for method, operation, base, shared in _of_path(documents, str(path), item, found):
            if len(found.operations) >= _MOST_OPERATIONS:
                found.faults.append(f"More than {_MOST_OPERATIONS} operations: the rest is left out.")
                return found
            try:
                reader = _Reader(documents, base, credentials, is_swagger=version.startswith("2."))
                found.operations.append(reader.read(method, str(path), operation, shared))
            except DescriptionError as error:
                found.faults.append(f"{method.upper()} {str(path)[:200]}: {error}")
    return found


def _credentials(root: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Places and names of keys. Some descriptions have them as parameters too, but a key is never an argument."""
    components = root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else root.get("securityDefinitions")
    known = [one for one in schemes.values() if isinstance(one, Mapping)] if isinstance(schemes, Mapping) else []
    keys = [one for one in known if one.get("type") == "apiKey" and isinstance(one.get("name"), str)]
    return frozenset((_text(one.get("in")), one["name"].lower()) for one in keys)


def _of_path(
    documents: Documents, path: str, item: Any, found: ReadOperations
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    if path.startswith("x-"):
        return
    try:
        item, base = documents.resolve(item, documents.address)
    except DescriptionError as error:
        found.faults.append(f"{path[:200]}: {error}")
        return
    if not isinstance(item, Mapping) or not path.startswith("/") or not path.isprintable():
        found.faults.append(f"{visible(path[:200])}: it is no path with operations.")
        return
    for method in METHODS:
        if isinstance(item.get(method), Mapping):
            yield method, item[method], base, item
        elif method in item:
            found.faults.append(f"{method.upper()} {path[:200]}: it is no object.")


class _Reader:
    """Reads one operation."""

    def __init__(
        self, documents: Documents, base: str, credentials: frozenset[tuple[str, str]], *, is_swagger: bool
    ) -> None:
        self._documents = documents
        self._base = base
        self._credentials = credentials
        self._is_swagger = is_swagger
        self._schemas = SchemaWriter(documents, "request")

    def read(self, method: str, path: str, operation: Mapping[str, Any], shared: Mapping[str, Any]) -> Operation:
        described = [*self._parameters(shared), *self._parameters(operation)]
        # The operation's own parameter replaces one of the path with the same name and place.
        parameters = {(str(one.get("in")), str(one.get("name"))): (one, base) for one, base in described}
        read = [self._parameter(one, base) for (place, _), (one, base) in parameters.items() if place in _STYLES]
        body = (
            self._swagger_body(operation, parameters) if self._is_swagger else self._body(operation.get("requestBody"))
        )
        named = {one.name for one in read if one and one.place == "path"}
        if missing := [name for name in _in_braces(path) if name not in named]:
            raise DescriptionError(f"The path names {', '.join(missing)[:100]}, which no parameter describes.")
        return Operation(
            method=method,
            path=path,
            operation_id=_text(operation.get("operationId")),
            summary=_text(operation.get("summary")) or _text(shared.get("summary")),
            description=_text(operation.get("description")),
            tags=tuple(one for one in _list(operation.get("tags")) if isinstance(one, str)),
            deprecated=operation.get("deprecated") is True,
            parameters=tuple(one for one in read if one is not None),
            body=body,
            security=security_groups(operation.get("security", self._documents.root.get("security"))),
            servers=tuple(_list(operation.get("servers")) or _list(shared.get("servers"))),
        )

    def _parameters(self, owner: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
        for one in _list(owner.get("parameters")):
            parameter, base = self._documents.resolve(one, self._base)
            if not isinstance(parameter, Mapping) or not isinstance(parameter.get("name"), str):
                raise DescriptionError("A parameter has no name.")
            yield parameter, base

    def _parameter(self, one: Mapping[str, Any], base: str) -> Parameter | None:
        place: Place = one["in"]
        if place == "header" and one["name"].lower() in _IGNORED_HEADERS:
            return None
        if (place, one["name"].lower()) in self._credentials:
            return None
        if place == "header" and not _HEADER_NAME.fullmatch(one["name"]):
            raise DescriptionError("A parameter has a name that no header can have.")
        content = one.get("content")
        is_json = isinstance(content, Mapping) and bool(content)
        described = next(iter(content.values())) if is_json and isinstance(content, Mapping) else one
        node = described.get("schema", {}) if isinstance(described, Mapping) else {}
        style, explode = self._style(one, place)
        return Parameter(
            name=one["name"],
            place=place,
            # Swagger 2 writes the schema into the parameter itself.
            schema=self._schemas.write(_without_name(one) if self._is_swagger else node, base),
            description=_text(one.get("description")),
            required=place == "path" or one.get("required") is True,
            style=style,
            explode=explode,
            allow_reserved=one.get("allowReserved") is True,
            is_json=is_json,
        )

    def _style(self, one: Mapping[str, Any], place: str) -> tuple[str, bool]:
        if self._is_swagger:
            style, explode = _COLLECTIONS.get(str(one.get("collectionFormat", "csv")), ("form", False))
            return (style if place == "query" else _STYLES[place]), explode and place == "query"
        style = one["style"] if isinstance(one.get("style"), str) else _STYLES[place]
        explode = one["explode"] if isinstance(one.get("explode"), bool) else style in ("form", "deepObject")
        return style, explode

    def _body(self, described: Any) -> Body | None:
        if described is None:
            return None
        body, base = self._documents.resolve(described, self._base)
        content = body.get("content") if isinstance(body, Mapping) else None
        if not isinstance(content, Mapping) or not content:
            raise DescriptionError("Its body has no content.")
        media_type, kind = _best(list(map(str, content)))
        media = content[media_type] if isinstance(content[media_type], Mapping) else {}
        return Body(
            kind=kind,
            media_type=media_type,
            schema=self._schemas.write(media.get("schema", {}), base),
            description=_text(body.get("description")),
            required=body.get("required") is True,
        )

    def _swagger_body(self, operation: Mapping[str, Any], parameters: Mapping[Any, Any]) -> Body | None:
        consumes = [*map(str, _list(operation.get("consumes")) or _list(self._documents.root.get("consumes")))]
        for (place, _), (one, base) in parameters.items():
            if place == "body":
                media_type, kind = _best(consumes or ["application/json"])
                return Body(
                    kind=kind,
                    media_type=media_type,
                    schema=self._schemas.write(one.get("schema", {}), base),
                    description=_text(one.get("description")),
                    required=one.get("required") is True,
                )
        fields = [pair for (place, _), pair in parameters.items() if place == "formData"]
        return self._swagger_form(fields, consumes) if fields else None

    def _swagger_form(self, fields: list[tuple[Mapping[str, Any], str]], consumes: list[str]) -> Body:
        has_file = any(one.get("type") == "file" for one, _ in fields)
        kind: BodyKind = "multipart" if has_file or "multipart/form-data" in consumes else "form"
        properties = {
            one["name"]: self._schemas.write(_without_name(one), base)
            | ({"description": one["description"]} if isinstance(one.get("description"), str) else {})
            for one, base in fields
        }
        required = [one["name"] for one, _ in fields if one.get("required") is True]
        schema: Schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
        media_type = "multipart/form-data" if kind == "multipart" else "application/x-www-form-urlencoded"
        return Body(kind=kind, media_type=media_type, schema=schema, required=bool(required))


def _best(media_types: list[str]) -> tuple[str, BodyKind]:
    """The media type that we can write best."""
    bare = {one: one.partition(";")[0].strip().lower() for one in media_types}
    tests: list[tuple[BodyKind, Any]] = [
        ("json", lambda kind: kind == "application/json" or kind.endswith("+json") or kind == "*/*"),
        ("form", lambda kind: kind == "application/x-www-form-urlencoded"),
        ("multipart", lambda kind: kind == "multipart/form-data"),
        ("text", lambda kind: kind.startswith("text/") or kind.endswith("xml")),
    ]
    for kind, fits in tests:
        for written, media_type in bare.items():
            if fits(media_type):
                return written, kind
    return media_types[0], "bytes"


def security_groups(described: Any) -> tuple[tuple[str, ...], ...]:
    """Names of security schemes: any one of these groups is enough. Empty: nothing is needed."""
    groups = [one for one in _list(described) if isinstance(one, Mapping)]
    # An empty group means that nothing is needed.
    return () if any(not one for one in groups) else tuple(tuple(map(str, one)) for one in groups)


def _in_braces(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def _without_name(parameter: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameter.items() if key not in ("name", "in", "required", "description")}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
