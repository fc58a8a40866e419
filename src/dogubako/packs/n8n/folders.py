"""Files that tools may read: below the folders that the operator opened, and nowhere else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import msgspec

from dogubako.contract.errors import ValidationError

_LARGEST: Final = 10 * 1024 * 1024


class OpenFolders:
    """Reads workflow files."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]

    async def read_workflow(self, path: str) -> dict[str, Any]:
        """The JSON object in the file, or a ValidationError that says what is wrong with it."""
        return await anyio.to_thread.run_sync(self._read, path)

    def _read(self, path: str) -> dict[str, Any]:
        file = self._allowed(path)
        try:
            if file.stat().st_size > _LARGEST:
                raise _wrong(f"the file is larger than {_LARGEST:,} bytes")
            found = msgspec.json.decode(file.read_bytes())
        except OSError as error:
            raise _wrong(f"the file cannot be read ({error.strerror})") from error
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise _wrong("the file is not valid JSON") from error
        if not isinstance(found, dict) or not isinstance(found.get("nodes"), list):
            raise _wrong("the file holds no workflow: it has no nodes")
        for part in ("connections", "settings"):
            if not isinstance(found.get(part), dict | None):
                raise _wrong(f"the file holds no workflow: its {part} are no object")
        return found

    def _allowed(self, path: str) -> Path:
        if not self._folders:
            raise _wrong("no folder is open to file tools; an operator can name some in DOGUBAKO_FILES")
        # Links are followed first: what counts is where the file really is.
        try:
            candidates = [(folder / path).resolve() for folder in self._folders]
            for candidate in candidates:
                if any(candidate.is_relative_to(folder) for folder in self._folders) and candidate.is_file():
                    return candidate
        except (OSError, ValueError, RuntimeError) as error:
            # A zero byte, a name that is too long, links in a circle.
            raise _wrong("it is no path") from error
        if not any(candidate.is_relative_to(folder) for candidate in candidates for folder in self._folders):
            raise _wrong("it is outside of the folders in DOGUBAKO_FILES")
        raise _wrong("there is no such file")


def _wrong(reason: str) -> ValidationError:
    return ValidationError.of("path", f"Invalid value for parameter path: {reason}")
