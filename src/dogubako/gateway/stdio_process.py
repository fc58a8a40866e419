"""Start the process of a stdio server with a minimal environment, and end it and all its descendants in order."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from dogubako.gateway.link import UpstreamLost, WrongConfiguration

_GUARD: Final = Path(__file__).with_name("child_guard.py")
# What programs need to find themselves, to write text, and to know whom to trust behind a company's proxy. Everything
# else must be configured, above all secrets.
INHERITED: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
# The command lines of the servers that this process is below, as digests: one that starts itself would never end.
_ABOVE: Final = "STARTED_BY_DOGUBAKO"
# The slowest servers that we know need 3.4 seconds to end after the end of their input.
EOF_SECONDS: Final = 5.0
# The guard asks all processes to end, and kills them after 2 seconds.
_GUARD_SECONDS: Final = 10.0

_LAST_WORDS_SECONDS: Final = 0.5
_STDERR_LINES: Final = 20
_LONGEST_STDERR_LINE: Final = 500


@dataclass(frozen=True, kw_only=True)
class ChildCommand:
    """A command line, its environment and its limits."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    # Bytes of resident memory of all its processes; None for no limit.
    memory_limit: int | None = None

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return {**inherited, **self.env, _ABOVE: " ".join([*_commands_above(), self._digest])}

    @property
    def _digest(self) -> str:
        """Tells command lines apart. The same one in the same folder and environment is the same server."""
        folder = (self.cwd or Path()).absolute()
        words = [
            str(folder),
            self.command,
            *self.args,
            *(f"{name}={value}" for name, value in sorted(self.env.items())),
        ]
        return hashlib.sha256("\0".join(words).encode(errors="surrogateescape")).hexdigest()[:16]

    def resolved(self) -> str:
        """The file to run. Raises `WrongConfiguration` if there is none."""
        if self.cwd is not None and not self.cwd.is_dir():
            raise WrongConfiguration("The working folder does not exist.")
        if self._digest in _commands_above():
            raise WrongConfiguration(
                "It would start itself again: give it a working folder (cwd) or settings of its own."
            )
        base = self.cwd or Path()
        if os.sep in self.command:
            path = base / self.command
            found = str(path.absolute()) if os.access(path, os.X_OK) and path.is_file() else None
        else:
            found = shutil.which(self.command, path=self.environment.get("PATH", os.defpath))
        if found is None:
            raise WrongConfiguration(f"The command '{self.command}' is not installed or cannot be run.")
        return found


def _commands_above() -> list[str]:
    return os.environ.get(_ABOVE, "").split()


class ChildProcess(asyncio.SubprocessProtocol):
    """A running server process below its guard. `on_output` gets the bytes of its stdout."""

    def __init__(self, on_output: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_output = on_output
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._lifeline = -1
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._stderr_rest = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self._output_ended = False
        self._open_pipes = {1, 2}
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def start(self, command: ChildCommand) -> None:
        """Start the process. Raises `WrongConfiguration` or `UpstreamLost`."""
        path = command.resolved()
        lifeline, self._lifeline = os.pipe()
        line = [str(lifeline), str(command.memory_limit or 0), path, *command.args]
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *(sys.executable, "-I", "-S", str(_GUARD), *line),
                env=command.environment,
                cwd=command.cwd,
                pass_fds=(lifeline,),
                # A group of its own: Ctrl-C at a terminal is for the server, which ends its children in order.
                start_new_session=True,
            )
        except OSError as error:
            self._release()
            raise UpstreamLost(f"The process could not be started: {error.strerror}.", may_have_run=False) from error
        finally:
            os.close(lifeline)

    @property
    def pid(self) -> int:
        """The guard of the process, which leads its process group."""
        return self._transport.get_pid() if self._transport is not None else 0

    @property
    def stderr(self) -> str:
        """The last lines of its stderr."""
        return "\n".join(self._stderr)

    async def write(self, data: bytes) -> None:
        """Write to its stdin, once there is room."""
        await self._writable.wait()
        if (pipe := self._pipe(0)) is None or pipe.is_closing() or self.exited.done():
            raise UpstreamLost("The process has ended.", may_have_run=False)
        pipe.write(data)

    def pause_output(self, paused: bool) -> None:
        """Stop reading its stdout, or go on."""
        pipe = cast("asyncio.ReadTransport | None", self._transport and self._transport.get_pipe_transport(1))
        if pipe is not None and not pipe.is_closing():
            # Pausing twice is an error in some event loops.
            with contextlib.suppress(RuntimeError):
                pipe.pause_reading() if paused else pipe.resume_reading()

    async def end(self) -> None:
        """Close its stdin and wait; then have the guard end all processes; at last kill the group."""
        if self._transport is None:
            return
        if (pipe := self._pipe(0)) is not None:
            pipe.close()
        # Nobody reads any more, and a process that waits for room in its stdout could not end.
        self._on_output = _discard
        self.pause_output(False)
        if not await self._ends_within(EOF_SECONDS):
            self._release()
            if not await self._ends_within(_GUARD_SECONDS):
                self._kill_group()
                await self._ends_within(_GUARD_SECONDS)
        self._release()
        self._transport.close()

    def kill(self) -> None:
        """Have the guard end all processes, without waiting."""
        self._release()

    async def _ends_within(self, seconds: float) -> bool:
        await asyncio.wait({self.exited}, timeout=seconds)
        return self.exited.done()

    def _release(self) -> None:
        """Close the lifeline: the guard then ends all processes."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def _kill_group(self) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _pipe(self, fd: int) -> asyncio.WriteTransport | None:
        return cast("asyncio.WriteTransport | None", self._transport and self._transport.get_pipe_transport(fd))

    # The methods that the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._on_output(data)
        else:
            self._read_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writable.set()
            return
        self._open_pipes.discard(fd)
        if not self._open_pipes or self.exited.done():
            self._end_output()
        elif fd == 1:
            # Its last words on stderr are the reason; a descendant may keep stderr open.
            asyncio.get_running_loop().call_later(_LAST_WORDS_SECONDS, self._end_output)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def process_exited(self) -> None:
        self._writable.set()
        if not self.exited.done():
            self.exited.set_result(cast("asyncio.SubprocessTransport", self._transport).get_returncode() or 0)
        # The guard was killed if it could not end the others itself.
        self._kill_group()
        self._release()
        if 1 not in self._open_pipes:
            self._end_output()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_output()

    def _end_output(self) -> None:
        if not self._output_ended:
            self._output_ended = True
            self._on_end()

    def _read_stderr(self, data: bytes) -> None:
        *lines, rest = (self._stderr_rest + data).split(b"\n")
        self._stderr_rest = rest[-_LONGEST_STDERR_LINE:]
        for line in lines[-_STDERR_LINES:]:
            self._stderr.append(line[:_LONGEST_STDERR_LINE].decode("utf-8", "replace").rstrip())


def _discard(data: bytes) -> None:
    return None
