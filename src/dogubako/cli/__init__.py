"""The commands. Each does one thing for one person at a terminal, and has a form for scripts."""

from dogubako.cli.root import app

__all__ = ["app"]
