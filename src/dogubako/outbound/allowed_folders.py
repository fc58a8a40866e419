"""Restrict file tools to the folders that the operator allowed."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import anyio.to_thread

from dogubako.contract.errors import ValidationError


class OpenFolders:
    """Reads and writes whole files. Errors name the parameter with the path."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]

    async def read(self, path: str, largest: int, *, parameter: str = "path") -> bytes:
        """The file's bytes, or a ValidationError with the reason."""
        return await anyio.to_thread.run_sync(self._read, path, largest, parameter)

    async def save(self, path: str, body: bytes, *, parameter: str = "path") -> Path:
        """Write a new file. An existing file is never replaced."""
        return await anyio.to_thread.run_sync(self._save, path, body, parameter)

    def _read(self, path: str, largest: int, parameter: str) -> bytes:
        file = self._existing(path, parameter)
        try:
            if file.stat().st_size > largest:
                raise wrong_path(f"the file is larger than {largest:,} bytes", parameter)
            return file.read_bytes()
        except OSError as error:
            raise wrong_path(f"the file cannot be read ({error.strerror})", parameter) from error

    def _save(self, path: str, body: bytes, parameter: str) -> Path:
        file = self._inside(path, parameter)[0]
        if file in self._folders:
            # The temporary file beside it would be outside the folder.
            raise wrong_path("it is a folder", parameter)
        unfinished = file.with_name(f".{uuid4().hex}.part")
        try:
            unfinished.write_bytes(body)
            # A link is created only if the name is free, so that two concurrent calls cannot overwrite each other.
            os.link(unfinished, file)
        except FileExistsError:
            raise wrong_path("there is such a file already, and nothing is overwritten", parameter) from None
        except OSError as error:
            raise wrong_path(f"the file cannot be written ({error.strerror})", parameter) from error
        finally:
            # Nothing was created below a file, and an error here would hide the reason.
            with suppress(OSError):
                unfinished.unlink()
        return file

    def _existing(self, path: str, parameter: str) -> Path:
        candidates = self._inside(path, parameter)
        try:
            for candidate in candidates:
                if candidate.is_file():
                    return candidate
        except OSError as error:
            raise wrong_path("it is no path", parameter) from error
        raise wrong_path("there is no such file", parameter)

    def _inside(self, path: str, parameter: str) -> list[Path]:
        if not self._folders:
            message = "no folder is open to file tools; an operator can name some in DOGUBAKO_FILES"
            raise wrong_path(message, parameter)
        # Resolve links first: the real location of the file counts.
        try:
            candidates = [(folder / path).resolve() for folder in self._folders]
        except (OSError, ValueError, RuntimeError) as error:
            # A zero byte, a name that is too long, a loop of links.
            raise wrong_path("it is no path", parameter) from error
        inside = [one for one in candidates if any(one.is_relative_to(folder) for folder in self._folders)]
        if not inside:
            raise wrong_path("it is outside of the folders in DOGUBAKO_FILES", parameter)
        return inside


def wrong_path(reason: str, parameter: str = "path") -> ValidationError:
    """`Invalid value for parameter path: there is no such file`."""
    return ValidationError.of(parameter, f"Invalid value for parameter {parameter}: {reason}")
