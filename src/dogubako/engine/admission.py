"""What a tool must be before it may join: one bad definition would break the list for every client."""

import re
from typing import Any

import msgspec
from packaging.version import InvalidVersion, Version

from dogubako.contract.metadata import ToolMetadata
from dogubako.engine.plain_schema import compiled

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_HEADER_ANNOTATION = "x-mcp-header"


class RegistrationError(ValueError):
    """This tool cannot be registered; the message is for its author."""


def admit(metadata: ToolMetadata, *, derived: bool) -> None:
    """Raise RegistrationError with the first reason to refuse. A schema that we derived needs no proof."""
    _check_name(metadata.name)
    if not metadata.description.strip():
        raise RegistrationError(f'Tool description is required: "{metadata.name}"')
    try:
        Version(metadata.version)
    except InvalidVersion:
        raise RegistrationError(
            f'Tool "{metadata.name}" has version "{metadata.version}", which is not like 1.0.0'
        ) from None
    if not derived:
        _check_schema(metadata.name, "inputSchema", metadata.input_schema)
    if not derived and metadata.output_schema is not None:
        _check_schema(metadata.name, "outputSchema", metadata.output_schema)


def _check_name(name: str) -> None:
    if not name or not name.strip():
        raise RegistrationError("Tool name is required")
    if not _NAME.fullmatch(name):
        raise RegistrationError(
            f'Tool name "{name}" must start with a lowercase letter and contain only lowercase letters, numbers, '
            "hyphens and underscores (at most 64 characters)"
        )


def _check_schema(name: str, which: str, schema: Any) -> None:
    if schema.get("type") != "object":
        raise RegistrationError(f'Tool "{name}": {which} must have "type": "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(prop, dict) for prop in properties.values()):
        raise RegistrationError(f'Tool "{name}": every property of {which} must be an object')
    try:
        compiled(schema)
    except ValueError as error:
        reason = str(error).split("\n", 1)[0]
        raise RegistrationError(f'Tool "{name}": {which} is not valid JSON Schema: {reason}') from None
    if _HEADER_ANNOTATION in msgspec.json.encode(schema).decode():
        _check_header_annotations(name, schema)


def _check_header_annotations(name: str, schema: Any) -> None:
    # The SDK is heavy, and hardly a tool has such annotations.
    from mcp.shared.inbound import find_invalid_x_mcp_header  # noqa: PLC0415

    if (reason := find_invalid_x_mcp_header(schema)) is not None:
        raise RegistrationError(f'Tool "{name}": {reason}')
