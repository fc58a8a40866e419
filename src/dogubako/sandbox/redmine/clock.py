"""Times as Redmine keeps them in its database and as it shows them."""

from datetime import UTC, date, datetime


def now_text() -> str:
    """Now, as a column of the database holds it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def today() -> date:
    return datetime.now(UTC).date()


def shown_time(column: str | None) -> str | None:
    """A time as the API shows it: UTC, whole seconds."""
    if column is None:
        return None
    return f"{column[:10]}T{column[11:19]}Z"


def to_date(value: object) -> date | None:
    """A day written as YYYY-MM-DD; anything else is none."""
    text = str(value).strip()
    if len(text) != 10:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
