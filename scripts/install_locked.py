"""Install the packages of a lock file with pip, and show how far it is. Uses nothing but the standard library.

.venv/bin/python scripts/install_locked.py requirements.lock
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

_PIP: Final = ("-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "--require-hashes")
_PACKAGE: Final = re.compile(r"(?m)^([A-Za-z0-9][A-Za-z0-9._-]*)==")
# pip says so for each package: a new one, or one that is there already.
_FOUND: Final = re.compile(r"(?:Collecting|Requirement already satisfied:|Processing) ([^=<>; ]+)")
_STEP: Final = 10


def main() -> int:
    lock = Path(sys.argv[1])
    count = len(set(_PACKAGE.findall(lock.read_text(encoding="utf-8"))))
    print(f"Installing up to {count} packages of {lock.name}, once; this may take a minute or two.", flush=True)
    # The lock is the constraint too: older versions of pip look for the newest `package[extra]` that another package
    # needs, and refuse it because it has no hash.
    command = [sys.executable, *_PIP, "-r", str(lock), "-c", str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = shown(process.stdout, count, sys.stdout)
    if process.returncode:
        print("".join(said), file=sys.stderr)
    return process.returncode


def shown(lines: Iterable[str], count: int, out: TextIO) -> list[str]:
    """Print progress while pip writes its lines; return the lines, for the case that it fails."""
    said, seen = [], 0
    for line in lines:
        said.append(line)
        if found := _FOUND.match(line):
            seen += 1
            name = Path(found[1]).name.split("-")[0]
            if out.isatty():
                out.write(f"\r\033[K  {min(seen, count)}/{count} {name}")
            elif seen % _STEP == 0:
                out.write(f"  {min(seen, count)}/{count}\n")
        elif line.startswith("Installing collected packages"):
            out.write(f"{chr(13) + chr(27) + '[K' if out.isatty() else ''}  unpacking\n")
        out.flush()
    return said


if __name__ == "__main__":
    raise SystemExit(main())
