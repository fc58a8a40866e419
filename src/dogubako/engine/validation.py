"""Raw arguments → typed arguments. Every wrong field is reported at once, and no received value is repeated."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from dogubako.contract.errors import ValidationError, ValidationErrorContext
from dogubako.contract.metadata import Effect
from dogubako.contract.tool import BaseTool
from dogubako.engine.complaints import Complaints

_CONFIRM = "confirm"
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Checked:
    """Arguments that fit, and whether a destructive call was confirmed."""

    args: Any
    confirmed: bool


class ArgumentValidator:
    """Checks the arguments of one tool, by its model or by its plain JSON Schema."""

    def __init__(self, tool: BaseTool[Any, Any]) -> None:
        self._model = tool.args_model
        self._schema = dict(tool.metadata.input_schema)
        declared = self._model.model_fields if self._model else tool.input_schema().get("properties", {})
        self._asks_confirmation = tool.effect is Effect.DESTROY and _CONFIRM not in declared
        self._complaints = Complaints(self._schema)
        self._by_schema = _schema_validator(self._schema) if self._model is None else None

    def check(self, parameters: Mapping[str, Any]) -> Checked:
        """Typed arguments, or a ValidationError that names every wrong field."""
        if not isinstance(parameters, Mapping):
            raise ValidationError.of("parameters", "Invalid type for parameter parameters: expected object")
        confirmed = False
        if self._asks_confirmation and _CONFIRM in parameters:
            confirmed = _confirmation(parameters[_CONFIRM])
            parameters = {name: value for name, value in parameters.items() if name != _CONFIRM}
        encoded = _encode(parameters)
        return Checked(self._typed(parameters, encoded), confirmed)

    def _typed(self, parameters: Mapping[str, Any], encoded: str) -> Any:
        if self._model is None:
            return self._checked_by_schema(parameters)
        try:
            # JSON mode is strict about types and still reads dates and enums from text.
            return self._model.model_validate_json(encoded)
        except pydantic.ValidationError as error:
            problems = error.errors(include_url=False, include_context=True)
            raise _collected(self._complaints.of_model(problem, parameters) for problem in problems) from None

    def _checked_by_schema(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._by_schema is not None and not self._by_schema.is_valid(parameters):
            problems = list(self._by_schema.iter_errors(parameters))
            raise _collected(self._complaints.of_schema(problem) for problem in problems)
        return parameters


def _schema_validator(schema: dict[str, Any]) -> Any:
    # Tools with a plain schema are rare; those without one start faster.
    import jsonschema_rs  # noqa: PLC0415

    return jsonschema_rs.validator_for(schema, mask="the value")


def _confirmation(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValidationError.of(_CONFIRM, "Invalid type for parameter confirm: expected boolean")
    return value


def _encode(parameters: Mapping[str, Any]) -> str:
    """The arguments as JSON; what JSON cannot say is refused here, before it reaches a tool."""
    try:
        encoded = json.dumps(parameters, allow_nan=False, ensure_ascii=False)
        encoded.encode()
    except UnicodeEncodeError:
        raise ValidationError.of("parameters", "Invalid parameters: text contains half a Unicode character") from None
    except RecursionError:
        raise ValidationError.of("parameters", "Invalid parameters: nested too deeply") from None
    except (ValueError, TypeError):
        message = "Invalid parameters: only JSON values are allowed (no NaN, no Infinity)"
        raise ValidationError.of("parameters", message) from None
    return encoded


def _collected(found: Any) -> ValidationError:
    """One error for all fields: each said once, and a flood cut short."""
    errors: dict[str, ValidationErrorContext] = {}
    for context in found:
        errors.setdefault(context.message, context)
    shown: Sequence[ValidationErrorContext] = list(errors.values())[:_MOST_ERRORS]
    more = len(errors) - len(shown)
    return ValidationError(shown, hint=f"{more} more fields are wrong too." if more else None)


