"""How many values a JSON text holds, counted without decoding it: an object in memory takes far more than its bytes."""

from typing import Final

# Each of these begins a value or stands before one.
_BEFORE_VALUES: Final = b"[{,"
_DIGITS: Final = b"0123456789"
_BLANKS: Final = b" \t\r\n"
# Reading a number takes the square of its digits. This many for each value are enough for every ordinary number.
DIGITS_PER_VALUE: Final = 40


def at_most_values(body: bytes) -> int:
    """An upper bound of the number of values. What stands inside of texts is counted as well."""
    return _count(body, _BEFORE_VALUES)


def has_more_values(body: bytes, most: int) -> bool:
    """Whether there are more values than `most`, or more digits than so many values need. Texts do not count.

    It takes milliseconds for megabytes. Of a text that is not valid JSON, the part that a decoder would read before
    it fails is counted correctly.
    """
    most_digits = most * DIGITS_PER_VALUE
    if len(body) <= most or (at_most_values(body) <= most and _count(body, _DIGITS) <= most_digits):
        return False
    if not _is_utf8(body):
        # `json.loads` also reads UTF-16, where a quotation mark may be half of another character.
        return True
    outside = _outside_of_texts(body, most)
    return outside is None or _values(outside) > most or _count(outside, _DIGITS) > most_digits


def _values(outside: bytes) -> int:
    """Whatever follows a comma is a value, and so is the first in each list or object that has one."""
    bare = outside.translate(None, _BLANKS)
    return at_most_values(bare) - bare.count(b"[]") - bare.count(b"{}")


def _count(text: bytes, characters: bytes) -> int:
    return len(text) - len(text.translate(None, characters))


def _is_utf8(body: bytes) -> bool:
    """Whether it can only be read as UTF-8: in UTF-16 and UTF-32 one of these is among the first four bytes."""
    return not any(byte in body[:4] for byte in (0x00, 0xFE, 0xFF))


def _outside_of_texts(body: bytes, most: int) -> bytes | None:
    """The JSON with a mark for each text, or None if there are more texts than so many values and names can be."""
    if b"\\" in body:
        # Without escaped backslashes and quotation marks, each quotation mark begins or ends a text.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    most_marks = 4 * most
    pieces = body.split(b'"', most_marks + 1)
    return b'"'.join(pieces[::2]) if len(pieces) <= most_marks + 1 else None
