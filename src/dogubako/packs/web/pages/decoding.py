"""From bytes to text: what a page says about its encoding, as far as it can be believed."""

import codecs
import re
from typing import Final

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED: Final = re.compile(rb"charset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_SEARCHED_BYTES: Final = 4_096
# Pages say the narrow name and use the characters of the wide one, as every browser knows.
_WIDER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
# They make halves of characters out of plain text, take forever, or are no encodings of pages.
_NEVER: Final = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})


def decoded(body: bytes, charset: str | None) -> str:
    """The text. What cannot be read stands as a replacement character; nothing is ever refused."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = _known(charset) or _declared(body)
    for encoding in (declared, "utf-8"):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode(declared, "replace")


def _declared(body: bytes) -> str:
    """What the page itself says in its first kilobytes. Whoever can read that, does not read UTF-16."""
    match = _DECLARED.search(body[:_SEARCHED_BYTES])
    named = _known(match[1].decode("ascii")) if match else None
    return "utf-8" if named is None or named.startswith(("utf-16", "utf-32")) else named


def _known(charset: str | None) -> str | None:
    """The name under which Python knows a page's encoding; nothing for what is none."""
    try:
        found = codecs.lookup((charset or "").strip("\"' "))
    except (LookupError, ValueError):
        return None
    # Python also calls some ways of packing an encoding; those do not make text.
    is_text = getattr(found, "_is_text_encoding", True)
    return None if found.name in _NEVER or not is_text else _WIDER.get(found.name, found.name)
