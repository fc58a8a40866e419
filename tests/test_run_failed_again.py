"""CI runs a few tests that failed once more, alone. What fails again, or fails in number, stays failed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "run_failed_again.py"
ONCE = """
from pathlib import Path
import pytest

def failing_once(name):
    marker = Path(name)
    if not marker.exists():
        marker.touch()
        raise AssertionError("by accident")

@pytest.mark.parametrize("number", range(COUNT))
def test_once(number):
    failing_once(f"marker {number}")

def test_good():
    Path("good").write_text(str(Path("good").exists()))
"""

pytestmark = pytest.mark.slow


def _run(folder: Path, tests: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_some.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for words in (["-m", "pytest", "-q"], [str(SCRIPT)]):
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
    return done


@pytest.mark.parametrize("count", [1, 3])
def test_an_accident_passes_alone_and_is_named(tmp_path: Path, count: int) -> None:
    done = _run(tmp_path, ONCE.replace("COUNT", str(count)))

    assert done.returncode == 0, done.stdout
    assert "UNSTABLE, failed once and passed alone: test_some.py::test_once[0]" in done.stdout
    # Only what failed runs again.
    assert (tmp_path / "good").read_text() == "False"


def test_what_fails_again_has_failed(tmp_path: Path) -> None:
    done = _run(tmp_path, "def test_bad():\n    assert False\n")

    assert done.returncode == 1
    assert "UNSTABLE" not in done.stdout


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    done = _run(tmp_path, ONCE.replace("COUNT", "4"))

    assert (done.returncode, done.stderr) == (1, "4 tests have failed, which is no accident.\n")


def test_a_suite_that_failed_without_a_test_has_failed(tmp_path: Path) -> None:
    done = _run(tmp_path, "def test_good():\n    assert True\n")

    assert (done.returncode, done.stderr) == (1, "No test has failed, so something else did.\n")


def test_a_failure_at_the_end_of_a_test_counts(tmp_path: Path) -> None:
    done = _run(
        tmp_path,
        "import pytest\n\n@pytest.fixture\ndef end():\n    yield\n    assert False\n\ndef test_it(end): ...\n",
    )

    assert done.returncode == 1
    assert "Once more, alone: test_some.py::test_it" in done.stdout


STEPS = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_ci_runs_each_suite_of_tests_so() -> None:
    assert 'rm -f "${CACHE:=.pytest_cache}/v/cache/lastfailed"' in STEPS
    assert 'make "$@" || .venv/bin/python scripts/run_failed_again.py "$CACHE"' in STEPS


@pytest.mark.parametrize(("suites", "code"), [("good good", 0), ("bad good", 3), ("good bad good", 3)])
def test_a_lane_of_ci_fails_with_any_of_its_suites(tmp_path: Path, suites: str, code: int) -> None:
    functions = STEPS[STEPS.index("say() {") : STEPS.index('say "system packages"')]
    make = 'make() { [ "$1" != bad ]; }\n'
    script = f"set -euo pipefail\n{functions}\n{make}(lane some {suites}) || exit 3\n"

    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stderr
