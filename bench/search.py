"""`make bench-search`: our tool search beside FastMCP's own index, in one run. Prints tables, writes docs/search.md."""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# `make bench-search` runs this file, not a package; its neighbours are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from platformdirs import user_cache_path

from bench.machine import ROOT, say
from bench.report import as_text
from bench.search_contenders import CONTENDERS, SEMANTIC, semantic
from bench.search_report import quality_rows, speed_rows, unmet, write_page
from bench.search_sets import FOLDER, Quality, load_sets, quality
from dogubako.engine.search.sentence_model import packaged_model

PAGE = ROOT / "docs" / "search.md"
SAMPLED = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--semantic", type=Path, default=packaged_model(), help="the folder of a sentence model")
    parser.add_argument("--all", action="store_true", help="every question of every set, not a sample of 500")
    options = parser.parse_args()
    if not FOLDER.is_dir():
        print("Nothing to measure: the public sets belong into ../shared/eval/tool-search.")
        return 0
    qualities = _qualities(None if options.all else SAMPLED, options.semantic)
    speed = _speed()
    print(as_text(quality_rows(qualities)), end="\n\n")
    print(as_text(speed_rows(speed)))
    missed = unmet(qualities, speed)
    for one in missed:
        print(f"\nNot reached: {one}")
    if options.all or options.semantic is None:
        say(f"{PAGE.relative_to(ROOT)} is left as it is: only a sampled run with a sentence model is written down.")
    else:
        write_page(PAGE, qualities, speed, SAMPLED)
        say(f"Wrote {PAGE.relative_to(ROOT)}.")
    return 1 if missed else 0


def _qualities(most: int | None, model: Path | None) -> dict[str, dict[str, Quality]]:
    """For each set, how well everybody does."""
    contenders = dict(CONTENDERS)
    if model is not None:
        contenders[SEMANTIC] = semantic(model, user_cache_path("dogubako-bench") / "tool-vectors.db")
    found: dict[str, dict[str, Quality]] = {}
    for one in load_sets(most):
        say(f"{one.name}: {len(one.queries)} questions, {len(one.tools):,} tools")
        found[f"{one.name} ({len(one.tools):,} tools)"] = {
            name: quality(build(one.tools), one.queries) for name, build in contenders.items()
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
