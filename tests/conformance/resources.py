"""Resources with a fixed address, and a family of them."""

import json
from collections.abc import Mapping

from dogubako import Context
from dogubako.tools import Resource, ResourceTemplate

from .content import PNG

Variables = Mapping[str, str]


async def _static_text(context: Context, variables: Variables) -> str:
    return "This is the content of the static text resource."


async def _static_binary(context: Context, variables: Variables) -> bytes:
    return PNG


async def _watched(context: Context, variables: Variables) -> str:
    return "Somebody may be watching."


async def _data(context: Context, variables: Variables) -> str:
    number = variables["id"]
    return json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})


async def _ids(context: Context, value: str, others: Variables) -> list[str]:
    return [one for one in ("123", "124", "200") if one.startswith(value)]


RESOURCES = (
    Resource(uri="test://static-text", name="Static text", description="Text that never changes.", read=_static_text),
    Resource(
        uri="test://static-binary",
        name="Static picture",
        description="A picture that never changes.",
        mime_type="image/png",
        read=_static_binary,
    ),
    Resource(uri="test://watched-resource", name="Watched", description="Can be subscribed to.", read=_watched),
)

TEMPLATES = (
    ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="Data by id",
        description="The data of one id.",
        mime_type="application/json",
        read=_data,
        completions={"id": _ids},
    ),
)
