"""How a command line reaches the worker processes that it starts."""

import json
import os
from pathlib import Path
from typing import Any

from dogubako.settings import Sources

_VARIABLE = "_DOGUBAKO_COMMAND_LINE"


def share(overrides: dict[str, Any], config_file: Path | None) -> None:
    """Leave what the command line said for the workers."""
    os.environ[_VARIABLE] = json.dumps({"overrides": overrides, "config": config_file}, default=_plain)


def shared_sources() -> Sources:
    """What the command line of our parent said."""
    said = json.loads(os.environ.get(_VARIABLE, "{}"))
    config = said.get("config")
    return Sources(overrides=said.get("overrides"), config_file=Path(config) if config else None)


def _plain(value: Any) -> Any:
    return [str(item) for item in value] if isinstance(value, tuple | list) else str(value)
