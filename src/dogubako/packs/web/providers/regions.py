"""Regions are written as DuckDuckGo writes them, `us-en`; other engines want a country or a language tag."""

from typing import Final

_EVERYWHERE: Final = "wt"
# Where DuckDuckGo's codes are not those of ISO; nothing stands for a region that is no country.
_COUNTRIES: Final = {"uk": "GB", "sl": "SI", "ct": "ES", "xa": None, _EVERYWHERE: None}
_LANGUAGES: Final = {"jp": "ja", "kr": "ko", "tzh": "zh"}


def country_of(region: str) -> str | None:
    """The country, as in `US`, or nothing for all of them."""
    first, _, second = region.partition("-")
    if second.isupper():
        return second
    return _COUNTRIES.get(first.lower(), first.upper())


def language_tag(region: str) -> str:
    """The language with its country, as in `en-US`; what is written so already stays."""
    first, _, second = region.partition("-")
    if not second or second.isupper():
        return region
    if first.lower() == _EVERYWHERE:
        return "all"
    language, country = _LANGUAGES.get(second.lower(), second.lower()), country_of(region)
    return f"{language}-{country}" if country else language
