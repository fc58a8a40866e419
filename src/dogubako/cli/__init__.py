"""The commands of the command line, each with a JSON form for scripts."""

from dogubako.cli.main import app

__all__ = ["app"]
