"""The texts of the console, in English and Japanese. All of them are in `texts.toml`."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from dogubako.contract.output import Language

FILE: Final = Path(__file__).with_name("texts.toml")
LANGUAGES: Final[tuple[Language, ...]] = ("en", "ja")

Translate = Callable[..., str]


@cache
def all_texts() -> dict[str, tuple[str, str]]:
    """Every text by its key: English and Japanese."""
    tables: dict[str, dict[str, list[str]]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {f"{table}.{key}": (en, ja) for table, texts in tables.items() for key, (en, ja) in texts.items()}


def translator(language: Language) -> Translate:
    """A function from a key and values to a text: `t("calls.hours", count=3)`."""
    column = LANGUAGES.index(language)

    def translate(key: str, **values: Any) -> str:
        text = all_texts()[key][column]
        return text.format(**values) if values else text

    return translate


def preferred(accepted: str, default: Language) -> Language:
    """The language of an `Accept-Language` header: the first of ours in the order of its weights, else the default."""
    weighted = []
    for place, part in enumerate(accepted[:500].split(",")):
        name, _, weight = part.strip().partition(";q=")
        try:
            weighted.append((-float(weight or 1), place, name.lower()[:2]))
        except ValueError:
            continue
    for _, _, name in sorted(weighted):
        if name == "en":
            return "en"
        if name == "ja":
            return "ja"
    return default
