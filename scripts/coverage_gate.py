"""Fail when the tests reach too little of the heart of the house. Reads what `pytest --cov` has written."""

import json
import sys
from pathlib import Path

import coverage

NEEDED = 95.0
PACKAGES = ("contract", "engine", "response")


def main() -> int:
    measured = coverage.Coverage()
    try:
        measured.combine(keep=True) if list(Path().glob(".coverage.*")) else None
        measured.load()
        report = _report(measured)
    except coverage.CoverageException as error:
        print(f"No coverage data: {error}. Run `make test` first.", file=sys.stderr)
        return 1
    shares = {package: _share(report, f"dogubako/{package}/") for package in PACKAGES}
    for package, share in shares.items():
        print(f"{package:10} {share:6.2f} % of lines and branches")
    low = [package for package, share in shares.items() if share < NEEDED]
    if low:
        print(f"Below {NEEDED:g} %: {', '.join(low)}. `coverage report -m` names the lines.", file=sys.stderr)
    return 1 if low else 0


def _report(measured: coverage.Coverage) -> dict[str, dict[str, dict[str, int]]]:
    target = Path("build/coverage.json")
    target.parent.mkdir(exist_ok=True)
    measured.json_report(outfile=str(target))
    files: dict[str, dict[str, dict[str, int]]] = json.loads(target.read_text(encoding="utf-8"))["files"]
    return files


def _share(files: dict[str, dict[str, dict[str, int]]], part: str) -> float:
    """Covered lines and branches of all files of a package, in per cent."""
    covered = total = 0
    for name, facts in files.items():
        if part in name.replace("\\", "/"):
            summary = facts["summary"]
            covered += summary["covered_lines"] + summary["covered_branches"]
            total += summary["num_statements"] + summary["num_branches"]
    return 100.0 * covered / total if total else 0.0


if __name__ == "__main__":
    sys.exit(main())
