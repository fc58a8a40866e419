"""When stdin ends, running calls are answered within the grace time; then the process ends."""

import signal
from pathlib import Path

import pytest

from .pipe import Pipe, speaking
from .processes import HERE, WORKBENCH
from .waiting import says

_TOOLS = (WORKBENCH, HERE / "odd_tools.py")
# Longer than the patience of a test: whoever waits for all of it fails.
_LONG_GRACE = {"DOGUBAKO_SHUTDOWN_GRACE": "600"}
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
BOTH_WAYS = pytest.mark.parametrize("tool", ["linger", "linger_talking"])


def _opened(pipe: Pipe) -> Pipe:
    if not pipe.modern:
        pipe.open()
    return pipe


@pytest.mark.slow
@ERAS
def test_what_runs_when_stdin_ends_is_answered(tmp_path: Path, modern: bool) -> None:
    with speaking(*_TOOLS, folder=tmp_path, modern=modern, settings=_LONG_GRACE) as pipe:
        _opened(pipe)
        through_sdk = pipe.start_call("slow", {"seconds": 4})
        plain = pipe.start_call("pause", {"marker": str(tmp_path / "marker"), "seconds": 4})
        pipe.command.stdin.close()

        assert pipe.command.wait() == 0
        assert pipe.response(plain)["result"]["content"][0]["text"] == "done"
        assert pipe.response(through_sdk)["result"]["content"][0]["text"] == "Took 4 s."


@pytest.mark.slow
@BOTH_WAYS
@ERAS
async def test_a_call_without_an_end_keeps_the_process_no_longer_than_the_grace_time(
    tmp_path: Path, modern: bool, tool: str
) -> None:
    marker = tmp_path / "marker"
    grace = {"DOGUBAKO_SHUTDOWN_GRACE": "1"}
    with speaking(*_TOOLS, folder=tmp_path, modern=modern, settings=grace) as pipe:
        _opened(pipe).start_call(tool, {"marker": str(marker)}, options={"timeout": 110_000})
        await says(marker, "started")
        pipe.command.stdin.close()

        assert pipe.command.wait() == 0
    assert marker.read_text() == "cancelled"


@pytest.mark.slow
@BOTH_WAYS
@ERAS
async def test_a_signal_after_the_end_of_stdin_ends_the_process_at_once(
    tmp_path: Path, modern: bool, tool: str
) -> None:
    marker = tmp_path / "marker"
    with speaking(*_TOOLS, folder=tmp_path, modern=modern, settings=_LONG_GRACE) as pipe:
        _opened(pipe).start_call(tool, {"marker": str(marker)}, options={"timeout": 110_000})
        await says(marker, "started")
        pipe.command.stdin.close()
        pipe.command.stderr.first(lambda line: b"Standard input was closed" in line)
        pipe.command.signal(signal.SIGTERM)

        assert pipe.command.wait(60) == 0
    assert marker.read_text() == "cancelled"
