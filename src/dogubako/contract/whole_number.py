"""Whole numbers as JSON knows them, which writes no difference between 5 and 5.0."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(_whole)]
# Around the choice and not inside of it: there the bounds of a field would be lost from its schema.
MaybeWholeNumber = Annotated[int | None, BeforeValidator(_whole)]
