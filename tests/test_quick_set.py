"""`make test` runs a part of the tests; `make check` and CI leave nothing out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _commands(*words: str) -> str:
    """What make would run for these targets and variables, whatever the make that runs these tests was told."""
    command = ["make", "--dry-run", *words]
    environ = {"PATH": os.environ["PATH"]}
    told = subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True, timeout=60)
    return told.stdout


def test_make_test_is_quick() -> None:
    commands = _commands("test")

    assert "pytest --quick" in commands
    assert "--cov" not in commands


@pytest.mark.parametrize("target", ["check", "coverage", "test-all"])
def test_all_tests_run_once_with_coverage_and_nothing_is_left_out(target: str) -> None:
    (tests,) = [line for line in _commands(target).splitlines() if "-m pytest" in line]

    assert "--cov" in tests
    assert "--quick" not in tests


def test_ci_runs_the_quick_tests_and_then_all_others() -> None:
    steps = re.findall(r"^suite (.*)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)

    assert steps[:2] == ['test COVERAGE="--cov --cov-report="', "check TESTS=rest"]
    assert {"attack-rounds", "attack-stalls"} <= set(steps)
    assert [line for line in _commands("attack").splitlines() if "-m attack" in line or "-m stall" in line]
    (quick,) = [line for line in _commands("test", "COVERAGE=--cov").splitlines() if "-m pytest" in line]
    (rest,) = [line for line in _commands("check", "TESTS=rest").splitlines() if "-m pytest" in line]
    assert "--quick" in quick and "--cov" in quick
    assert "--rest" in rest and "--cov-append" in rest


@pytest.mark.slow
def test_a_quick_run_and_the_rest_are_all_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "from hypothesis import given, strategies\n\n"
        "def test_quick(): ...\n\n"
        "@pytest.mark.slow\ndef test_slow(): ...\n\n"
        "@given(strategies.none())\ndef test_property(nothing): ...\n"
    )

    def collected(*words: str) -> set[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-c", str(ROOT / "pyproject.toml"), *words]
        command += ["--rootdir", str(tmp_path), str(tmp_path)]
        listed = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=120)
        return set(re.findall(r"::(\w+)", listed.stdout))

    assert collected("--quick") == {"test_quick", "test_property"}
    assert collected("--rest") == {"test_slow", "test_property"}
    assert collected() == {"test_quick", "test_slow", "test_property"}
    assert collected("--quick", "--rest") == set()


def test_a_quick_run_bounds_the_examples_of_every_property_test() -> None:
    files = (ROOT / "tests").rglob("*.py")
    # `--rest` repeats property tests alone, so no other test may try fewer examples in a quick run.
    wrong = re.compile(r"max_examples=\d|(?<!max_examples=)\bexamples\(")
    of_others = {"hypothesis_profiles.py", Path(__file__).name}
    unbounded = [path.name for path in files if wrong.search(path.read_text(encoding="utf-8"))]

    assert set(unbounded) <= of_others
