"""Values of custom fields: what a caller writes, what Redmine stores, what a filter asks for, what people read.

Redmine stores texts: `1` and `0` for yes and no, ids for users, versions and key-value choices. It stores any other
text in a yes-or-no field as it is and reads it as no, so every value is translated or refused here.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.contract.normalization import nfkc
from dogubako.packs.redmine.models import VERSION, JsonObject
from dogubako.packs.redmine.names.custom_fields import FLAGS, NUMBERS, choices_of
from dogubako.packs.redmine.names.matching import plain
from dogubako.packs.redmine.names.names import Names

_YES: Final = frozenset({"1", "yes", "true", "on", "y", "はい", "有", "有り", "あり", "する", "真"})
_NO: Final = frozenset({"0", "no", "false", "off", "n", "いいえ", "無", "無し", "なし", "しない", "偽"})
_NUMBERS: Final = {"int": re.compile(r"[+-]?\d+", re.ASCII), "float": re.compile(r"[+-]?\d+(?:\.\d*)?", re.ASCII)}
_MOST_SHOWN: Final = 30
_LONGEST_ID: Final = 18
# These formats store ids, or 1 and 0, which people cannot read.
_CODED: Final = ("user", "version", "enumeration", "bool")


def written(value: Any) -> Any:
    """A value as Redmine stores it: text, or a list of texts."""
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    if isinstance(value, bool):
        return "1" if value else "0"
    return "" if value is None else str(value)


class FieldValues:
    """Translates values of one custom field."""

    def __init__(
        self, names: Names, id_: int, definition: JsonObject, project: int | None, parameter: str = "custom_fields"
    ) -> None:
        self._names = names
        self._id = id_
        self.definition = definition
        self._project = project
        self._parameter = parameter

    async def stored(self, given: Any) -> Any:
        """The value to write. A field of unknown format takes it unchanged, unless it would be misread."""
        if isinstance(given, list | tuple):
            if "multiple" in self.definition and not self.definition["multiple"]:
                raise self._wrong("this field takes one value only")
            return [await self._stored(one) for one in given]
        return await self._stored(given)

    async def alternatives(self, given: Any) -> list[str]:
        """Values for a filter; none for "empty"."""
        values = given if isinstance(given, list | tuple) else [given]
        return [one for one in [await self._stored(value) for value in values] if one]

    async def _stored(self, given: Any) -> str:
        if given in (None, ""):
            return ""
        match self.definition.get("field_format"):
            case "bool":
                return self._flag(given)
            case "user":
                return str(await self._names.people.id_of(given, self._parameter, self._project))
            case "version":
                return str(await self._names.id_of(VERSION, given, self._parameter, self._project))
            case "date" if isinstance(given, str):
                return await self._names.days.day(given, self._parameter)
            case "int" | "float" as form:
                return self._number(form, given)
            case "list" | "enumeration" if choices := choices_of(self.definition):
                return self._choice(choices, given)
            case None:
                return await self._unknown(given)
        return str(written(given))

    def _flag(self, given: Any) -> str:
        word = plain(str(written(given)))
        if word in _YES or word in _NO:
            return "1" if word in _YES else "0"
        raise self._wrong("this field takes yes or no", "Give true or false.")

    def _number(self, form: str, given: Any) -> str:
        number = nfkc(str(written(given))).strip()
        if isinstance(given, bool) or not _NUMBERS[form].fullmatch(number):
            raise self._wrong(f"this field takes {'whole numbers' if form == 'int' else 'numbers'}")
        return number

    def _choice(self, choices: Mapping[str, str], given: Any) -> str:
        """A label before a value: the label of one choice may be the number of another. A number is a value."""
        text = str(written(given))
        labelled = [value for value, label in choices.items() if plain(label) == plain(text)]
        if isinstance(given, str) and len(labelled) == 1:
            return labelled[0]
        if text in choices:
            return text
        listed = ", ".join(list(choices.values())[:_MOST_SHOWN])
        raise self._wrong("this field has no such choice", f"Choices: {listed}.")

    async def _unknown(self, given: Any) -> str:
        """Without a format, only the values that issues have tell what a field takes."""
        hints = await self._names.custom_fields.hints(self._id, self._project)
        word = plain(str(written(given)))
        if hints.get(FLAGS) or (hints.get(FLAGS) is None and word in (_YES | _NO) - {"0", "1"}):
            if word not in _YES | _NO:
                raise self._wrong("this field seems to take yes or no", "Give true or false, '1' or '0'.")
            if hints.get(FLAGS) is None:
                raise self._wrong("it is not known whether this field takes yes or no", "Give '1' for yes, '0' for no.")
            return "1" if word in _YES else "0"
        if hints.get(NUMBERS) and not word.isdecimal():
            raise self._wrong(
                "this field holds numbers, or ids of something", "show_issue shows the values that issues have."
            )
        return str(written(given))

    def _wrong(self, reason: str, hint: str | None = None) -> ValidationError:
        message = f"Invalid value for parameter {self._parameter}: {reason}"
        return ValidationError.of(self._parameter, message, hint=hint)


class Labels:
    """What people read for stored values: names for ids, yes and no for 1 and 0."""

    def __init__(self, names: Names, project: int | None, issue: int | None = None) -> None:
        self._names = names
        self._project = project
        self._issue = issue

    async def of(self, stored: Mapping[int, Collection[str]], *, all_people: bool = True) -> dict[int, dict[str, str]]:
        """Labels by value for each of these fields. No request is made for values that cannot be ids.

        People who have left cost a request each; a list does without them.
        """
        coded = {id_: set(values) for id_, values in stored.items() if values and all(map(_is_number, values))}
        if not coded:
            return {}
        fields = await self._names.custom_fields.definitions(coded, self._project, self._issue)
        coded = {id_: coded[id_] for id_, field in fields.items() if field.get("field_format") in _CODED}
        choices = {id_: choices_of(fields[id_]) for id_ in coded}
        if lacking := [id_ for id_, values in coded.items() if not values <= choices[id_].keys()]:
            filters = await self._names.forms.filters(self._project, [f"cf_{id_}" for id_ in lacking]) or {}
            for id_ in lacking:
                if f"cf_{id_}" in filters:
                    choices[id_] |= choices_of(filters[f"cf_{id_}"].as_definition(id_))
        if all_people:
            await self._add_people(fields, coded, choices)
        return {id_: {value: choices[id_][value] for value in coded[id_] if value in choices[id_]} for id_ in coded}

    async def _add_people(
        self, fields: Mapping[int, JsonObject], coded: Mapping[int, set[str]], choices: Mapping[int, dict[str, str]]
    ) -> None:
        users = [id_ for id_ in coded if fields[id_]["field_format"] == "user"]
        missing = {int(value) for id_ in users for value in coded[id_] - choices[id_].keys()}
        names = await self._names.people.names(missing, self._project) if missing else {}
        for id_ in users:
            choices[id_].update({str(user): name for user, name in names.items()})


async def with_labels(names: Names, records: Sequence[JsonObject], project: int | None) -> list[JsonObject]:
    """Records whose custom fields say what their ids mean."""
    stored: dict[int, set[str]] = {}
    for record in records:
        for field in record.get("custom_fields") or ():
            stored.setdefault(field["id"], set()).update(one for one in _texts(field.get("value")) if one)
    try:
        labels = await Labels(names, project).of(stored, all_people=project is not None)
    except DogubakoError:
        # The ids say the same; a look-up that fails must not hide the record.
        return list(records)
    return [_with_labels(record, labels) for record in records] if any(labels.values()) else list(records)


def _with_labels(record: JsonObject, labels: Mapping[int, Mapping[str, str]]) -> JsonObject:
    fields = []
    for field in record.get("custom_fields") or ():
        known = labels.get(field["id"], {})
        named = [known[one] for one in _texts(field.get("value")) if one in known]
        fields.append({**field, "label": ", ".join(named)} if named else field)
    return {**record, "custom_fields": fields} if fields else record


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID


def _texts(value: Any) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one is not None]
