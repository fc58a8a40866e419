"""`serve --reload`: reload a tools file when it changes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import structlog

from dogubako.app import Toolbox
from dogubako.contract.pack import Pack
from dogubako.engine.registration import RegistrationError
from dogubako.loading import load_file
from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako")

_POLL_SECONDS: Final = 0.5
# How long the lifespan of a reloaded file may take to open. Meanwhile the old tools answer.
_MOST_SECONDS: Final = 30.0


class Reloader:
    """Watches the tools files of a toolbox, and the Python files beside them."""

    def __init__(self, box: Toolbox) -> None:
        self._box = box
        self._seen = {path: _stamp(path) for path in self._files()}

    async def run(self) -> None:
        """Poll for changes until cancelled."""
        while True:
            await anyio.sleep(_POLL_SECONDS)
            for path in self.changed():
                await self.reload(path)

    def changed(self) -> list[Path]:
        """The tools files that changed, or have a changed file beside them."""
        paths = []
        for path in self._files():
            stamp = _stamp(path)
            if stamp != self._seen.get(path):
                self._seen[path] = stamp
                paths.append(path)
        return paths

    async def reload(self, path: Path) -> None:
        """Load the file again. If that fails, the log says why and the old tools stay."""
        old = next(state for state in self._box.packs.values() if state.file == path)
        try:
            pack = _load(path)
            _check_name(pack, old.pack)
            with anyio.fail_after(_MOST_SECONDS):
                await self._box.replace_pack(old, pack)
        except (SettingsError, RegistrationError, ValueError) as error:
            log.error("Tools file could not be reloaded", file=str(path), reason=str(error))
            return
        except Exception as error:
            # Whatever the file does, the next change of it is looked at again.
            log.error("Tools file could not be reloaded", file=str(path), reason=type(error).__name__, exc_info=error)
            return
        log.info("Tools file reloaded", file=str(path), tools=[tool.name for tool in pack.tools])

    def _files(self) -> Iterator[Path]:
        return (state.file for state in self._box.packs.values() if state.file is not None)


def _load(path: Path) -> Pack[Any, Any]:
    """Load a file that may raise anything. Nobody interrupts or cancels us here: loading does not await."""
    try:
        return load_file(path)
    except (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, BaseExceptionGroup) as error:
        raise SettingsError(f"{path} could not be loaded: {type(error).__name__}") from error


def _stamp(path: Path) -> dict[Path, int]:
    """The modification time of each Python file in the folder. Files that vanish meanwhile are skipped."""
    stamps = {}
    for one in path.parent.glob("*.py"):
        try:
            stamps[one] = one.stat().st_mtime_ns
        except FileNotFoundError:
            continue
    return stamps


def _check_name(pack: Pack, old: Pack) -> None:
    if pack.name != old.name:
        raise SettingsError(f"The pack was called '{old.name}' and is now called '{pack.name}': restart the server.")
