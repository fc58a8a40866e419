"""Find lines of the audit log: filters, and the last lines of a long file."""

import os
from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from dogubako.gate.audit import AuditLine, read_line, whole_lines

# The end of a long log; the file itself has everything.
_MOST_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class AuditFilter:
    """Which lines to show."""

    since: str = ""
    caller: str | None = None
    tool: str | None = None
    code: str | None = None

    def holds(self, line: AuditLine) -> bool:
        # Timestamps in the log have one format, so that text order is time order.
        return (
            line.time >= self.since
            and self.caller in (None, line.caller)
            and self.code in (None, line.code)
            and (self.tool in (None, line.tool) or fnmatchcase(line.tool, self.tool))
        )


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """The lines that fit, the newest first."""

    lines: list[AuditLine]
    damaged: int
    # Whether the whole file was looked at, and every line that fits is here.
    complete: bool


def last_lines(path: Path, wanted: AuditFilter, most: int) -> AuditPage:
    """The last lines that fit. A file that does not exist yet has none."""
    lines: deque[AuditLine] = deque(maxlen=most)
    damaged = fitting = start = 0
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - _MOST_BYTES)
            file.seek(start)
            if start:
                file.readline()
            for raw in whole_lines(file):
                line = read_line(raw)
                if line is None:
                    damaged += 1
                elif wanted.holds(line):
                    fitting += 1
                    lines.append(line)
    except FileNotFoundError:
        pass
    return AuditPage(lines=[*reversed(lines)], damaged=damaged, complete=not start and fitting <= most)
