"""Workflows in files, below the folders that the operator opened."""

from typing import Any, Final

import msgspec

from dogubako.outbound.folders import OpenFolders, wrong_path

_LARGEST: Final = 10 * 1024 * 1024


class WorkflowFiles:
    """Reads exported workflows."""

    def __init__(self, folders: OpenFolders) -> None:
        self._folders = folders

    async def read(self, path: str) -> dict[str, Any]:
        """The JSON object in the file, or a ValidationError that says what is wrong with it."""
        body = await self._folders.read(path, _LARGEST)
        try:
            found = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise wrong_path("the file is not valid JSON") from error
        if not isinstance(found, dict) or not isinstance(found.get("nodes"), list):
            raise wrong_path("the file holds no workflow: it has no nodes")
        for part in ("connections", "settings"):
            if not isinstance(found.get(part), dict | None):
                raise wrong_path(f"the file holds no workflow: its {part} are no object")
        return found
