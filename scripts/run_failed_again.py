"""Run the tests that failed in the last run of pytest once more, alone: `.ci/run` does so after each suite.

A machine that others use can make a test fail by itself. A test that fails again fails the suite, and so do more than
three, which nobody runs again. What passed at the second try is named, so that somebody mends it.

python scripts/run_failed_again.py [.pytest_cache]
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

_MOST: Final = 3
_CACHE: Final = ".pytest_cache"


def main() -> int:
    kept = Path(sys.argv[1] if len(sys.argv) > 1 else _CACHE, "v", "cache", "lastfailed")
    failed = sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else []
    if not failed:
        print("No test has failed, so something else did.", file=sys.stderr)
        return 1
    if len(failed) > _MOST:
        print(f"{len(failed)} tests have failed, which is no accident.", file=sys.stderr)
        return 1
    print(f"\nOnce more, alone: {', '.join(failed)}", flush=True)
    # An empty expression takes the place of the one in pyproject.toml, which leaves suites out.
    code = subprocess.call([sys.executable, "-m", "pytest", "-m", "", *failed])
    if code == 0:
        print(f"\nUNSTABLE, failed once and passed alone: {', '.join(failed)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
