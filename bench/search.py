"""`make bench-search`: our tool search beside FastMCP's own index, in one run. Prints tables, writes docs/search.md."""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# `make bench-search` runs this file, not a package; its neighbours are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.machine import ROOT, say
from bench.report import as_text
from bench.search_contenders import CONTENDERS
from bench.search_questions import SERVERS, everyday, several
from bench.search_report import (
    Measured,
    doubt_rows,
    everyday_rows,
    quality_rows,
    several_rows,
    speed_rows,
    unmet,
    write_page,
)
from bench.search_scale import doubt_by_size
from bench.search_sets import FOLDER, Quality, load_sets, quality

PAGE = ROOT / "docs" / "search.md"
SAMPLED = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every question of every set, not a sample of 500")
    options = parser.parse_args()
    say("everyday questions")
    asked = everyday()
    print(as_text(everyday_rows(asked)), end="\n\n")
    if not FOLDER.is_dir() or not SERVERS.is_dir():
        print("No more to measure: the public sets belong into ../shared/eval/tool-search, other servers beside them.")
        return 0
    acts = several()
    print(as_text(several_rows(acts)), end="\n\n")
    say("doubt among ten tools and among all")
    doubt = doubt_by_size()
    print(as_text(doubt_rows(doubt)), end="\n\n")
    sets = _qualities(None if options.all else SAMPLED)
    measured = Measured(everyday=asked, several=acts, doubt=doubt, qualities=sets, speed=_speed())
    print(as_text(quality_rows(measured.qualities)), end="\n\n")
    print(as_text(speed_rows(measured.speed)))
    missed = unmet(measured)
    for one in missed:
        print(f"\nNot reached: {one}")
    if options.all:
        say(f"{PAGE.relative_to(ROOT)} is left as it is: only a sampled run is written down.")
    else:
        write_page(PAGE, measured, SAMPLED)
        say(f"Wrote {PAGE.relative_to(ROOT)}.")
    return 1 if missed else 0


def _qualities(most: int | None) -> dict[str, dict[str, Quality]]:
    """For each set, how well everybody does."""
    found: dict[str, dict[str, Quality]] = {}
    for one in load_sets(most):
        say(f"{one.name}: {len(one.queries)} questions, {len(one.tools):,} tools")
        found[f"{one.name} ({len(one.tools):,} tools)"] = {
            name: quality(build(one.tools), one.queries) for name, build in CONTENDERS.items()
        }
    return found


def _speed() -> Mapping[str, float]:
    say("speed, among 10,000 tools")
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("search_speed.py"))], capture_output=True, check=True, text=True
    )
    measured: dict[str, float] = json.loads(ran.stdout)
    return measured


if __name__ == "__main__":
    sys.exit(main())
