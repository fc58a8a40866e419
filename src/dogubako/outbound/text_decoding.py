"""Decode text from outside: attachments, pages and feeds.

The encoding is taken from, in this order: the byte order mark, the HTTP header, the XML declaration, the `<meta>`
element. A declaration that contradicts the bytes is not believed. Without a declaration the encoding is detected.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Final, Literal

from dogubako.contract.normalization import nfc
from dogubako.outbound.script_plausibility import plausibility

# Where the encoding was found.
Source = Literal["byte order mark", "HTTP header", "XML declaration", "meta element", "content", "unknown"]

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_XML: Final = re.compile(rb"\s*+<\?xml\b[^>]{0,200}?\bencoding\s*+=\s*+[\"']\s*+([A-Za-z0-9_.:-]{1,40})")
_META: Final = re.compile(rb"<meta\b[^<>]{0,1000}?\bcharset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_SEARCHED_BYTES: Final = 8_192
# Files declare the narrow encoding and use characters of the wide one, as browsers know.
_WIDER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "iso2022_jp": "iso2022_jp_ext",
}
# These make lone surrogates of plain text, are slow, or are no encodings of files.
_NEVER: Final = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
# What browsers call these.
_OTHER_NAMES: Final = {"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gb18030"}
_NAMES: Final = {
    "cp932": "Shift_JIS",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "iso2022_jp_ext": "ISO-2022-JP",
    "gb18030": "GB18030",
    "cp950": "Big5",
    "cp949": "EUC-KR",
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
}
_ESCAPES: Final = (b"\x1b$B", b"\x1b$@", b"\x1b(J", b"\x1b(I", b"\x1b$(D")
_EAST_ASIAN: Final = ("cp932", "euc_jp", "gb18030", "cp950", "cp949")
# The detectors look at no more than this.
_SAMPLE_BYTES: Final = 64 * 1024
# A text of one language is far above this; the same bytes in a wrong encoding are below it.
_PLAUSIBLE: Final = 0.35
# How much better another encoding must be to overrule the declared one.
_CLEARLY_BETTER: Final = 0.35
_MOSTLY_ASCII: Final = 0.3
# Latin letters with accents stand among plain ones; other scripts write whole words with bytes above ASCII.
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_BESIDE_ASCII: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff]{1,2}(?![\x80-\xff])")
# Signs that no Western text has between its letters: the text is in another Latin encoding.
_NOT_WESTERN: Final = re.compile("[\\w][¹³¼½¾¿¡£¥¦¯±²¶º·ÐÞðþ×÷][\\w]|[a-z][À-Þ][a-z]")
_WIDE: Final = re.compile("[^\x00-\x7f]")
_ALONE: Final = re.compile("(?<![^\x00-\x7f])[^\x00-\x7f](?=[a-z])|(?<=[A-Za-z])[^\x00-\x7f](?![^\x00-\x7f])")
_RUSSIAN_WORD: Final = re.compile("(?<![А-яЁё])[А-ЯЁ]?[а-яё]{2,}(?![А-яЁё])")
_MOSTLY_RUSSIAN: Final = 0.8
_TONE: Final = re.compile("[\u0300\u0301\u0303\u0309\u0323]")
_TONE_AFTER_VOWEL: Final = re.compile("(?<=[aăâeêioôơuưyAĂÂEÊIOÔƠUƯY])[\u0300\u0301\u0303\u0309\u0323]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ASCII_LETTER: Final = re.compile(r"[A-Za-z]")
_FIRST_AFTER_LATIN: Final = "\u0250"
_SIGNS: Final = frozenset("€‘’“”„–—…•§°«»·№¿¡\u00a0")
_MOSTLY_LETTERS: Final = 0.7
_WORD: Final = re.compile(r"[^\W\d_]{3}|[€§°] ?\d|\d ?[€§°]|[^\W\d_][‘’“”][^\W\d_]")
_LATIN: Final = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2", "iso8859_15", "mac_roman", "cp850")
_OTHER_SCRIPTS: Final = ("cp1251", "koi8_r", "cp866", "iso8859_5", "cp1253", "cp1255", "cp1256", "cp874")


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodedText:
    """A text, its encoding, and how the encoding was found. `contradicted` is a declaration that was wrong."""

    text: str
    encoding: str
    source: Source
    contradicted: str | None = None

    @property
    def known(self) -> bool:
        """Whether the encoding is known. If not, some characters may be wrong."""
        return self.source != "unknown"

    @property
    def note(self) -> str | None:
        """A sentence about an encoding that the reader should know of."""
        if not self.known:
            return "The encoding of this text is unknown: characters may be wrong."
        if self.contradicted:
            return f"The text is declared as {self.contradicted}, but is {self.encoding}."
        return None


def decode_text(body: bytes, charset: str | None = None) -> DecodedText:
    """Decode a text. `charset` is the one of the HTTP header. Nothing is refused."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], codec, "byte order mark")
    declared = _declared(body, charset)
    if declared is None:
        return _detected(body)
    codec, source, name = declared
    contrary = _contradiction(body, codec)
    if contrary is None:
        return _decoded(body, codec, source)
    return _decoded(body, contrary, "content", contradicted=name)


def python_codec(charset: str | None) -> str | None:
    """Python's name of an encoding of texts; None if there is none of this name."""
    name = (charset or "").strip("\"' ").lower()
    try:
        codec = codecs.lookup(_OTHER_NAMES.get(name, name))
    except (LookupError, ValueError):
        return None
    # Python also calls some compressions encodings; those do not make text.
    is_text = getattr(codec, "_is_text_encoding", True)
    return None if codec.name in _NEVER or not is_text else _WIDER.get(codec.name, codec.name)


def _declared(body: bytes, charset: str | None) -> tuple[str, Source, str] | None:
    """Codec, source and name of the first declaration that can be true."""
    head = body[:_SEARCHED_BYTES]
    xml, meta = _XML.match(head), _META.search(_without_comments(head))
    inside: tuple[tuple[re.Match[bytes] | None, Source], ...] = ((xml, "XML declaration"), (meta, "meta element"))
    if (codec := python_codec(charset)) is not None:
        return codec, "HTTP header", _NAMES.get(codec, (charset or "").strip("\"' ")[:40])
    for match, source in inside:
        codec = python_codec(match[1].decode("ascii")) if match else None
        # A declaration that can be read as ASCII rules out UTF-16.
        if codec is not None and not codec.startswith(("utf-16", "utf-32")):
            return codec, source, _name(codec)
    return None


def _without_comments(head: bytes) -> bytes:
    """A page without its comments: a declaration in one does not count."""
    first, *others = head.split(b"<!--")
    return first + b"".join(other.partition(b"-->")[2] for other in others)


def _contradiction(body: bytes, codec: str) -> str | None:
    """The codec that the bytes really have, if the declared one is wrong."""
    valid = _is_valid(body, codec)
    found = _detect(body)
    if found is None or found == codec or _same_text(body, codec, found):
        return None
    if not valid:
        return found if _is_valid(body, found) else None
    if found in ("utf-8", "iso2022_jp_ext") or codec.startswith("utf"):
        # Text in another encoding is hardly ever valid UTF-8, or full of escape sequences.
        return found
    sample = _whole_lines(body)
    declared = _lenient(sample, codec)
    if codec not in _EAST_ASIAN and _is_written(declared) and not _is_latin_noise(declared):
        # Words of letters, as declared.
        return None
    better = plausibility(_lenient(sample, found), found) - plausibility(declared, codec)
    return found if better > _CLEARLY_BETTER else None


def _same_text(body: bytes, one: str, other: str) -> bool:
    return body.isascii() and not {one, other} & {"iso2022_jp_ext"} and not (one + other).count("utf-16")


def _detected(body: bytes) -> DecodedText:
    codec = _detect(body)
    if codec is not None:
        return _decoded(body, codec, "content")
    return _decoded(body, "utf-8", "unknown")


def _detect(body: bytes) -> str | None:
    """The codec that the bytes have, as far as they tell."""
    if any(escape in body[:_SAMPLE_BYTES] for escape in _ESCAPES) and _is_valid(body, "iso2022_jp_ext"):
        return "iso2022_jp_ext"
    if (wide := _utf16(body[:_SAMPLE_BYTES])) is not None:
        return wide
    if _is_valid(body, "utf-8"):
        return "utf-8"
    return _vietnamese(body) or _cyrillic(body) or _east_asian(body) or _single_byte(body)


def _vietnamese(body: bytes) -> str | None:
    """Windows-1258 writes tones as marks of their own after vowels, and no other encoding does."""
    text = _lenient(_whole_lines(body), "cp1258")
    tones, after_vowels = _TONE.findall(text), len(_TONE_AFTER_VOWEL.findall(text))
    ascii_letters = len(_ASCII_LETTER.findall(text))
    wide = sum(char > "\x7f" and char not in _SIGNS for char in text)
    is_vietnamese = len(tones) == after_vowels >= 3 and len(set(tones)) > 1 and ascii_letters >= wide
    return "cp1258" if is_vietnamese else None


def _cyrillic(body: bytes) -> str | None:
    """Russian words are small letters, with a capital before them at most. Other decodings of them mix the cases."""
    sample = _whole_lines(body)
    for codec, least in (("cp1251", 4), ("koi8_r", 6)):
        text = _lenient(sample, codec)
        wide = [char for char in text if char > "\x7f" and char not in _SIGNS]
        in_words = sum(map(len, _RUSSIAN_WORD.findall(text)))
        if in_words >= least and in_words >= _MOSTLY_RUSSIAN * len(wide):
            return codec
    return None


def _utf16(sample: bytes) -> str | None:
    """UTF-16 without a byte order mark: Latin has a zero in every other byte, Japanese a plausible text."""
    sample = sample[: len(sample) // 2 * 2]
    if len(sample) < 4:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > len(sample) // 2 * _MOSTLY_ASCII and min(even, odd) <= max(even, odd) // 8:
        codec = "utf-16-le" if odd > even else "utf-16-be"
        return codec if _is_valid(sample, codec) else None
    if len(sample) % 2 or (_is_valid(sample, "utf-8") and not (even or odd)):
        return None
    scored = [(plausibility(_lenient(sample, codec), codec), codec) for codec in ("utf-16-le", "utf-16-be")]
    score, codec = max(scored)
    rival = max(
        (plausibility(_lenient(sample, one), one) for one in _EAST_ASIAN if _is_valid(sample, one)), default=0.0
    )
    # Zero bytes are a sign of UTF-16 themselves: there are spaces, digits or line ends.
    enough = _PLAUSIBLE if even or odd else 2 * _PLAUSIBLE
    return codec if score > enough and score > rival and _is_valid(sample, codec) else None


def _east_asian(body: bytes) -> str | None:
    sample = _whole_lines(body)
    scored = [
        (plausibility(text, codec), codec)
        for codec in _EAST_ASIAN
        if (text := _lenient(sample, codec)).count("\ufffd") * 200 <= len(text) and not _is_accented(text)
    ]
    # Of equals the first one: a kanji alone is Japanese more often than Chinese here.
    score, codec = max(scored, key=lambda one: one[0], default=(0.0, ""))
    return codec if score >= _PLAUSIBLE else None


def _is_accented(text: str) -> bool:
    """Whether most wide characters stand alone in Latin words: they are accented letters, decoded wrongly."""
    alone = len(_ALONE.findall(text))
    return alone > 0 and alone * 2 > len(_WIDE.findall(text))


def _single_byte(body: bytes) -> str | None:
    """A codec with one byte for a character, by a library that knows letters of many languages."""
    # Slow to import, and needed for few texts.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    sample = _whole_lines(body)
    if b"\0" in sample:
        return None
    latin = _has_accents(sample)
    if latin and _is_valid(sample, "cp1252") and not _NOT_WESTERN.search(sample.decode("cp1252")):
        return "cp1252" if _is_written(sample.decode("cp1252")) else None
    best = from_bytes(sample, cp_isolation=[*(_LATIN if latin else _OTHER_SCRIPTS)]).best()
    codec = python_codec(best.encoding) if best is not None else None
    return codec if codec is not None and _is_written(_lenient(sample, codec)) else None


def _has_accents(sample: bytes) -> bool:
    """Whether the bytes above ASCII are single letters in words of plain ones."""
    return sum(map(len, _BESIDE_ASCII.findall(sample))) * 2 > len(_HIGH.findall(sample))


def _is_latin_noise(text: str) -> bool:
    """Whether accented Latin letters stand in words of their own: the text is in another script."""
    words = [word for word in _LETTERS.findall(text) if not word.isascii() and max(word) < _FIRST_AFTER_LATIN]
    return sum(_ASCII_LETTER.search(word) is not None for word in words) * 2 < len(words)


def _is_written(text: str) -> bool:
    """Whether the characters outside ASCII are letters in words. In noise most are signs."""
    wide = [char for char in text if char > "\x7f"]
    letters = sum(char.isalpha() or char in _SIGNS for char in wide)
    return letters > _MOSTLY_LETTERS * len(wide) and _WORD.search(text) is not None


def _whole_lines(body: bytes) -> bytes:
    """The beginning of a long text, cut where no character is cut."""
    if len(body) <= _SAMPLE_BYTES:
        return body
    end = body.rfind(b"\n", 0, _SAMPLE_BYTES)
    return body[: end if end > 0 else _SAMPLE_BYTES]


def _is_valid(body: bytes, codec: str) -> bool:
    try:
        body.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _lenient(body: bytes, codec: str) -> str:
    return body.decode(codec, "replace")


def _decoded(body: bytes, codec: str, source: Source, contradicted: str | None = None) -> DecodedText:
    text = body.decode(codec, "replace").removeprefix("\ufeff")
    if codec == "cp1258":
        # Its tones are characters of their own; everybody else writes them in one character with the vowel.
        text = nfc(text)
    return DecodedText(text=text, encoding=_name(codec), source=source, contradicted=contradicted)


def _name(codec: str) -> str:
    """The usual name of an encoding."""
    return _NAMES.get(codec, codec.replace("cp125", "windows-125").replace("iso8859", "ISO-8859").replace("_", "-"))
