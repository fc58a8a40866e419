"""Command lines that start a server in isolation (`run_as`): bubblewrap, a systemd scope, or a container.

A profile shows a server nothing of ours: neither the data folder nor the home folder nor the working folder of the
toolbox. It sees the system, its own program, its working folder, and the folders that its table names.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_PROFILE: Final = re.compile(r"bwrap|bwrap-offline|systemd-run|(docker|podman):\S+")
# What programs need of the system. Missing ones are left out.
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/run/systemd/resolve")
_MOST_TASKS: Final = 512
_WRITABLE: Final = ":rw"
# The kernel reads no more of a first line.
_LONGEST_LINE: Final = 256
# How the command line tools find the session or the engine. The server itself does not get them.
_SESSION: Final = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_ENGINE: Final = ("XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST")


class Program(NamedTuple):
    """A program to start, with what it may use."""

    command: str
    args: Sequence[str]
    cwd: Path | None = None
    # Folders beside the working folder, each read-only unless `:rw` follows.
    folders: Sequence[str] = ()
    # Names of the variables that it gets.
    variables: Sequence[str] = ()
    # Megabytes; 0 for no limit.
    memory: int = 0


def checked_profile(run_as: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """A known profile, or a command line of the operator's own. ValueError for an unknown profile."""
    if isinstance(run_as, str) and not _PROFILE.fullmatch(run_as):
        known = "bwrap, bwrap-offline, systemd-run, docker:IMAGE, podman:IMAGE"
        raise ValueError(f"must be a list of words, or one of {known}")
    return run_as


def isolated(run_as: str | Sequence[str], program: Program, path: str | None = None) -> list[str]:
    """The command line of a program. `path` is where programs are looked for, as in PATH."""
    if not isinstance(run_as, str):
        return [*run_as, program.command, *program.args]
    if run_as == "systemd-run":
        return [*_scope(program), program.command, *program.args]
    if run_as.startswith("bwrap"):
        return [*_bubble(program, path, offline=run_as.endswith("offline")), program.command, *program.args]
    engine, _, image = run_as.partition(":")
    return [*_container(engine, program), image, program.command, *program.args]


def variables_for(run_as: str | Sequence[str]) -> dict[str, str]:
    """The variables of this process that a profile needs to work."""
    names: tuple[str, ...] = () if not isinstance(run_as, str) or run_as.startswith("bwrap") else _ENGINE
    names = _SESSION if run_as == "systemd-run" else names
    return {name: os.environ[name] for name in names if name in os.environ}


def _bubble(program: Program, path: str | None, *, offline: bool) -> list[str]:
    line = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if offline:
        line.append("--unshare-net")
    for folder in _SYSTEM:
        line += ["--ro-bind-try", folder, folder]
    line += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108 - a folder of its own
    if home := os.environ.get("HOME"):
        line += ["--tmpfs", home]
    for place in _places_of(program, path):
        line += ["--ro-bind", place, place]
    for folder, writable in _folders(program):
        line += ["--bind" if writable else "--ro-bind", folder, folder]
    if program.cwd is not None:
        line += ["--chdir", str(program.cwd.absolute())]
    return [*line, "--"]


def _places_of(program: Program, path: str | None) -> list[str]:
    """Where the program is, and the interpreter of a script, which pyenv and uv keep in the home folder."""
    found = shutil.which(program.command, path=path)
    files = [Path(found).absolute()] if found is not None else []
    if files and (interpreter := _interpreter(files[0], path)) is not None:
        files.append(interpreter)
    places = [_installation(one) for file in files for one in (file, file.resolve())]
    return [
        str(place)
        for place in dict.fromkeys(places)
        if not any(place.is_relative_to(system) for system in _SYSTEM) and place != Path("/")
    ]


def _interpreter(file: Path, path: str | None) -> Path | None:
    """The program that the first line of a script names."""
    try:
        with file.open("rb") as opened:
            first = opened.readline(_LONGEST_LINE)
    except OSError:
        return None
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [found for word in words[1:] if "=" not in word and (found := shutil.which(word, path=path))]
    return Path(words[0]).absolute() if words else None


def _installation(file: Path) -> Path:
    """The folder above `bin`; the file alone where that folder holds more than one program's things."""
    home = Path.home()
    above = file.parent.parent
    return above if file.parent.name == "bin" and above not in (home, home / ".local") else file


def _folders(program: Program) -> list[tuple[str, bool]]:
    """All folders that the program may use, and whether it may write there."""
    own = [(str(program.cwd.absolute()), True)] if program.cwd is not None else []
    named = [(str(Path(one.removesuffix(_WRITABLE)).expanduser().absolute()), one) for one in program.folders]
    return [*((folder, one.endswith(_WRITABLE)) for folder, one in named), *own]


def _scope(program: Program) -> list[str]:
    line = ["systemd-run", "--user", "--scope", "--quiet", "--collect", f"--property=TasksMax={_MOST_TASKS}"]
    without = [word for name in _SESSION for word in ("-u", name)]
    return [*line, *([f"--property=MemoryMax={program.memory}M"] if program.memory else []), "--", "env", *without]


def _container(engine: str, program: Program) -> list[str]:
    line = [engine, "run", "--interactive", "--rm", "--init", "--read-only", "--tmpfs=/tmp", "--cap-drop=ALL"]
    line += ["--security-opt=no-new-privileges", f"--pids-limit={_MOST_TASKS}"]
    if program.memory:
        line.append(f"--memory={program.memory}m")
    # By name alone: a value on the command line could be read by every user of the machine.
    line += [f"--env={name}" for name in program.variables]
    for folder, writable in _folders(program):
        line.append(f"--volume={folder}:{folder}:{'rw' if writable else 'ro'}")
    return [*line, *([f"--workdir={program.cwd.absolute()}"] if program.cwd is not None else [])]
