"""A client at the other end of `dogubako stdio`, writing lines by hand."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from . import messages
from .processes import PATIENCE, Command, running, tool_words


class Pipe:
    """Sends any bytes and waits for the answer of an id."""

    def __init__(self, command: Command, *, modern: bool = False) -> None:
        self.command = command
        self.modern = modern
        self._ids = count(1)

    def open(self, version: str = messages.LEGACY, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Shake hands, as clients before 2026 do."""
        answer = self.request("initialize", messages.initialize(version, capabilities))
        self.send(messages.notification("notifications/initialized"))
        return answer

    def send(self, message: Mapping[str, Any] | bytes) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.command.stdin.write(line)
        self.command.stdin.flush()

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, seconds: float = PATIENCE
    ) -> dict[str, Any]:
        """Ask and wait for the response, whatever else arrives before it."""
        request_id, start = next(self._ids), self.command.stdout.count()
        self.send(messages.request(method, params, request_id=request_id))
        return self.response(request_id, start=start, seconds=seconds)

    def call(self, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        return self.request("tools/call", messages.call(name, arguments, modern=self.modern, **more))

    def start_call(self, name: str, arguments: Any = None, **more: Any) -> int:
        """Send a call and do not wait; the id finds its answer later."""
        request_id = next(self._ids)
        params = messages.call(name, arguments, modern=self.modern, **more)
        self.send(messages.request("tools/call", params, request_id=request_id))
        return request_id

    def response(self, request_id: int | str | None, *, start: int = 0, seconds: float = PATIENCE) -> dict[str, Any]:
        line = self.command.stdout.first(lambda one: _answers(one, request_id), start=start, seconds=seconds)
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    def oddity(self, line: bytes) -> dict[str, Any]:
        """Send something that has no id; the answer has none either."""
        start = self.command.stdout.count()
        self.send(line)
        return self.response(None, start=start)

    def answered(self, request_id: int | str) -> bool:
        """Whether an answer to this id has been written so far."""
        return any(_answers(line, request_id) for line in self.command.stdout.text().encode().splitlines())


@contextmanager
def speaking(
    *tools: Path, folder: Path, modern: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[Pipe]:
    """`dogubako stdio` with these tools, and its client."""
    with running("stdio", *tool_words(*tools), folder=folder, settings=settings) as command:
        yield Pipe(command, modern=modern)


def _answers(line: bytes, request_id: int | str | None) -> bool:
    message = json.loads(line)
    return "method" not in message and message.get("id") == request_id
