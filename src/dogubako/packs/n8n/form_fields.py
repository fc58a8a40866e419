"""The fields of a form trigger: what its page would send for each, and what it would not let a person send."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from dogubako.contract.errors import ValidationError
from dogubako.packs.n8n.nodes.display import is_expression

_MOST_NAMED: Final = 20
# Since then a field's own name comes before its label, and before it a dropdown could take several options.
_OWN_NAMES_SINCE: Final = 2.4
_ONE_CHOICE_SINCE: Final = 2.3
# The patterns of the page and of a browser's own fields.
_PATTERNS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "number": (re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"), "a number"),
    "email": (re.compile(r"[a-zA-Z0-9._%+-]{1,200}@[a-zA-Z0-9.-]{1,200}\.[a-zA-Z]{2,200}"), "an email address"),
    "date": (re.compile(r"\d{4,6}-\d\d-\d\d"), "a date as YYYY-MM-DD"),
}


@dataclass(frozen=True, kw_only=True)
class FormField:
    """One field. `version` is that of the trigger."""

    number: int
    row: Mapping[str, Any]
    version: float

    @property
    def key(self) -> str:
        """Its name in the request."""
        return f"field-{self.number}"

    @property
    def kind(self) -> str:
        return str(self.row.get("fieldType") or "text")

    @property
    def identifier(self) -> str:
        """Its name in the item."""
        own, label = self._text("fieldName"), self._text("fieldLabel")
        if self.kind == "html":
            return self._text("elementName")
        return own if own and (self.kind == "hiddenField" or self.version >= _OWN_NAMES_SINCE) else label or own

    @property
    def names(self) -> list[str]:
        """What a caller may call it."""
        every = [self.identifier] if self.kind == "html" else [self._text("fieldLabel"), self._text("fieldName")]
        return [one for one in dict.fromkeys(every) if one]

    @property
    def told(self) -> str:
        """What it is called in messages: its label, and its own name where that is another."""
        shown = [one[:100] for one in self.names]
        return f"{shown[0]} ({shown[1]})" if len(shown) > 1 else "".join(shown)

    @property
    def takes_several(self) -> bool:
        """Whether the page sends it as a list; it does so for radio buttons too."""
        old_dropdown = self.kind == "dropdown" and self.version < _ONE_CHOICE_SINCE
        return self.kind in ("radio", "checkbox") or (old_dropdown and bool(self.row.get("multiselect")))

    @cached_property
    def options(self) -> list[str]:
        """What can be chosen; nothing if only n8n knows."""
        found = [str(one.get("option") or "") for one in rows_of(self.row.get("fieldOptions"))]
        return [] if any(map(is_expression, found)) else [one.strip() for one in found]

    def filled(self, given: Any) -> str | list[str]:
        """The value as the page sends it: a list where several can be chosen, and the texts of files."""
        if self.kind == "file":
            return self._texts_of_files(given)
        chosen = [] if given in (None, "") else given if isinstance(given, list) else [given]
        if self.takes_several:
            return self._checked_choice([_written(one).strip() for one in chosen])
        if self.kind == "dropdown":
            return "".join(self._checked_choice([_written(one).strip() for one in chosen], most=1))
        return self._checked_text("" if given is None else _written(given))

    def untouched(self, query: Mapping[str, str]) -> str | list[str]:
        """What the page sends when nobody fills it in: the query of its address comes before its own default."""
        if self.kind == "file" or (self.kind == "html" and not self.identifier):
            # Nothing of such HTML reaches the item.
            return [] if self.kind == "file" else ""
        asked = query.get(self.identifier) if self.kind != "html" else None
        value = self._stored() if asked is None else asked
        if self.takes_several:
            marked = [value] if self.kind == "radio" else [one.strip() for one in value.split(",")]
            return self._checked_choice([one for one in self.options if one in marked])
        if self.kind == "dropdown" and value and self.options and value not in self.options:
            # A browser selects the first option then.
            return self.options[0]
        return value

    def _stored(self) -> str:
        """The default in the node's parameters."""
        stored = self.row.get({"hiddenField": "fieldValue", "html": "html"}.get(self.kind, "defaultValue"))
        value = "" if stored is None else _written(stored)
        if is_expression(value) or (self.kind == "html" and "{{" in value):
            told = f"only n8n knows the value of '{self.told}', an expression. Give it here"
            raise ValidationError.of("data", f"Invalid value for parameter data: {told}")
        return value

    def shown(self, sent: str | list[str]) -> Any:
        """What the item shows of it."""
        return next(iter(sent), None) if self.kind == "radio" else sent

    def wrong(self, what: str) -> ValidationError:
        return ValidationError.of("data", f"Invalid value for parameter data: '{self.told}' {what}")

    def check_required(self, sent: str | list[str]) -> None:
        if self.row.get("requiredField") and self.kind not in ("html", "hiddenField") and not sent:
            raise ValidationError.of("data", f"Required parameter missing: data. The form needs '{self.told}'")

    def _text(self, key: str) -> str:
        return str(self.row.get(key) or "")

    def _checked_text(self, text: str) -> str:
        pattern, what = _PATTERNS.get(self.kind, (None, ""))
        if pattern is not None and text.strip() and not pattern.fullmatch(text.strip()):
            raise self.wrong(f"has to be {what}")
        return text

    def _checked_choice(self, chosen: list[str], most: int | None = None) -> list[str]:
        if self.options and any(one not in self.options for one in chosen):
            raise self.wrong(f"may be {', '.join(self.options[:_MOST_NAMED])}")
        least, most = self._limits() if most is None else (0, most)
        if most is not None and len(chosen) > most:
            raise self.wrong(f"takes {most} of them at most")
        if len(chosen) < least:
            raise self.wrong(f"needs {least} of them at least")
        return chosen

    def _limits(self) -> tuple[int, int | None]:
        if self.kind == "radio":
            return 0, 1
        match self.row.get("limitSelection") if self.kind == "checkbox" else None:
            case "exact":
                number = _number(self.row.get("numberOfSelections"), 1)
                return number, number
            case "range":
                return _number(self.row.get("minSelections"), 0), _number(self.row.get("maxSelections"), 1)
            case _:
                return 0, None

    def _texts_of_files(self, given: Any) -> list[str]:
        texts = [] if given in (None, "") else given if isinstance(given, list) else [given]
        if not all(isinstance(one, str) for one in texts):
            raise self.wrong("is a file: give its text, or a list of texts")
        if len(texts) > 1 and self.row.get("multipleFiles") is False:
            raise self.wrong("takes one file")
        return texts


def fields_of(parameters: Mapping[str, Any], version: float) -> list[FormField]:
    rows = rows_of(parameters.get("formFields"))
    return [FormField(number=number, row=row, version=version) for number, row in enumerate(rows)]


def rows_of(collection: Any) -> list[Mapping[str, Any]]:
    """The rows of a collection of n8n: `{"values": [{…}]}`."""
    rows = collection.get("values") if isinstance(collection, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def given_values(fields: Sequence[FormField], data: Mapping[str, Any]) -> dict[int, Any]:
    """What a caller gives to each field, by its number. Each name has to mean one field, and no field two values."""
    given: dict[int, Any] = {}
    for name, value in data.items():
        field = _field_named(fields, name)
        if field.number in given:
            raise field.wrong("has two values, by its label and by its name")
        given[field.number] = value
    return given


def _field_named(fields: Sequence[FormField], name: str) -> FormField:
    meant = [field for field in fields if name in field.names]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        listed = ", ".join(field.told for field in fields if field.names) or "none"
        raise ValidationError.of("data", f"Invalid value for parameter data: the form's fields are {listed}")
    others = list(_other_names(fields, meant, name))
    advice = f"Give {' or '.join(others)}" if len(others) == len(meant) else "Only other labels can tell them apart"
    message = f"Invalid value for parameter data: {len(meant)} fields are called '{name[:100]}'. {advice}"
    raise ValidationError.of("data", message)


def _other_names(fields: Sequence[FormField], meant: Sequence[FormField], name: str) -> Iterator[str]:
    """For each of these fields a name that no other field has."""
    for field in meant:
        own = (one for one in field.names if one != name and sum(one in other.names for other in fields) == 1)
        if (found := next(own, None)) is not None:
            yield found[:100]


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
