"""Moments in n8n's two spellings: milliseconds inside execution data, text everywhere else."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def now_text() -> str:
    return to_text(now_ms())


def to_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def to_text(moment: int) -> str:
    """As `2026-11-15T21:09:22.646Z`."""
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
