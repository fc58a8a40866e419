"""What is searched of a tool: its fields, as text."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dogubako.contract.metadata import ToolExample
    from dogubako.engine.entry import ToolRegistryEntry


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool as the index sees it. `group` is where it comes from; tools of one group are neighbours."""

    key: str
    name: str
    group: str
    fields: Mapping[str, str]


def document_of(entry: "ToolRegistryEntry") -> Document:
    metadata = entry.metadata
    fields = {
        "name": metadata.name,
        "description": metadata.description,
        "keywords": " ".join(metadata.keywords.values()),
        "category": entry.category if entry.category == entry.pack else f"{entry.category} {entry.pack}",
        "tags": " ".join(entry.tags),
        "parameters": " ".join(parameter.name for parameter in metadata.parameters),
        "parameter descriptions": " ".join(parameter.description for parameter in metadata.parameters),
        "examples": " ".join(_example(example) for example in metadata.examples),
    }
    return Document(key=metadata.name, name=metadata.name, group=entry.pack, fields=fields)


def _example(example: "ToolExample") -> str:
    """What it is for, and the values that are words; numbers and nested values help nobody to find it."""
    values = [value for value in example.parameters.values() if isinstance(value, str)]
    return " ".join([example.description, *values])
