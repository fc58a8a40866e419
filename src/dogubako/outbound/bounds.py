"""How much a service may answer: in bytes, and in values, which take far more room than bytes once they are decoded."""

from dataclasses import dataclass
from typing import Final

MEGABYTE: Final = 1024 * 1024
# Less than this holds too few values to be any trouble.
_NEVER_TOO_MANY: Final = MEGABYTE // 4
# Each of these begins a value or stands before one. Those inside of texts count too: it is an upper bound.
_BEFORE_VALUES: Final = b"[{,"
_BEFORE_CONTAINERS: Final = b"[{"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """The most that is taken. A file that nobody decodes may have as many values as it likes.

    Decoding is one call into C that holds the interpreter: the bounds keep it below 100 ms. An object or a list takes
    five times as long as a number or a text.
    """

    most_bytes: int
    most_values: int | None = None
    most_containers: int | None = None

    def allows_values_of(self, body: bytes) -> bool:
        """Whether it can be decoded safely: eight megabytes of `[],` would take two hundred, and seconds."""
        return self.exceeded_by(body) is None

    def exceeded_by(self, body: bytes) -> str | None:
        """The limit that a body exceeds, in words, if it exceeds one."""
        if len(body) > self.most_bytes:
            return f"{self.most_bytes:,} bytes"
        if len(body) <= _NEVER_TOO_MANY or body.lstrip()[:1] not in (b"[", b"{"):
            return None
        if self.most_values is not None and _count(body, _BEFORE_VALUES) > self.most_values:
            return f"{self.most_values:,} values"
        if self.most_containers is not None and _count(body, _BEFORE_CONTAINERS) > self.most_containers:
            return f"{self.most_containers:,} objects and lists"
        return None


def _count(body: bytes, signs: bytes) -> int:
    return len(body) - len(body.translate(None, signs))


# For documents of which everybody knows that they are small: keys, descriptions of a server.
SMALL_DOCUMENT: Final = Bound(most_bytes=MEGABYTE, most_values=20_000)
