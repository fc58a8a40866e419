"""Options that several commands share, and how they become settings, logs and a toolbox."""

import errno
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import click
import msgspec

from dogubako import logs
from dogubako.app import Toolbox, build
from dogubako.cli.commands import option
from dogubako.cli.terminal import fail, forget_what_was_not_printed
from dogubako.contract.redaction import Redactor
from dogubako.engine.registration import RegistrationError
from dogubako.settings import SettingsError, Sources

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

Tools = Annotated[
    list[Path] | None,
    option("--tools", metavar="FILE", help="Python file with tools of your own; may be given several times."),
]
Packs = Annotated[str | None, option("--packs", help="Packs to load, comma-separated; default all.")]
ReadOnly = Annotated[bool | None, option("--read-only", help="Refuse every tool that writes.")]
Sandbox = Annotated[bool | None, option("--sandbox", help="Imitate services that are not configured.")]
Config = Annotated[Path | None, option("--config", metavar="FILE", help="Settings file; default dogubako.toml.")]
Directory = Annotated[
    Path | None,
    option("--directory", metavar="FOLDER", help="Work in this folder: its dogubako.toml and .env count."),
]
AsJson = Annotated[bool, option("--json", help="Print JSON for scripts.")]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    tools: list[Path] | None = None
    packs: str | None = None
    read_only: bool | None = None
    sandbox: bool | None = None
    config: Path | None = None
    host: str | None = None
    port: int | None = None
    allowed_hosts: str | None = None

    def overrides(self) -> dict[str, Any]:
        options = {
            "tools": tuple(self.tools) if self.tools else None,
            "packs": self.packs,
            "read_only": self.read_only,
            "sandbox": self.sandbox,
            "host": self.host,
            "port": self.port,
            "allowed_hosts": self.allowed_hosts,
        }
        return {key: value for key, value in options.items() if value is not None}

    def sources(self) -> Sources:
        return Sources(overrides=self.overrides(), config_file=self.config)

    def open(self, *, quiet: bool = False) -> Toolbox:
        """Load settings, configure logs and build a toolbox. `quiet` logs errors only."""
        redactor = Redactor()
        sources = self.sources()
        settings = sources.load()
        level = "error" if quiet and settings.log_level == "info" else settings.log_level
        logs.configure(level, settings.log_dir, redactor)
        # A command that ends at once does not start every server.
        return build(sources, redactor=redactor, lazy=quiet)


def work_in(folder: Path | None) -> None:
    """Change to the folder that a client's configuration names; a client starts servers anywhere."""
    if folder is None:
        return
    try:
        os.chdir(folder)
    except OSError as error:
        raise SettingsError(f"--directory: {folder} cannot be opened: {error.strerror}.") from None


def friendly(command: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Print expected errors, such as a wrong setting or a full disk, as one sentence and exit with code 2."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        try:
            return command(*args, **kwargs)
        except (SettingsError, RegistrationError) as error:
            click.echo(f"dogubako: {error}", err=True)
            sys.exit(2)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            forget_what_was_not_printed()
            fail("The output could not be written: no space is left.", "What the command changed is changed.")

    return wrapped
