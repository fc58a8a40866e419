"""`make test` runs a part of the tests; `make check` and CI leave nothing out."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _commands(target: str) -> str:
    """What make would run for this target."""
    return subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_make_test_is_quick() -> None:
    commands = _commands("test")

    assert "pytest --quick" in commands
    assert "--cov" not in commands


@pytest.mark.parametrize("target", ["check", "coverage", "test-all"])
def test_all_tests_run_once_with_coverage_and_nothing_is_left_out(target: str) -> None:
    (tests,) = [line for line in _commands(target).splitlines() if "-m pytest" in line]

    assert "--cov" in tests
    assert "--quick" not in tests


def test_ci_runs_the_quick_tests_and_then_all_of_them() -> None:
    steps = re.findall(r"^say .*; (make .*)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)

    assert steps[:2] == ["make test", "make check"]
    assert "make attack" in steps


def test_a_quick_run_bounds_the_examples_of_every_property_test() -> None:
    files = (ROOT / "tests").rglob("*.py")
    unbounded = [path.name for path in files if re.search(r"max_examples=\d", path.read_text(encoding="utf-8"))]

    assert unbounded == []
