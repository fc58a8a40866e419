"""`scripts/load.py`: what it refuses to measure, and what it says of a server that does not end as it should."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.load import Outcome, exit_code_of, planned, read_audit
from scripts.load_visitors import Tally


@pytest.mark.parametrize("words", [["--seconds", "20"], ["--warm-up", "60"], ["--seconds", "5", "--warm-up", "6"]])
def test_a_warm_up_must_be_over_before_the_end(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        planned(words)

    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("error: --warm-up must be shorter than --seconds\n")


def test_a_plan_is_what_was_said() -> None:
    plan = planned(["--seconds", "21", "--connections", "8", "--rate", "4"])

    assert (plan.seconds, plan.warm_up, plan.connections, plan.pause) == (21, 20, 8, 2)


@pytest.mark.parametrize(
    ("exit_code", "failures"),
    [
        pytest.param(0, [], id="well"),
        pytest.param(None, ["the server did not stop within 30 s"], id="not at all"),
        pytest.param(-9, ["the server ended with code -9"], id="killed"),
    ],
)
def test_how_the_server_ended_is_said(exit_code: int | None, failures: list[str]) -> None:
    outcome = Outcome(tally=Tally(), memory=[1], exit_code=exit_code, recorded=Counter(), damaged=0)

    assert outcome.failures() == failures


def test_a_server_that_goes_on_has_no_exit_code() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert exit_code_of(process, 0.01) is None
        process.communicate(b"\n")
        assert exit_code_of(process, 20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_line_that_is_none_of_ours_is_damaged(tmp_path: Path) -> None:
    good = (
        '{"time":"2026-11-16T12:00:00.000Z","caller":"a","door":"rest","tool":"echo","arguments":[],'
        '"hash":"0","code":"OK","ms":1.0,"callId":"1"}\n'
    )
    log = tmp_path / "audit.jsonl"
    log.write_text(good * 2 + '{"tool":"echo","code":"OK"}\n' + good[:20])

    assert read_audit(log) == (Counter({("echo", "OK"): 2}), 2)
