"""Fail when the tests reach too little of the heart of the house. Reads what `pytest --cov` has written."""

import json
import sys
from pathlib import Path
from typing import Any

import coverage

NEEDED = 95.0
PACKAGES = ("contract", "engine", "response")
KINDS = {"lines": ("covered_lines", "num_statements"), "branches": ("covered_branches", "num_branches")}


def main() -> int:
    try:
        summaries = _summaries()
    except coverage.CoverageException as error:
        print(f"No coverage data: {error}. Run `python -m pytest --cov` first.", file=sys.stderr)
        return 1
    low = []
    for package in PACKAGES:
        shares = {kind: _share(summaries, package, *keys) for kind, keys in KINDS.items()}
        print(f"{package:10}", *(f"{share:6.2f} % of {kind}" for kind, share in shares.items()))
        low += [f"{share:.2f} % of the {kind} of {package}" for kind, share in shares.items() if share < NEEDED]
    if low:
        print(
            f"The tests reach only {', '.join(low)}; {NEEDED:g} % are needed. `coverage report -m` names the lines.",
            file=sys.stderr,
        )
    return 1 if low else 0


def _summaries() -> dict[str, Any]:
    """What was measured, by file."""
    measured = coverage.Coverage()
    if list(Path().glob(".coverage.*")):
        measured.combine(keep=True)
    measured.load()
    target = Path("build/coverage.json")
    target.parent.mkdir(exist_ok=True)
    measured.json_report(outfile=str(target))
    files = json.loads(target.read_text(encoding="utf-8"))["files"]
    return {name.replace("\\", "/"): facts["summary"] for name, facts in files.items()}


def _share(summaries: dict[str, Any], package: str, covered: str, total: str) -> float:
    """In per cent. A package without a single measured line is one that no test has seen."""
    mine = [summary for name, summary in summaries.items() if f"dogubako/{package}/" in name]
    everything = sum(summary[total] for summary in mine)
    return 100.0 * sum(summary[covered] for summary in mine) / everything if everything else 0.0


if __name__ == "__main__":
    sys.exit(main())
