"""Options that several commands share, and what they become: settings, logs, a toolbox."""

import errno
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from dogubako import logs
from dogubako.app import Toolbox, build
from dogubako.cli.terminal import fail, forget_what_was_not_printed
from dogubako.contract.secrets import Redactor
from dogubako.engine.admission import RegistrationError
from dogubako.settings import SettingsError, Sources

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

Tools = Annotated[
    list[Path] | None,
    typer.Option("--tools", metavar="FILE", help="Python file with tools of your own; may be given several times."),
]
Packs = Annotated[str | None, typer.Option("--packs", help="Packs to load, comma-separated; all without it.")]
ReadOnly = Annotated[
    bool | None, typer.Option("--read-only", help="Refuse every tool that writes.", show_default=False)
]
Sandbox = Annotated[
    bool | None, typer.Option("--sandbox", help="Answer for services that are not configured.", show_default=False)
]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings file; default dogubako.toml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What the command line said."""

    tools: list[Path] | None = None
    packs: str | None = None
    read_only: bool | None = None
    sandbox: bool | None = None
    config: Path | None = None
    host: str | None = None
    port: int | None = None
    allowed_hosts: str | None = None

    def overrides(self) -> dict[str, Any]:
        said = {
            "tools": tuple(self.tools) if self.tools else None,
            "packs": self.packs,
            "read_only": self.read_only,
            "sandbox": self.sandbox,
            "host": self.host,
            "port": self.port,
            "allowed_hosts": self.allowed_hosts,
        }
        return {key: value for key, value in said.items() if value is not None}

    def sources(self) -> Sources:
        return Sources(overrides=self.overrides(), config_file=self.config)

    def open(self, *, quiet: bool = False) -> Toolbox:
        """Settings, logs and a toolbox. `quiet` keeps the log of one-off commands to what is broken."""
        redactor = Redactor()
        sources = self.sources()
        settings = sources.load()
        level = "error" if quiet and settings.log_level == "info" else settings.log_level
        logs.configure(level, settings.log_dir, redactor)
        return build(sources, redactor=redactor)


def friendly(command: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """A wrong setting is one sentence on stderr and exit code 2; a full disk is one, too. Never a stack trace."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        try:
            return command(*args, **kwargs)
        except (SettingsError, RegistrationError) as error:
            typer.echo(f"dogubako: {error}", err=True)
            sys.exit(2)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            forget_what_was_not_printed()
            fail("The output could not be written: no space is left.", "What the command changed is changed.")

    return wrapped
