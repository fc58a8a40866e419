"""Whether spent time may be saved as asked, and the sentences that say why not."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask, forbidden, unprocessable
from dogubako.sandbox.redmine.clock import to_date
from dogubako.sandbox.redmine.custom_values import Values
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.project_shown import activities_of
from dogubako.sandbox.redmine.shapes import body_object, checked_customs, is_blank, too_long
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.visitor import ACTIVE, Visitor

_NUMBERS: Final = ("user_id", "project_id", "issue_id", "activity_id")
_LABELS: Final = {
    "user_id": "User",
    "activity_id": "Activity",
    "project_id": "Project",
    "hours": "Hours",
    "spent_on": "Date",
}
_MOST_HOURS: Final = 999.0
_PLAIN: Final = re.compile(r"(\d+(?:[.,]\d+)?)h?")
_CLOCK: Final = re.compile(r"(\d+):(\d+)")
_WORDS: Final = re.compile(r"(?:(\d+)\s*(?:h|hours?))?\s*(?:(\d+)\s*(?:m|min)?)?", re.IGNORECASE)
# Ruby understands this as a day, though Redmine then says that it is not a valid one.
_SLASHED: Final = re.compile(r"\d{1,2}/\d{1,2}/\d{4}|\d{4}/\d{1,2}/\d{1,2}")


def checked_entry(ask: Ask, entry: Row) -> tuple[Row, Values]:
    """The entry as it would be, and its custom values. `entry` is what there was, or what a new one starts with."""
    body = body_object(ask, "time_entry")
    changed = {**entry, **_settable(body)}
    wrong = _Wrong(ask, entry, changed)
    wrong.place(body)
    project = ask.store["projects"].get(changed["project_id"]) if changed.get("project_id") else None
    if "id" not in entry and project and wrong.place_was_given and not ask.who.may("log_time", project):
        raise forbidden()
    known = entry if "id" in entry else None
    values, wrong_values = checked_customs(ask, "TimeEntry", known, body, project)
    sentences = [*wrong_values, *wrong.sentences(project)]
    if sentences:
        raise unprocessable(*sentences)
    return changed, values


def _settable(body: Row) -> Row:
    asked: Row = {name: _number(body[name]) for name in _NUMBERS if name in body}
    if "comments" in body:
        asked["comments"] = None if body["comments"] is None else str(body["comments"])
    if "hours" in body:
        asked["hours"] = parsed_hours(body["hours"])
    if "spent_on" in body:
        asked["spent_on"] = body["spent_on"]
    return asked


def _number(value: Any) -> int | None:
    return None if is_blank(value) else to_id(value)


def parsed_hours(value: Any) -> Any:
    """`1h30`, `1:30`, `90 min`, `1,5`; what cannot be read stays as it is."""
    if not isinstance(value, str):
        return None if value is None else value
    text = value.strip()
    if not text:
        return None
    if plain := _PLAIN.fullmatch(text):
        return float(plain[1].replace(",", "."))
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) + int(clock[2]) / 60
    if words := _WORDS.fullmatch(text):
        return int(words[1] or 0) + int(words[2] or 0) / 60
    try:
        return float(text)
    except ValueError:
        return text


class _Wrong:
    """What is wrong with one entry, found in the order in which Redmine looks."""

    def __init__(self, ask: Ask, was: Row, entry: Row) -> None:
        self._ask, self._was, self._entry = ask, was, entry
        self._issue_is_wrong = False
        self.place_was_given = False

    def place(self, body: Row) -> None:
        """The issue brings its project, if the visitor sees it and may log time there."""
        entry, store = self._entry, self._ask.store
        given = entry.get("project_id")
        self.place_was_given = given is not None and store["projects"].get(given) is not None
        issue = store["issues"].get(entry["issue_id"]) if entry.get("issue_id") else None
        if issue is None:
            self._issue_is_wrong = entry.get("issue_id") is not None
            return
        if entry.get("issue_id") != self._was.get("issue_id"):
            self._move_to(issue, body)
        if entry.get("project_id") is None or store["projects"].get(entry["project_id"]) is None:
            entry["project_id"] = issue["project_id"]
        self._issue_is_wrong = self._issue_is_wrong or entry["project_id"] != issue["project_id"]

    def _move_to(self, issue: Row, body: Row) -> None:
        entry, ask = self._entry, self._ask
        project = ask.store["projects"].at(issue["project_id"])
        if sees_issue(ask.store, ask.who, issue) and ask.who.may("log_time", project):
            if is_blank(body.get("project_id")):
                entry["project_id"] = issue["project_id"]
                self.place_was_given = True
        else:
            self._issue_is_wrong = True

    def sentences(self, project: Row | None) -> list[str]:
        entry = self._entry
        blank = [f"{label} cannot be blank" for name, label in _LABELS.items() if self._is_blank(name)]
        return [
            *blank,
            *(["Hours is invalid"] if isinstance(entry.get("hours"), str) else []),
            *too_long("Comment", entry.get("comments"), 1024),
            *self._wrong_day(),
            *self._wrong_hours(),
            *(["Project is invalid"] if project is None else []),
            *(["User is invalid"] if self._user_is_wrong(project) else []),
            *(["Issue is invalid"] if self._issue_is_wrong else []),
            *self._wrong_activity(project),
        ]

    def _is_blank(self, name: str) -> bool:
        value = self._entry.get(name)
        if name == "spent_on":
            return is_blank(value) or (to_date(value) is None and not _SLASHED.fullmatch(str(value)))
        return value is None

    def _wrong_day(self) -> list[str]:
        day = self._entry.get("spent_on")
        return ["Date is not a valid date"] if not is_blank(day) and to_date(day) is None else []

    def _wrong_hours(self) -> list[str]:
        hours, entry = self._entry.get("hours"), self._entry
        if not isinstance(hours, int | float):
            return []
        if hours < 0:
            return ["Hours is invalid"]
        rows = self._ask.store["time_entries"].where(user_id=entry.get("user_id"), spent_on=entry.get("spent_on"))
        others = sum(each["hours"] for each in rows if each["id"] != entry.get("id"))
        if hours == self._was.get("hours") or others + hours <= _MOST_HOURS:
            return []
        most, logged = _as_clock(_MOST_HOURS), _as_clock(others)
        return [f"Cannot log more than {most} hours on the same day ({logged} hours have already been logged)"]

    def _user_is_wrong(self, project: Row | None) -> bool:
        """Time of others needs a permission, and they must be able to log it themselves."""
        user_id, who, store = self._entry.get("user_id"), self._ask.who, self._ask.store
        is_same = "id" in self._was and user_id == self._was["user_id"]
        if user_id is None or is_same or user_id == self._entry["author_id"]:
            return False
        if project is None or not who.may("log_time_for_other_users", project):
            return True
        user = store["users"].get(user_id)
        if user_id == who.id or user is None:
            return user is None
        is_member = store["members"].first(project_id=project["id"], user_id=user_id) is not None
        return not (is_member and user.get("status") == ACTIVE and Visitor(store, user).may("log_time", project))

    def _wrong_activity(self, project: Row | None) -> list[str]:
        activity = self._entry.get("activity_id")
        if project is None or activity == self._was.get("activity_id"):
            return []
        known = {each["id"] for each in activities_of(self._ask.store, project)}
        return [] if activity in known else ["Activity is not included in the list"]


def _as_clock(hours: float) -> str:
    minutes = round(hours * 60)
    return f"{minutes // 60}:{minutes % 60:02}"
