"""Keep what must not be seen out of answers and logs."""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Final
from urllib.parse import quote

import msgspec

MASK: Final = "***"

# Shorter values would mask ordinary words; such a key protects nothing anyway.
_SHORTEST_SECRET: Final = 6

_SHORT_TEXT: Final = 64

# Up to the last @: people forget that one in a password has to be written as %40.
_CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/\s:]*+:[^/\s]+(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_NAMED_SECRET = re.compile(
    r"""(?ix) ( (?:x-[a-z0-9]+-api-key | x-api-key | api[_-]?key | access[_-]?token | auth[_-]?token | token | secret
    | password | passwd | authorization ) ["']? \s* [:=] \s* ["']? ) (?!\*\*\*) [^\s"'&,;}]{6,}"""
)
# A key of ours and an access token show what they are, wherever a caller puts them by mistake.
_KEY_OF_OURS = re.compile(r"\bdgb_[0-9a-f]{8}_[\w-]{16,}+")
# Its beginning is looked for once in each run of such letters, and what was read is not read again: a text that is
# full of beginnings takes no longer than any other.
_ACCESS_TOKEN = re.compile(r"(?<![\w-])((?>[\w-]*?\beyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+")

# `Set-Cookie: a=b` up to the end of the line; of pairs, mappings and JSON the quoted text or the list that follows.
_COOKIE = re.compile(
    r"""(?ix) ( cookies?2? (?: \\*+["'] \s*+ [:=,] | \s*+ [:=] ) [^\S\r\n]*+ )
    ( b?" (?: [^"\\\r\n] | \\. )*+ "? | b?' (?: [^'\\\r\n] | \\. )*+ '?
    | [\[{(] (?: " (?: [^"\\\r\n] | \\. )*+ "? | ' (?: [^'\\\r\n] | \\. )*+ '? | [^\]})"'\r\n] )*+ [\]})]?
    | \*\*\* (?= [\],})] ) | [^\r\n]*+ )"""
)
_COOKIE_OBJECT = re.compile(r"(?i)(<cookie\s)[^>]*+")
_QUOTED = re.compile(r"""(?i)(b?["']).*(["'])""", re.DOTALL)
# The name of a field or of a header whose value is a secret, whatever it looks like.
_SECRET_NAME = re.compile(
    r"(?i)(?:.*cookies?2?|(?:x-)?(?:[a-z0-9]+-)?api[_-]?key|(?:access|auth)[_-]?token|secret|password|passwd"
    r"|(?:proxy-)?authorization)"
)


class Redactor:
    """Knows the secrets of this process and how secrets look in general."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Learn more secrets, also in the spellings that JSON, XML and URLs give them."""
        known = set(self._secrets)
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                known |= {secret, *_spellings(secret)}
        self._secrets = tuple(sorted(known, key=len, reverse=True))
        # Logs say the same short words over and over.
        self._mask_short = lru_cache(maxsize=4096)(self._mask)

    def known(self, text: str) -> str:
        """Mask our own secrets. Cheap enough for every answer, however long."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def mask(self, text: str) -> str:
        """Mask our own secrets and whatever looks like one. For messages and log lines."""
        return self._mask_short(text) if len(text) <= _SHORT_TEXT else self._mask(text)

    def _mask(self, text: str) -> str:
        if text.isalnum():
            # Nothing in one plain word says that it is a secret, unless we know it.
            return self.known(text)
        text = _CREDENTIALS_IN_URL.sub(MASK, self.known(text))
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


def _spellings(secret: str) -> set[str]:
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    return {in_json, escape(secret), escape(secret, quote=False), quote(secret, safe=""), quote(secret)}
