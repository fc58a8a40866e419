"""Logs: a line for people, a JSON line in the file, and never a secret in either."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
import structlog
import structlog.testing

from dogubako import logs, tool
from dogubako.app import build
from dogubako.contract.call import CallEnd, Caller, ToolCall, ToolResult
from dogubako.contract.redaction import Redactor
from dogubako.engine.events import CallLog
from dogubako.settings import LogLevelName, Sources
from dogubako.tools import ToolPack

_opened: list[logs.Sinks] = []


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers, logging.getLogger().level
    yield
    while _opened:
        _opened.pop().close()
    structlog.reset_defaults()
    logging.getLogger().handlers = handlers
    logging.getLogger().setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _configure(folder: Path | None, level: LogLevelName = "info", secrets: tuple[str, ...] = ()) -> io.StringIO:
    stderr = io.StringIO()
    _opened.append(logs.configure(level, folder, Redactor(secrets), stderr=stderr))
    return stderr


def _lines(folder: Path) -> list[dict[str, Any]]:
    for sinks in _opened:
        sinks.flush()
    return [json.loads(line) for line in (folder / "dogubako.log").read_bytes().splitlines()]


def test_a_failure_has_its_stack_in_the_file_and_not_before_people(tmp_path: Path) -> None:
    stderr = _configure(tmp_path)
    try:
        raise RuntimeError("the valve is stuck")
    except RuntimeError as error:
        structlog.get_logger().error("[pump] Error", code="TOOL_EXECUTION_ERROR", exc_info=error)

    [line] = _lines(tmp_path)
    assert line["level"] == "ERROR"
    assert line["event"] == "[pump] Error"
    assert line["code"] == "TOOL_EXECUTION_ERROR"
    assert 'raise RuntimeError("the valve is stuck")' in line["stack"]
    assert "ERROR [pump] Error code=TOOL_EXECUTION_ERROR" in stderr.getvalue()
    assert "valve" not in stderr.getvalue()


def test_a_traceback_that_a_library_logs_as_text_is_one_line_for_people(tmp_path: Path) -> None:
    stderr = _configure(tmp_path)
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in b\nOSError: no disk\n'

    logging.getLogger("uvicorn.error").error(trace)

    [line] = _lines(tmp_path)
    assert (line["event"], line["stack"]) == ("OSError: no disk", trace)
    assert stderr.getvalue().endswith("ERROR OSError: no disk logger=uvicorn.error\n")


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        pytest.param("trace", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"], id="trace"),
        pytest.param("debug", ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"], id="debug"),
        pytest.param("info", ["INFO", "WARN", "ERROR", "FATAL"], id="info"),
        pytest.param("warn", ["WARN", "ERROR", "FATAL"], id="warn"),
        pytest.param("error", ["ERROR", "FATAL"], id="error"),
        pytest.param("fatal", ["FATAL"], id="fatal"),
    ],
)
def test_a_level_hides_what_is_below_it(tmp_path: Path, level: LogLevelName, seen: list[str]) -> None:
    _configure(tmp_path, level)
    log = structlog.get_logger()
    log.debug("event", trace=True)
    log.debug("event")
    log.info("event")
    log.warning("event")
    log.error("event")
    log.critical("event")

    assert [line["level"] for line in _lines(tmp_path)] == seen


def test_a_secret_is_masked_in_names_values_lists_and_stacks(tmp_path: Path) -> None:
    stderr = _configure(tmp_path, secrets=("k3y-of-gold",))
    try:
        raise RuntimeError("refused k3y-of-gold")
    except RuntimeError as error:
        structlog.get_logger().error(
            "k3y-of-gold",
            url="https://me:pa55word@example.com/?api_key=abcdef123",
            nested={"list": ["k3y-of-gold", 5]},
            other=Path("k3y-of-gold"),
            header="Authorization: Bearer abcdefgh12345",
            exc_info=error,
        )

    written = stderr.getvalue() + (tmp_path / "dogubako.log").read_text(encoding="utf-8")
    for secret in ("k3y-of-gold", "pa55word", "abcdef123", "abcdefgh12345"):
        assert secret not in written
    assert _lines(tmp_path)[0]["nested"] == {"list": ["***", 5]}


def test_half_a_character_in_a_failure_does_not_end_the_log(tmp_path: Path) -> None:
    _configure(tmp_path)
    log = structlog.get_logger()

    log.error("[pump] Error", exc_info=RuntimeError("half \ud800"), fields={"\udfff": ["\ud800"]})
    log.info("the next line")

    first, second = _lines(tmp_path)
    assert "RuntimeError: half \ufffd" in first["stack"]
    assert first["fields"] == {"\ufffd": ["\ufffd"]}
    assert second["event"] == "the next line"


async def test_a_failed_call_leaves_its_stack_in_the_file_and_not_in_the_answer(tmp_path: Path) -> None:
    @tool
    async def pump() -> str:
        """Pump."""
        raise RuntimeError("the valve is stuck")

    stderr = _configure(tmp_path)
    box = build(Sources(environ={}, env_file=None), packs=[ToolPack("house", (pump,))])

    result = await box.call("pump")
    await anyio.lowlevel.checkpoint()

    failed, completed = _lines(tmp_path)
    assert (failed["event"], failed["error_id"]) == ("[pump] Error", (result.meta or {})["errorId"])
    assert 'raise RuntimeError("the valve is stuck")' in failed["stack"]
    assert (completed["event"], completed["code"]) == ("Tool completed", "TOOL_EXECUTION_ERROR")
    assert completed["call_id"] == failed["call_id"]
    assert "valve" not in str(result.to_mcp()) + stderr.getvalue()


def test_a_folder_that_cannot_be_written_is_a_warning_and_not_the_end(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")

    stderr = _configure(blocked)
    structlog.get_logger().info("still here")

    assert "WARN  No log file:" in stderr.getvalue()
    assert "still here" in stderr.getvalue()


def test_people_who_stopped_reading_do_not_stop_the_work(tmp_path: Path) -> None:
    closed = io.StringIO()
    sinks = logs.Sinks(Redactor(), tmp_path, stderr=closed)
    closed.close()

    sinks.write({"event": "into the file only", "level": "INFO"})
    sinks.close()

    assert _lines(tmp_path)[0]["event"] == "into the file only"


def test_colours_show_on_a_terminal_only(tmp_path: Path) -> None:
    terminal, pipe = Terminal(), io.StringIO()
    logs.Sinks(Redactor(), None, stderr=terminal).write({"event": "x", "level": "ERROR"})
    logs.Sinks(Redactor(), None, stderr=pipe).write({"event": "x", "level": "ERROR"})

    assert "\x1b[31m" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()


def test_what_libraries_log_goes_the_same_way_with_its_stack(tmp_path: Path) -> None:
    _configure(tmp_path, secrets=("k3y-of-gold",))
    try:
        raise ValueError("k3y-of-gold")
    except ValueError:
        logging.getLogger("some.library").exception("it broke with %s", "k3y-of-gold")
    logging.getLogger("httpx2").info("chatter")

    [line] = _lines(tmp_path)
    assert (line["logger"], line["level"], line["event"]) == ("some.library", "ERROR", "it broke with ***")
    assert "ValueError: ***" in line["stack"]


def test_one_event_is_one_line_whatever_it_contains(tmp_path: Path) -> None:
    stderr = _configure(tmp_path)

    structlog.get_logger().info("two\nlines", half="\ud800", emoji="🧰")

    assert len(stderr.getvalue().splitlines()) == 1
    assert _lines(tmp_path)[0]["emoji"] == "🧰"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b]0;pwned\x07\x1b[2Kb", r"a\x1b]0;pwned\x07\x1b[2Kb", id="orders to a terminal"),
        pytest.param("a\r08:00:00 INFO  forged", r"a\r08:00:00 INFO  forged", id="the line written over"),
        pytest.param("a\n08:00:00 INFO  forged", r"a\n08:00:00 INFO  forged", id="a second line"),
        pytest.param("a\x85b\u2028c\u2029d\vd\fe", r"a\x85b\u2028c\u2029d\x0bd\x0ce", id="other ends of a line"),
        pytest.param("a\u202eb\u2066c\u200bd", r"a\u202eb\u2066c\u200bd", id="what turns text around or is not seen"),
        pytest.param("a\x00\x7f\x9b31mb", r"a\x00\x7f\x9b31mb", id="other control characters"),
        pytest.param("\ttwo\twords", r"\ttwo\twords", id="tabs"),
        pytest.param("two  words", "two  words", id="blanks"),
        pytest.param("道具\u3000箱\u00a0é 🧰 \\n", "道具\u3000箱\u00a0é 🧰 \\n", id="people's own letters and blanks"),
    ],
)
def test_people_see_what_would_steer_their_terminal_and_the_file_keeps_it(
    tmp_path: Path, text: str, shown: str
) -> None:
    stderr = _configure(tmp_path)

    structlog.get_logger().info(text, path=text, parts=["x"])

    assert stderr.getvalue()[9:] == f"INFO  {shown} path={shown} parts=['x']\n"
    assert (_lines(tmp_path)[0]["event"], _lines(tmp_path)[0]["path"]) == (text, text)


def test_our_own_colours_stay_on_a_line_with_others(tmp_path: Path) -> None:
    terminal = Terminal()
    logs.Sinks(Redactor(), None, stderr=terminal).write({"event": "\x1b[32mx\x1b[0m", "level": "ERROR"})

    assert terminal.getvalue()[9:] == "\x1b[31mERROR\x1b[0m \\x1b[32mx\\x1b[0m\n"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"cookie": "session=Zc0okie"}, id="a field"),
        pytest.param({"headers": {"Set-Cookie": "session=Zc0okie"}}, id="a mapping"),
        pytest.param({"headers": {b"set-cookie": b"session=Zc0okie"}}, id="a mapping of bytes"),
        pytest.param({"headers": [(b"Set-Cookie", b"session=Zc0okie")]}, id="pairs of bytes"),
        pytest.param({"headers": [["set-cookie", "session=Zc0okie"]]}, id="pairs"),
        pytest.param({"headers": {"Set-Cookie": ["a=1", "session=Zc0okie"]}}, id="a list of them"),
        pytest.param({"headers": {"password": "Zc0okie", "X-API-Key": "Zc0okie"}}, id="other secrets by name"),
    ],
)
def test_cookies_in_fields_are_masked(tmp_path: Path, fields: dict[str, Any]) -> None:
    stderr = _configure(tmp_path)
    structlog.get_logger().info("Answered", age=0, **fields)

    [line] = _lines(tmp_path)
    assert "Zc0okie" not in json.dumps(line) and "***" in json.dumps(line)
    assert "Zc0okie" not in stderr.getvalue()
    assert line["age"] == 0


@pytest.mark.parametrize("count", [None, 3])
def test_the_line_of_a_call_is_the_one_that_structlog_would_write(tmp_path: Path, count: int | None) -> None:
    """A successful call takes a shorter way to the file. What it writes is the same."""
    _configure(tmp_path, secrets=("hidden-name",))
    call = ToolCall(name="a hidden-name", caller=Caller(name="hidden-name and more"), door="rest")
    end = CallEnd(code="OK", milliseconds=1.5, result=ToolResult(content=(), tokens=7, count=count))
    short, long = CallLog(), CallLog()
    long._sink = None
    for one in (short, long):
        one.ended(call, end)
    _opened[-1].flush()

    lines = [json.loads(line) for line in (tmp_path / logs.FILE_NAME).read_text().splitlines()]
    for line in lines:
        del line["time"]
    assert short._sink is not None
    assert lines[0] == lines[1]
    assert "hidden-name" not in str(lines)
    assert list(lines[0])[1:3] == ["event", "tool"]


def test_the_line_of_a_call_needs_the_level_info_and_can_be_captured(tmp_path: Path) -> None:
    call, end = ToolCall(name="echo"), CallEnd(code="OK", milliseconds=1.5)
    _configure(tmp_path, "warn")
    CallLog().ended(call, end)
    _opened[-1].flush()
    assert (tmp_path / logs.FILE_NAME).read_text() == ""

    _configure(tmp_path)
    log = CallLog()
    with structlog.testing.capture_logs() as captured:
        log.ended(call, end)
    _opened[-1].flush()

    assert [line["event"] for line in captured] == ["Tool completed"]
    assert (tmp_path / logs.FILE_NAME).read_text() == ""
