"""Days as people write them: `2026/11/15`, `2026年11月15日`, today, 昨日, in the time zone of the user."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dogubako.contract.errors import ValidationError
from dogubako.contract.normalization import nfkc
from dogubako.packs.redmine.names.web_forms import WebForms

_LONGEST: Final = 40
_NUMBERS: Final = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?", re.ASCII)
_OFFSET: Final = re.compile(r"\((?:GMT|UTC)([+-])(\d{2}):(\d{2})\)")
WORDS: Final[Mapping[str, int]] = {
    "today": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "今日": 0,
    "本日": 0,
    "明日": 1,
    "明後日": 2,
    "昨日": -1,
    "一昨日": -2,
}
# Rails has names of its own for zones. These have daylight saving time, so their offset alone does not tell the day.
_ZONES: Final[Mapping[str, str]] = {
    "Alaska": "America/Juneau",
    "Pacific Time (US & Canada)": "America/Los_Angeles",
    "Mountain Time (US & Canada)": "America/Denver",
    "Central Time (US & Canada)": "America/Chicago",
    "Eastern Time (US & Canada)": "America/New_York",
    "Atlantic Time (Canada)": "America/Halifax",
    "Newfoundland": "America/St_Johns",
    "Santiago": "America/Santiago",
    "London": "Europe/London",
    "Edinburgh": "Europe/London",
    "Dublin": "Europe/Dublin",
    "Lisbon": "Europe/Lisbon",
    "Amsterdam": "Europe/Amsterdam",
    "Berlin": "Europe/Berlin",
    "Bern": "Europe/Zurich",
    "Brussels": "Europe/Brussels",
    "Copenhagen": "Europe/Copenhagen",
    "Madrid": "Europe/Madrid",
    "Paris": "Europe/Paris",
    "Prague": "Europe/Prague",
    "Rome": "Europe/Rome",
    "Stockholm": "Europe/Stockholm",
    "Vienna": "Europe/Vienna",
    "Warsaw": "Europe/Warsaw",
    "Zurich": "Europe/Zurich",
    "Athens": "Europe/Athens",
    "Bucharest": "Europe/Bucharest",
    "Helsinki": "Europe/Helsinki",
    "Kyiv": "Europe/Kiev",
    "Jerusalem": "Asia/Jerusalem",
    "Adelaide": "Australia/Adelaide",
    "Hobart": "Australia/Hobart",
    "Melbourne": "Australia/Melbourne",
    "Sydney": "Australia/Sydney",
    "Auckland": "Pacific/Auckland",
    "Wellington": "Pacific/Auckland",
}


def written_day(text: str) -> date | None:
    """The day in a text of numbers; None for anything else."""
    if len(text) > _LONGEST or not (numbers := _NUMBERS.fullmatch(nfkc(text).strip())):
        return None
    try:
        return date(*(int(number) for number in numbers.groups()))
    except ValueError:
        return None


class Days:
    """The calendar of our user."""

    def __init__(self, forms: WebForms) -> None:
        self._forms = forms

    async def day(self, text: str, parameter: str) -> str:
        """A day as Redmine writes it, `2026-11-15`."""
        word = nfkc(text[:_LONGEST]).strip().casefold()
        if word in WORDS:
            return (await self.today() + timedelta(days=WORDS[word])).isoformat()
        if (day := written_day(text)) is None:
            message = f"Invalid value for parameter {parameter}: expected a day"
            raise ValidationError.of(parameter, message, hint="For example '2026-11-15', 'today' or 'tomorrow'.")
        return day.isoformat()

    async def today(self) -> date:
        return datetime.now(await self.zone()).date()

    async def zone(self) -> tzinfo:
        """The time zone of the user's account; without one, that of this computer, as Redmine uses its own."""
        name, label = await self._forms.time_zone()
        try:
            if name:
                return ZoneInfo(_ZONES.get(name, name))
        except (ZoneInfoNotFoundError, ValueError):
            if offset := _OFFSET.match(label):
                minutes = int(offset[2]) * 60 + int(offset[3])
                return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
        return datetime.now(UTC).astimezone().tzinfo or UTC
