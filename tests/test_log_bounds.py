"""What is too large for a line of the log is cut before it is written down."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from dogubako import logs
from dogubako.contract.errors import ApiError, ApiErrorContext
from dogubako.contract.redaction import Redactor

MOST_CHARACTERS = 60_000


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Callable[[], dict[str, Any]]]:
    """The only line of the log."""
    sinks = logs.configure("info", tmp_path, Redactor(["k3y-of-gold"]), stderr=io.StringIO())

    def line() -> dict[str, Any]:
        sinks.flush()
        [only] = (tmp_path / "dogubako.log").read_text().splitlines()
        read: dict[str, Any] = json.loads(only)
        return read

    yield line
    sinks.close()
    structlog.reset_defaults()


def _chain(length: int) -> Exception:
    error = RuntimeError("first")
    for _ in range(length):
        later = RuntimeError("later")
        later.__cause__, error = error, later
    return error


def _noted() -> Exception:
    error = RuntimeError("x")
    error.add_note("lorem " * 1_000_000)
    return error


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("the key is k3y-of-gold " + "lorem " * 1_000_000), id="message"),
        pytest.param(ValueError(list(range(100_000))), id="list"),
        pytest.param(ExceptionGroup("several", [RuntimeError("one")] * 10_000), id="group"),
        pytest.param(_chain(1_000), id="causes"),
        pytest.param(_noted(), id="note"),
    ],
)
def test_an_exception_beyond_all_bounds_is_cut(error: Exception, written: Callable[[], dict[str, Any]]) -> None:
    structlog.get_logger().error("[pump] Error", exc_info=error)

    stack = written()["stack"]
    assert type(error).__name__ in stack
    assert len(stack) <= MOST_CHARACTERS
    assert "k3y-of-gold" not in stack


def test_an_ordinary_exception_has_its_causes_and_its_group(written: Callable[[], dict[str, Any]]) -> None:
    error = ExceptionGroup("several", [ValueError("one"), _chain(2)])
    structlog.get_logger().error("[pump] Error", exc_info=error)

    stack = written()["stack"]
    assert "ValueError: one" in stack
    assert stack.count("RuntimeError: later") == 2


@pytest.mark.parametrize("details", ["lorem " * 1_000_000, {"rows": list(range(100_000))}, b"\xff" * 1_000_000])
def test_details_of_an_error_beyond_all_bounds_are_cut(details: Any, written: Callable[[], dict[str, Any]]) -> None:
    error = ApiError("x", status_code=500, context=ApiErrorContext(operation="read", error_details=details))
    structlog.get_logger().warning("[pump] Error", **error.log_fields)

    line = written()
    assert line["operation"] == "read"
    assert len(json.dumps(line)) <= MOST_CHARACTERS
