"""Plain JSON Schemas from elsewhere, compiled without fetching anything."""

from collections.abc import Mapping
from typing import Any


def compiled(schema: Mapping[str, Any], *, mask: str | None = None) -> Any:
    """A validator. ValueError when the schema is not valid, or refers to something outside of itself."""
    # Plain schemas are rare; a server without one starts faster.
    import jsonschema_rs  # noqa: PLC0415

    return jsonschema_rs.validator_for(dict(schema), mask=mask, retriever=_stay_here)


def _stay_here(uri: str) -> Any:
    # Whoever wrote the schema would otherwise choose which addresses and files this server opens.
    raise ValueError("a schema must not refer to other documents")
