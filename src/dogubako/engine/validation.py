"""Raw arguments → typed arguments. Every wrong field is reported at once, and no received value is repeated."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
import pydantic
from pydantic_core import ErrorDetails

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.schema import schema_of
from dogubako.contract.tool import BaseTool
from dogubako.engine.validation_messages import MOST_EXAMINED, ValidationMessages, collected


def compiled(schema: Mapping[str, Any], *, mask: str | None = None) -> Any:
    """A validator. ValueError when the schema is not valid, or refers to something outside of itself."""
    # Plain schemas are rare; a server without one starts faster.
    import jsonschema_rs  # noqa: PLC0415

    return jsonschema_rs.validator_for(dict(schema), mask=mask, retriever=_stay_here)


def _stay_here(uri: str) -> Any:
    # Whoever wrote the schema would otherwise choose which addresses and files this server opens.
    raise ValueError("a schema must not refer to other documents")


ModelT = TypeVar("ModelT", bound=pydantic.BaseModel)

_CONFIRM = "confirm"
# The mistakes in a call are counted up to here. That there are more can be said without knowing how many.
_MOST_COUNTED = 5_000
_to_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
_TOO_DEEP = "Invalid parameters: nested too deeply"


class Checked(msgspec.Struct, frozen=True):
    """Valid arguments, and whether a destructive call was confirmed."""

    args: Any
    confirmed: bool


class ModelValidator(Generic[ModelT]):
    """Validates data against a model. `prefix` is put before the names of fields in messages."""

    def __init__(self, model: type[ModelT], prefix: str = "", schema: Mapping[str, Any] | None = None) -> None:
        self._model = model
        # Pydantic's own method only passes the data on to its core. An author may have written another one.
        self._is_plain_model = model.model_validate.__func__ is pydantic.BaseModel.model_validate.__func__  # type: ignore[attr-defined]
        self._prefix = prefix
        self._schema = schema

    @cached_property
    def _complaints(self) -> ValidationMessages:
        # Schemas are slow to derive, and valid data needs none.
        return ValidationMessages(schema_of(self._model) if self._schema is None else self._schema, self._prefix)

    def check(self, data: Mapping[str, Any]) -> ModelT:
        """The model, or a ValidationError that names every wrong field."""
        if _is_plain(data.values()):
            try:
                if self._is_plain_model:
                    checked: ModelT = self._model.__pydantic_validator__.validate_python(data, strict=True)
                    return checked
                return self._model.model_validate(data, strict=True)
            except pydantic.ValidationError:
                # Dates and enums are read from text in JSON mode only, and complaints are collected below.
                pass
        try:
            # JSON mode is strict about types and still reads dates and enums from text.
            return self._model.model_validate_json(_encode(data))
        except pydantic.ValidationError as error:
            problems, is_whole = _problems(error)
            if problems[0]["type"] == "json_invalid":
                # We wrote this JSON ourselves; all that can be wrong with it is its depth.
                raise ValidationError.of("parameters", _TOO_DEEP) from None
            raise collected(self._complaints.of_model(problems, data), is_whole=is_whole) from None


class ArgumentValidator:
    """Checks the arguments of one tool, by its model or by its plain JSON Schema."""

    def __init__(self, tool: BaseTool[Any, Any]) -> None:
        schema = dict(tool.metadata.input_schema)
        declared = tool.args_model.model_fields if tool.args_model else tool.input_schema().get("properties", {})
        self._asks_confirmation = tool.effect is Effect.DESTROY
        self._takes_confirmation = _CONFIRM in declared
        self._validator: ModelValidator[Any] | SchemaValidator
        if tool.args_model:
            self._validator = ModelValidator(tool.args_model, schema=schema)
        else:
            self._validator = SchemaValidator(schema, tool.checked_schema())

    def arguments(self, parameters: Mapping[str, Any]) -> Any:
        """Typed arguments of a tool without confirmation, or a ValidationError that names every wrong field."""
        # Most are plain dicts, for which the check of an abstract class would take longer.
        if type(parameters) is not dict and not isinstance(parameters, Mapping):
            raise ValidationError.of("parameters", "Invalid type for parameter parameters: expected object")
        return self._validator.check(parameters)

    def check(self, parameters: Mapping[str, Any]) -> Checked:
        """The same for any tool, with its confirmation."""
        confirmed = False
        if self._asks_confirmation and isinstance(parameters, Mapping) and _CONFIRM in parameters:
            confirmed = _confirmation(parameters[_CONFIRM])
            if not self._takes_confirmation:
                parameters = {name: value for name, value in parameters.items() if name != _CONFIRM}
        return Checked(self.arguments(parameters), confirmed)


class SchemaValidator:
    """Checks plain data against a plain JSON Schema and hands it on unchanged.

    `original` is what counts where clients see another schema, whose words are used for what is wrong.
    """

    def __init__(self, schema: dict[str, Any], original: dict[str, Any] | None = None) -> None:
        # Without a list of properties a validator does not say which one it refuses.
        self._validator = compiled({"properties": {}, **(original or schema)}, mask="the value")
        self._complaints = ValidationMessages(schema)

    def check(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        _encode(data)
        if not self._validator.is_valid(data):
            problems = list(islice(self._validator.iter_errors(data), _MOST_COUNTED + 1))
            raise collected(self._complaints.of_schema(problems), is_whole=len(problems) <= _MOST_COUNTED)
        return data


def _is_plain(values: Iterable[Any]) -> bool:
    """Whether the arguments are short texts, integers and booleans, which need no JSON encoding."""
    for value in values:
        kind = type(value)
        if not ((kind is str and value.isascii()) or kind is int or kind is bool):
            return False
    return True


def _confirmation(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValidationError.of(_CONFIRM, "Invalid type for parameter confirm: expected boolean")
    return value


def _encode(parameters: Mapping[str, Any]) -> str:
    """The arguments as JSON; what JSON cannot say is refused here, before it reaches a tool."""
    try:
        encoded = _to_json(parameters)
        encoded.encode()
    except UnicodeEncodeError:
        raise ValidationError.of("parameters", "Invalid parameters: text contains half a Unicode character") from None
    except RecursionError:
        raise ValidationError.of("parameters", _TOO_DEEP) from None
    except (ValueError, TypeError):
        message = "Invalid parameters: only JSON values are allowed (no NaN, no Infinity)"
        raise ValidationError.of("parameters", message) from None
    return encoded


def _problems(error: pydantic.ValidationError) -> tuple[list[ErrorDetails], bool]:
    """The problems that pydantic found, and whether these are all.

    Its list of all findings takes far longer than the check itself. As JSON text they are made quickly, and the first
    of them can be read alone; they have neither the input nor the context, which may be as large as one likes.
    """
    if error.error_count() <= _MOST_COUNTED:
        return error.errors(include_url=False, include_context=True), True
    text = error.json(include_url=False, include_context=False, include_input=False)
    return list(_first_objects(text, MOST_EXAMINED)), False


def _first_objects(text: str, count: int) -> Iterator[Any]:
    """The first objects of a list, without reading the rest of it."""
    read, position = json.JSONDecoder().raw_decode, 1
    for _ in range(count):
        found, end = read(text, position)
        yield found
        # A comma stands between two of them.
        position = end + 1
