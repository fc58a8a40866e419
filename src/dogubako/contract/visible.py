"""Text from elsewhere on a terminal: whatever would steer it is shown and not obeyed."""

from typing import Final

# They only look like a blank, and texts in Japanese are full of the last one.
_BLANKS: Final = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


def visible(text: str) -> str:
    """The same text on one line, with whatever nobody would see (`ESC`, `CR`, U+2028, U+202E) written as an escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _BLANKS else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
