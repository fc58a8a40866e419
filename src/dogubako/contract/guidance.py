"""The next step, written the way an agent will call it: `get_execution(id: '17')`."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec

_CALL = re.compile(r"^\s*(?P<name>[a-z][a-z0-9_-]*)\((?P<arguments>.*)\)\s*$", re.DOTALL)
_ARGUMENT_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Guidance:
    """What is worth doing next, and the call that does it."""

    message: str
    example: str


def example_call(name: str, /, **arguments: Any) -> str:
    """Write a call so that `parse_call` reads the same arguments back."""
    written = ", ".join(f"{key}: {_write(value)}" for key, value in arguments.items())
    return f"{name}({written})"


def parse_call(example: str) -> tuple[str, dict[str, Any]]:
    """Read a call back; ValueError when it is not one."""
    match = _CALL.match(example)
    if match is None:
        raise ValueError("expected a call like get_execution(id: '17')")
    return match["name"], _parse_arguments(match["arguments"])


def _write(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return msgspec.json.encode(value).decode()


def _parse_arguments(written: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    position = 0
    while position < len(written.rstrip()):
        key = _ARGUMENT_NAME.match(written, position)
        if key is None:
            raise ValueError(f"expected an argument name at position {position}")
        value, position = _read_value(written, key.end())
        arguments[key[1]] = value
        position = _after_comma(written, position)
    return arguments


def _read_value(written: str, position: int) -> tuple[Any, int]:
    if quoted := _QUOTED.match(written, position):
        text = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], quoted[1], flags=re.DOTALL)
        return text, quoted.end()
    end = _end_of_json(written, position)
    try:
        return msgspec.json.decode(written[position:end].strip()), end
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ValueError(f"expected a value at position {position}") from None


def _end_of_json(written: str, position: int) -> int:
    """Where a number, word, list or object ends: at the first comma outside brackets and quotes."""
    depth, in_string, escaped = 0, False, False
    for index in range(position, len(written)):
        character = written[index]
        if escaped:
            escaped = False
        elif in_string:
            in_string, escaped = character != '"', character == "\\"
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            return index
    return len(written)


def _after_comma(written: str, position: int) -> int:
    rest = written[position:].lstrip()
    if not rest:
        return len(written)
    if not rest.startswith(","):
        raise ValueError(f"expected a comma at position {position}")
    return len(written) - len(rest) + 1
