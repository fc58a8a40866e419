"""Bounds on the answers of services: bytes, values, containers and digits, checked before anything is decoded.

`unpack` decompresses an answer within its bound.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dogubako.outbound.json_answers import BYTE_ORDER_MARK
from dogubako.process_memory import return_large_blocks

# A number of 256 bits has 78 digits.
MOST_DIGITS: Final = 100
# Integers of more digits than a machine word are read fifty times as slowly as others.
MACHINE_WORD_DIGITS: Final = 20
MOST_LONG_NUMBERS: Final = 20_000

# What stands before the digits of a number, or before those of its fraction.
_BEFORE_DIGITS: Final = b" \t\r\n,:[-."
_SIMPLIFIED: Final = bytes.maketrans(b"123456789" + _BEFORE_DIGITS, b"0" * 9 + b"," * len(_BEFORE_DIGITS))
_LONG: Final = b"," + b"0" * MACHINE_WORD_DIGITS
_TOO_LONG: Final = b"," + b"0" * (MOST_DIGITS + 1)


def exceeded_digits(body: bytes) -> str | None:
    """The limit on digits that a JSON text exceeds, in words, if it exceeds one.

    Digits inside of texts do not count as one long number. For the number of long numbers they count: that is an upper
    bound.
    """
    if len(body) <= MOST_DIGITS:
        return None
    simplified = body.translate(_SIMPLIFIED)
    if _has_number_too_long(body, simplified):
        return f"{MOST_DIGITS} digits in one number"
    if simplified.count(_LONG) > MOST_LONG_NUMBERS:
        return f"{MOST_LONG_NUMBERS:,} numbers of {MACHINE_WORD_DIGITS} digits or more"
    return None


def _has_number_too_long(body: bytes, simplified: bytes) -> bool:
    looked_at, inside_text = 0, False
    found = simplified.find(_TOO_LONG)
    while found >= 0:
        inside_text ^= _has_odd_quotation_marks(body[looked_at:found])
        if not inside_text:
            return True
        looked_at = found
        found = simplified.find(_TOO_LONG, found + len(_TOO_LONG))
    return False


def _has_odd_quotation_marks(part: bytes) -> bool:
    """Whether a text begins in this part and does not end in it, or the other way round."""
    if b"\\" in part:
        part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
    return part.count(b'"') % 2 == 1


MEGABYTE: Final = 1024 * 1024
# A smaller body holds too few values to matter.
_NEVER_TOO_MANY: Final = MEGABYTE // 4
# Each of these begins a value or precedes one. Those inside strings count too: it is an upper bound.
_BEFORE_VALUES: Final = b"[{,"
_BEFORE_CONTAINERS: Final = b"[{"
_IN_FIELDS: Final = b":"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """Limits of one answer. A file that is not decoded may have any number of values.

    Decoding is one call into C that holds the interpreter: the bounds keep it below 100 ms. An object or a list takes
    five times as long as a number or a text, a field whose name was not seen before ten times. Numbers of many digits
    are refused wherever values are counted.
    """

    most_bytes: int
    most_values: int | None = None
    most_containers: int | None = None
    most_fields: int | None = None

    def allows_values_of(self, body: bytes) -> bool:
        """Whether the body can be decoded safely: eight megabytes of `[],` would take 200 MB, and seconds."""
        return self.exceeded_by(body) is None

    def exceeded_by(self, body: bytes) -> str | None:
        """The exceeded limit in words, or None."""
        if len(body) > self.most_bytes:
            return f"{self.most_bytes:,} bytes"
        if body.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] not in (b"[", b"{"):
            return None
        return self._exceeded_by_values(body) or (exceeded_digits(body) if self.most_values is not None else None)

    def _exceeded_by_values(self, body: bytes) -> str | None:
        if len(body) <= _NEVER_TOO_MANY:
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


# Enough for a page of 50 workflows or 100 issues. Larger answers set their own limit.
JSON_ANSWER: Final = Bound(
    most_bytes=24 * MEGABYTE, most_values=1_000_000, most_containers=150_000, most_fields=200_000
)
# For documents that are always small: keys, server metadata.
SMALL_DOCUMENT: Final = Bound(most_bytes=MEGABYTE, most_values=20_000)

_GZIP: Final = ("gzip", "x-gzip")
_NOT_PACKED: Final = ("", "identity")
_WINDOW_OF_GZIP: Final = zlib.MAX_WBITS | 16


def unpack(pieces: Sequence[bytes], encoding: str, at_most: Bound) -> tuple[bytes, str | None]:
    """The decompressed answer and the limit that it exceeds, if any. Raises ValueError for a wrong encoding."""
    body = b"".join(pieces)
    if len(body) > MEGABYTE:
        return_large_blocks()
    if encoding not in _NOT_PACKED and body:
        body = _decompressed(body, encoding, at_most.most_bytes)
    exceeded = at_most.exceeded_by(body)
    return (body, None) if exceeded is None else (b"", exceeded)


def _decompressed(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """At most one byte more than allowed, to detect larger answers: a few bytes can expand to gigabytes."""
    if encoding not in _GZIP:
        raise ValueError(f"unknown encoding {encoding}")
    try:
        return zlib.decompressobj(_WINDOW_OF_GZIP).decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise ValueError("not gzip") from error
