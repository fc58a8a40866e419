"""How much a service may answer: in bytes, and in values, which take far more room than bytes once they are decoded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MEGABYTE: Final = 1024 * 1024
# Less than this holds too few values to be any trouble.
_NEVER_TOO_MANY: Final = MEGABYTE // 4
# Each of these begins a value or stands before one. Those inside of texts count too: it is an upper bound.
_BEFORE_VALUES: Final = b"[{,"
_BEFORE_CONTAINERS: Final = b"[{"
_IN_FIELDS: Final = b":"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """The most that is taken. A file that nobody decodes may have as many values as it likes.

    Decoding is one call into C that holds the interpreter: the bounds keep it below 100 ms. An object or a list takes
    five times as long as a number or a text, a field whose name was not seen before ten times.
    """

    most_bytes: int
    most_values: int | None = None
    most_containers: int | None = None
    most_fields: int | None = None

    def allows_values_of(self, body: bytes) -> bool:
        """Whether it can be decoded safely: eight megabytes of `[],` would take two hundred, and seconds."""
        return self.exceeded_by(body) is None

    def exceeded_by(self, body: bytes) -> str | None:
        """The limit that a body exceeds, in words, if it exceeds one."""
        if len(body) > self.most_bytes:
            return f"{self.most_bytes:,} bytes"
        if len(body) <= _NEVER_TOO_MANY or body.lstrip()[:1] not in (b"[", b"{"):
            return None
        return next((f"{most:,} {what}" for what, most, signs in self._counted() if _count(body, signs) > most), None)

    def _counted(self) -> Iterator[tuple[str, int, bytes]]:
        if self.most_values is not None:
            yield "values", self.most_values, _BEFORE_VALUES
        if self.most_containers is not None:
            yield "objects and lists", self.most_containers, _BEFORE_CONTAINERS
        if self.most_fields is not None:
            yield "fields", self.most_fields, _IN_FIELDS


def _count(body: bytes, signs: bytes) -> int:
    return len(body) - len(body.translate(None, signs))


# A page of 50 workflows or 100 issues fits well. What may be larger says so itself.
JSON_ANSWER: Final = Bound(
    most_bytes=24 * MEGABYTE, most_values=1_000_000, most_containers=150_000, most_fields=200_000
)
# For documents of which everybody knows that they are small: keys, descriptions of a server.
SMALL_DOCUMENT: Final = Bound(most_bytes=MEGABYTE, most_values=20_000)
