"""Resolve the addresses in a page against its URL and its `<base>`."""

import re
from typing import Final
from urllib.parse import urljoin, urlsplit

from dogubako.outbound.public_addresses import is_too_long

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_KEPT_SCHEMES: Final = frozenset({"http", "https", "mailto", "tel", "ftp", "sms", "magnet"})
# Browsers drop these anywhere in an address.
_DROPPED: Final = re.compile(r"[\t\r\n]")
_ENCODED: Final = str.maketrans({" ": "%20", "<": "%3C", ">": "%3E", "|": "%7C", "`": "%60", "\\": "/"})


class PageLinks:
    """Makes absolute addresses of those in one page."""

    def __init__(self, url: str, base: str | None = None) -> None:
        self._base = _join(url, base) or url if base else url

    def resolve(self, href: str | None) -> str | None:
        """The absolute address; None for scripts, embedded data and what is no address."""
        text = _DROPPED.sub("", href or "").strip()
        if not text or is_too_long(text):
            return None
        scheme = _SCHEME.match(text)
        if scheme and scheme[0][:-1].lower() not in _KEPT_SCHEMES:
            return None
        joined = _join(self._base, text)
        return _balanced(joined.translate(_ENCODED)) if joined else None


def _join(base: str, href: str) -> str | None:
    try:
        joined = urljoin(base, href.strip().replace("\\", "/"))
        return joined if urlsplit(joined).scheme else None
    except ValueError:
        return None


def _balanced(url: str) -> str:
    """Encode parentheses that would end a Markdown link too early."""
    depth = 0
    for char in url:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
    return url if depth == 0 else url.replace("(", "%28").replace(")", "%29")
