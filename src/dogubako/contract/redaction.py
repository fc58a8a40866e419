"""Redact secrets in answers and logs, and escape control characters on a terminal."""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import msgspec

MASK: Final = "***"

# Shorter values would mask ordinary words.
_SHORTEST_SECRET: Final = 6

# Texts are shortened with this sign. A shorter beginning of a secret tells nothing.
_CUT: Final = "…"
_SHORTEST_CUT: Final = 8

# `\\u0053` or `&amp;#x000053;`: a character in the spelling of JSON or HTML, with a doubled backslash or ampersand.
_ESCAPE: Final = re.compile(r"\\u[0-9A-Fa-f]{4}|&(?:amp;)?+#[0-9xX]")
_LONGEST_ESCAPE: Final = 24
_MOST_BACKSLASHES: Final = 4
_STEP: Final = 64 * 1024

_SHORT_TEXT: Final = 64
_BASE64_ENCODERS: Final = (b64encode, urlsafe_b64encode)

# Up to the last @: people forget to write an @ in a password as %40.
_CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/\s:]*+:[^/\s]+(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_NAMED_SECRET = re.compile(
    r"""(?ix) ( (?:x-[a-z0-9]+-api-key | x-api-key | api[_-]?key | access[_-]?token | auth[_-]?token | token | secret
    | password | passwd | authorization ) ["']? \s* [:=] \s* ["']? ) (?!\*\*\*) [^\s"'&,;}]{6,}"""
)
# API keys and access tokens are recognisable wherever a caller puts them by mistake.
_KEY_OF_OURS = re.compile(r"\bdgb_[0-9a-f]{8}_[\w-]{16,}+")
# Each run of letters is searched once and without backtracking, so that hostile text takes linear time.
_ACCESS_TOKEN = re.compile(r"(?<![\w-])((?>[\w-]*?\beyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+")

# `Set-Cookie: a=b` up to the end of the line; in pairs, mappings and JSON the string or the list that follows.
_COOKIE = re.compile(
    r"""(?ix) ( cookies?2? (?: \\*+["'] \s*+ [:=,] | \s*+ [:=] ) [^\S\r\n]*+ )
    ( b?" (?: [^"\\\r\n] | \\. )*+ "? | b?' (?: [^'\\\r\n] | \\. )*+ '?
    | [\[{(] (?: " (?: [^"\\\r\n] | \\. )*+ "? | ' (?: [^'\\\r\n] | \\. )*+ '? | [^\]})"'\r\n] )*+ [\]})]?
    | \*\*\* (?= [\],})] ) | [^\r\n]*+ )"""
)
_COOKIE_OBJECT = re.compile(r"(?i)(<cookie\s)[^>]*+")
_QUOTED = re.compile(r"""(?i)(b?["']).*(["'])""", re.DOTALL)
# Names of fields and headers whose values are secrets.
_SECRET_NAME = re.compile(
    r"(?i)(?:.*cookies?2?|(?:x-)?(?:[a-z0-9]+-)?api[_-]?key|(?:access|auth)[_-]?token|secret|password|passwd"
    r"|(?:proxy-)?authorization)"
)


class Redactor:
    """Masks configured secrets, and text that looks like a secret."""

    def __init__(self, secrets: Iterable[str] = (), parent: "Redactor | None" = None) -> None:
        self._secrets: tuple[str, ...] = ()
        self._plain: tuple[str, ...] = ()
        self._escaped: re.Pattern[str] | None = None
        self._parent = parent
        self._learned = 0
        self.add(*secrets)

    def including(self, *secrets: str) -> "Redactor":
        """A redactor that also masks these secrets, for one call. It learns what this one learns later."""
        return Redactor(secrets, parent=self)

    def add(self, *secrets: str) -> None:
        """Add secrets, also as JSON, XML, HTML and URLs write them, and encoded in base64 and in hex."""
        spellings = set(self._secrets)
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                spellings |= {secret, *_spellings(secret)}
        self._secrets = tuple(sorted(spellings, key=len, reverse=True))
        self._plain += tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)
        self._escaped = None
        self._learned += 1
        # Log lines repeat the same short texts.
        self._mask_short = lru_cache(maxsize=4096)(self._mask)

    @property
    def generation(self) -> int:
        """Grows with every secret that is added. What was masked before has to be masked again."""
        return self._learned if self._parent is None else self._learned + self._parent.generation

    def mask_configured(self, text: str) -> str:
        """Mask the configured secrets. Fast enough for every answer of any length."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        if "\\u" in text or "#" in text:
            text = self._mask_escaped(text)
        if _CUT in text:
            text = self._mask_cut(text)
        return text if self._parent is None else self._parent.mask_configured(text)

    def _mask_cut(self, text: str) -> str:
        """Mask the beginning of a secret where a text was shortened in the middle of it."""
        for secret in self._plain:
            start = text.find(secret[:_SHORTEST_CUT]) if len(secret) > _SHORTEST_CUT else -1
            while start >= 0:
                end = text.find(_CUT, start, start + len(secret))
                if end > start and secret.startswith(text[start:end]):
                    text = f"{text[:start]}{MASK}{text[end:]}"
                start = text.find(secret[:_SHORTEST_CUT], start + len(MASK))
        return text

    def _mask_escaped(self, text: str) -> str:
        """Mask the secrets that have characters in the spelling of JSON or HTML escapes, in short steps."""
        if not self._plain or _ESCAPE.search(text) is None:
            return text
        if self._escaped is None:
            # The longest first: one secret may be the beginning of another.
            ordered = sorted(set(self._plain), key=len, reverse=True)
            self._escaped = re.compile("|".join("".join(map(_any_spelling, secret)) for secret in ordered))
        overlap = max(map(len, self._plain)) * _LONGEST_ESCAPE
        parts, shown, start = list[str](), 0, 0
        while start < len(text):
            match = self._escaped.search(text, start, start + _STEP + overlap)
            if match is not None:
                parts += (text[shown : match.start()], MASK)
                shown = start = match.end()
            else:
                start += _STEP
        return "".join([*parts, text[shown:]]) if parts else text

    def mask_all(self, text: str) -> str:
        """Mask the configured secrets and whatever looks like one. For messages and log lines."""
        return self._mask_short(text) if len(text) <= _SHORT_TEXT else self._mask(text)

    def _mask(self, text: str) -> str:
        if text.isalnum():
            # A single word looks like a secret only if it is a configured one.
            return self.mask_configured(text)
        text = _CREDENTIALS_IN_URL.sub(MASK, self.mask_configured(text))
        if "eyJ" in text:
            text = _ACCESS_TOKEN.sub(lambda match: f"{match[1].removesuffix('eyJ')}{MASK}", text)
        if "dgb_" in text:
            text = _KEY_OF_OURS.sub(MASK, text)
        if "ookie" in text.lower():
            text = _COOKIE_OBJECT.sub(lambda match: f"{match[1]}{MASK}", _COOKIE.sub(_masked_cookie, text))
        text = _BEARER.sub(lambda match: f"{match[1]} {MASK}", text)
        return _NAMED_SECRET.sub(lambda match: f"{match[1]}{MASK}", text)


@lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret: `Set-Cookie`, `X-API-Key`, `password`."""
    return len(name) <= _SHORT_TEXT and _SECRET_NAME.fullmatch(name) is not None


def _masked_cookie(match: re.Match[str]) -> str:
    quoted = _QUOTED.fullmatch(match[2])
    return f"{match[1]}{quoted[1]}{MASK}{quoted[2]}" if quoted else f"{match[1]}{MASK}"


def _any_spelling(character: str) -> str:
    """A pattern for one character and its escapes. A backslash may be doubled, and an ampersand written as `&amp;`."""
    number = ord(character)
    units = "".join(rf"\\{{1,{_MOST_BACKSLASHES}}}+u(?i:{unit:04x})" for unit in _utf16(character))
    return f"(?:{re.escape(character)}|{units}|&(?:amp;)?+#(?:0{{0,6}}+{number}|[xX]0{{0,6}}+(?i:{number:x}));)"


def _utf16(character: str) -> list[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _spellings(secret: str) -> set[str]:
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    in_html = {escape_html(secret), escape_html(secret, quotes=False)}
    written = {in_json, *in_html, quote(secret, safe=""), quote(secret)}
    return written | _encodings(secret)


def _encodings(secret: str) -> set[str]:
    """The secret's bytes in base64, wherever they begin in what is encoded, in hex and percent-encoded."""
    data = secret.encode("utf-8", "surrogatepass")
    hexadecimal, percent = data.hex(), "".join(f"%{byte:02x}" for byte in data)
    found = {hexadecimal, hexadecimal.upper(), percent, percent.upper()}
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        data = secret.encode(encoding, "surrogatepass")
        found |= {_in_base64(data, before, encode) for before in range(3) for encode in _BASE64_ENCODERS}
    return found


def _in_base64(data: bytes, before: int, encode: Callable[[bytes], bytes]) -> str:
    """The characters that depend on these bytes alone, where so many bytes stand before them."""
    size = before + len(data)
    return encode(bytes(before) + data).decode("ascii")[-(-before * 8 // 6) : size * 8 // 6]


# These look like a blank. Japanese texts use the last one a lot.
_BLANKS: Final = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


def visible(text: str) -> str:
    """The text on one line, with invisible characters (`ESC`, `CR`, U+2028, U+202E) escaped."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _BLANKS else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def escape_html(text: str, *, quotes: bool = True) -> str:
    """The same as `html.escape`, whose module brings a table of all entities that every start would pay for."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;") if quotes else text
