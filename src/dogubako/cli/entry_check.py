"""Check an entry before `connect` writes it: start the server as a client would, and list its tools."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from dogubako.settings import SettingsError

# A cold start takes a second, and much longer on a busy machine.
_START_SECONDS: Final = 60.0
_REACH_SECONDS: Final = 5.0
# The environment of a client that was started from a desktop, not from this shell.
_PASSED_ON: Final = ("HOME", "PATH", "USER", "LANG", "TMPDIR", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE")
_LONGEST_REASON: Final = 300
_INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "dogubako connect", "version": "1"},
}


def listed_tools(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> list[str]:
    """Start the command in another folder, and name the tools that it lists over all pages."""
    own = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | dict(environment)
    with _started(command, own, folder) as (process, errors):
        try:
            return _conversation(process)
        except (OSError, ValueError, KeyError, TypeError):
            reason = " ".join(errors.read_text(encoding="utf-8", errors="replace").split())[-_LONGEST_REASON:]
            said = f" It says: {reason}" if reason else ""
            raise SettingsError(
                f"The entry does not work, so nothing was written: the server did not answer.{said}"
            ) from None


@contextmanager
def _started(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    errors = folder / "stderr"
    with errors.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(  # noqa: S603 - the command that is about to be written
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env=dict(environment),
            text=True,
            encoding="utf-8",
        )
    deadline = threading.Timer(_START_SECONDS, process.kill)
    deadline.start()
    try:
        yield process, errors
    finally:
        deadline.cancel()
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REACH_SECONDS)
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def _conversation(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdin is not None and process.stdout is not None
    _ask(process.stdin, process.stdout, 0, "initialize", _INITIALIZE)
    _send(process.stdin, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    names: list[str] = []
    number = 1
    page: dict[str, Any] = {}
    while True:
        result = _ask(process.stdin, process.stdout, number, "tools/list", page)
        names += [tool["name"] for tool in result["tools"]]
        if not result.get("nextCursor"):
            return names
        number, page = number + 1, {"cursor": result["nextCursor"]}


def _ask(requests: IO[str], answers: IO[str], number: int, method: str, params: Mapping[str, Any]) -> Any:
    _send(requests, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    for line in answers:
        message = json.loads(line)
        if message.get("id") == number:
            return message["result"]
    raise OSError("the server ended")


def _send(requests: IO[str], message: Mapping[str, Any]) -> None:
    requests.write(json.dumps(message) + "\n")
    requests.flush()


def is_reachable(url: str) -> bool:
    """Whether a server answers at this address, be it with a refusal."""
    # Every start would pay for the import.
    import httpx2  # noqa: PLC0415

    try:
        httpx2.get(url, timeout=_REACH_SECONDS)
    except httpx2.HTTPError:
        return False
    return True
