"""A wrong value deep inside the arguments is named in a few words."""

from collections.abc import Mapping
from typing import Any

from dogubako import Context
from dogubako.tools import SchemaTool

from .boxes import box_of

_NAME = "a" * 64
_LEVELS = 90


async def _act(args: Mapping[str, Any], context: Context[Any]) -> str:
    return "done"


async def test_the_name_of_a_deep_field_is_short() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = "not a number"
    for _ in range(_LEVELS):
        schema = {"type": "object", "properties": {_NAME: schema}}
        value = {_NAME: value}

    result = await box_of(SchemaTool("deep", "Go deep.", schema, _act)).call("deep", value)

    [detail] = result.to_mcp()["_meta"]["details"]
    assert detail["field"] == f"{_NAME}.{_NAME}.{_NAME}.aaaaa…"
    assert result.content[0]["text"] == f"Invalid type for parameter {detail['field']}: expected integer"
