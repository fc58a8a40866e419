"""Moments and durations, as n8n tells them and as people read them."""

from datetime import UTC, datetime

# A recovered run counts in seconds, all others in milliseconds; no execution is as old as this number of them.
_EARLIEST_MILLISECONDS = 100_000_000_000


def iso(start_time: float) -> str | None:
    """When a run began."""
    if not start_time:
        return None
    seconds = start_time / 1000 if start_time >= _EARLIEST_MILLISECONDS else start_time
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_end(start_time: float, milliseconds: float) -> str | None:
    scale = 1 if start_time >= _EARLIEST_MILLISECONDS else 1000
    return iso(start_time + milliseconds / scale) if start_time else None


def milliseconds_between(started: str | None, stopped: str | None) -> int | None:
    """How long it took; nothing while it is not over."""
    if not started or not stopped:
        return None
    begin, end = (datetime.fromisoformat(moment) for moment in (started, stopped))
    return round((end - begin).total_seconds() * 1000)
