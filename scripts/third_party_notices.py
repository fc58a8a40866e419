"""Write THIRD-PARTY-NOTICES.md: the packages that a wheel of ours needs, with version, licence and home page."""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.locked_packages import locked_packages

ROOT: Final = Path(__file__).parent.parent
NOTICES: Final = "THIRD-PARTY-NOTICES.md"
_LONGEST_LICENCE: Final = 80
_HOME_PAGES: Final = ("homepage", "source", "source code", "repository", "github", "code", "documentation")
# Packages that are not installed everywhere, or in another version: licence and home page by their own metadata.
_KNOWN: Final = {
    "colorama": ("BSD License", "https://github.com/tartley/colorama"),
    "httpx2-jsfetch": ("BSD-3-Clause", ""),
    "numpy": ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", "https://numpy.org"),
    "pywin32": ("PSF", "https://github.com/mhammond/pywin32"),
    "uvloop": ("MIT License", "https://github.com/MagicStack/uvloop"),
}


def main() -> int:
    (ROOT / NOTICES).write_text(notices_page(), encoding="utf-8")
    return 0


def notices_page() -> str:
    needed = _needed()
    versions: dict[str, list[str]] = {}
    for package in locked_packages(ROOT / "requirements.lock"):
        if package.name in needed:
            versions.setdefault(package.name, []).append(package.version)
    rows = "".join(_row(name, versions[name]) for name in sorted(versions))
    return (
        "# Third-party notices\n\n"
        "<!-- Written by `make notices`. Change the code, not this file. -->\n\n"
        "Dogubako with the extra `standard` needs these packages. None of them is part of our wheel: pip installs\n"
        "them beside it, each with the text of its licence. The versions are those of `requirements.lock`; where\n"
        "there are two, the Python decides. Other extras (`ja`, `redis`, `tasks`) bring packages of their own;\n"
        "`ja` reads JMdict (EDRDG licence, CC BY-SA 3.0) from the package that carries it.\n\n"
        f"| package | version | licence | home page |\n| --- | --- | --- | --- |\n{rows}\n"
        "## Part of our wheel\n\n"
        "`dogubako/engine/search/table` holds a table of word vectors that is derived from the sentence model\n"
        "[all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), Apache-2.0.\n"
        "The licence and a notice of what was changed are beside it. All else in the wheel is ours.\n"
    )


def _needed() -> set[str]:
    """Our dependencies and theirs, whatever system they are for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    # The extra `standard` has what most people install, and what the image has.
    standard = [written for name in Requirement(extras["standard"][0]).extras for written in extras[name]]
    waiting = [Requirement(written) for written in (*project["dependencies"], *standard)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key not in seen:
            seen.add(key)
            waiting += _requirements_of(*key)
    return {name for name, _ in seen}


def _requirements_of(name: str, extras: frozenset[str]) -> list[Requirement]:
    try:
        written = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    found = [Requirement(one) for one in written]
    return [one for one in found if _is_wanted(one, extras)]


def _is_wanted(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether a requirement counts: always, unless it belongs to an extra that nobody asked for."""
    if requirement.marker is None or "extra" not in str(requirement.marker):
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def _row(name: str, versions: list[str]) -> str:
    licence, page = _KNOWN.get(name) or _described(distribution(name).metadata.json)
    if not licence:
        raise SystemExit(f"{name} does not say its licence: look it up and add it to _KNOWN in {__file__}")
    return f"| {name} | {', '.join(versions)} | {licence} | {f'<{page}>' if page else '–'} |\n"


def _described(fields: dict[str, str | list[str]]) -> tuple[str, str]:
    return _licence(fields), _home_page(fields)


def _licence(fields: dict[str, str | list[str]]) -> str:
    """The SPDX expression, else a short name, else what the classifiers say."""
    short = str(fields.get("license", ""))
    if "\n" in short or len(short) > _LONGEST_LICENCE:
        short = ""
    classifiers = [one.rpartition(" :: ")[2] for one in fields.get("classifier", ()) if one.startswith("License ::")]
    return str(fields.get("license_expression", "")) or short or ", ".join(classifiers)


def _home_page(fields: dict[str, str | list[str]]) -> str:
    labelled = [one.partition(", ") for one in fields.get("project_url", ())]
    urls = {label.lower(): url for label, _, url in labelled}
    named = [urls[label] for label in _HOME_PAGES if label in urls]
    return str(fields.get("home_page", "")) or next(iter(named), "") or next(iter(urls.values()), "")


if __name__ == "__main__":
    raise SystemExit(main())
