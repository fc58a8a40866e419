"""Files that belong to the server alone, and are complete before they have their name."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_SECRET_BYTES: Final = 32


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


def kept_secret(path: Path) -> bytes:
    """The random bytes in this file, which is made if it is not there. Several processes get the same ones."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Another process may be faster; then it is that one's.
        with complete(path, secrets.token_bytes(_SECRET_BYTES)) as file, suppress(FileExistsError):
            os.link(file, path)
    secret = path.read_bytes()
    if len(secret) < _SECRET_BYTES:
        raise OSError(errno.EINVAL, f"{path.name} is damaged; remove it")
    return secret
