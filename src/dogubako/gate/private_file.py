"""Files that belong to the server alone, and are complete before they have their name."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def itself(path: str, flags: int) -> int:
    """Open the file that has this name, not one that a link names; and do not wait where it is a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


@contextmanager
def complete(path: Path, content: bytes) -> Iterator[Path]:
    """A new file beside `path`, whole and on the disk, to be given that name. What is not renamed is removed."""
    # A name that nobody can foresee, and a file that was not there: nothing can be waiting in its place.
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    with open(unfinished, "xb", opener=itself) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)
