"""`make bench`: our server beside its peers, in one run. Prints ratios and writes docs/benchmarks.md."""

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

# `make bench` runs this file, not a package; its neighbours are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import report
from bench.contests import Contests, Effort
from bench.machine import PEERS, ROOT, MissingError, prepared, say
from bench.node_peers import NodePeers, install_node_peers
from bench.results import Results

PAGE = ROOT / "docs" / "benchmarks.md"
FULL = Effort(rounds=9, seconds=1, cold_starts=9)
# By the names of their methods. Over HTTP all others need wrk and the scripts that come with the peers.
BESIDE_PEERS = ("stdio", "cold_start", "gateway")
OF_OUR_OWN = ("memory", "large_execution", "long_lists", "parsing")
ALL = ("modern", "legacy", "rest", *BESIDE_PEERS, *OF_OUR_OWN, "growth", "gate", "workers", "waiting")
QUICK = Effort(rounds=1, seconds=1, cold_starts=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that everything works")
    parser.add_argument("--only", action="append", choices=ALL, help="one contest, or several; no page is written")
    parser.add_argument("--rounds", type=int, help="more rounds, for a machine that others use too")
    options = parser.parse_args()
    # Ended politely, we still stop every server that we have started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    quick, results = options.quick, Results()
    effort = QUICK if quick else FULL
    if options.rounds:
        effort = replace(effort, rounds=options.rounds)
    peers, wrk = _peers_there(results), _wrk_there(results)
    node = None if options.only else _node(results)
    for missing in results.missing:
        say(f"Missing: {missing}")
    with prepared() as machine:
        measure(Contests(machine, effort, results, node), options.only or ALL, peers=peers, wrk=wrk)
        pinned = machine.cores is not None
    _print(results)
    if quick or node is None or results.missing or results.failures:
        say(f"{PAGE.relative_to(ROOT)} is left as it is: only a full run with every contender is written down.")
    else:
        report.write_page(PAGE, results, effort, pinned=pinned, node_version=node.version)
        say(f"Wrote {PAGE.relative_to(ROOT)}.")
    return 1 if results.failures else 0


def measure(contests: Contests, chosen: Sequence[str], *, peers: bool, wrk: bool) -> None:
    """Everything that can be measured with what is there. The scripts for wrk come with the peers."""
    for name in chosen:
        if name in BESIDE_PEERS:
            getattr(contests, name)(peers=peers)
        elif name in OF_OUR_OWN or (peers and wrk):
            getattr(contests, name)()


def _peers_there(results: Results) -> bool:
    if PEERS.is_dir():
        return True
    results.missing.append("The peers: put them into ../shared/bench. Without them there is nothing to compare with.")
    return False


def _wrk_there(results: Results) -> bool:
    if shutil.which("wrk") is not None:
        return True
    results.missing.append("wrk (Debian: apt-get install wrk). Nothing over HTTP is measured.")
    return False


def _node(results: Results) -> NodePeers | None:
    try:
        return install_node_peers()
    except MissingError as missing:
        results.missing.append(str(missing))
        return None


def _print(results: Results) -> None:
    print(report.as_text(report.ratio_rows(results)), end="\n\n")
    print(report.as_text(report.median_rows(results)), end="\n\n")
    print(report.as_text(report.measure_rows(results)))
    for missing in results.missing:
        print(f"\nMissing: {missing}")
    for failure in results.failures:
        print(f"\nFailed: {failure}")


if __name__ == "__main__":
    sys.exit(main())
