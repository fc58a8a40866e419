"""Toolboxes on the sandbox's web, and how their answers are read."""

import re
from pathlib import Path
from typing import Any, Final

from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolResult
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources

from .in_process import WEB_IN_PROCESS

_HIT: Final = re.compile(r"^(\d+)\. \[.*\]\(<(.*)>\)$", re.MULTILINE)


def sandbox(folder: Path, **settings: Any) -> Toolbox:
    """A toolbox on a fresh sandbox, in a hurry: nobody there minds being asked often."""
    environ = {"DOGUBAKO_SANDBOX": "true", "DOGUBAKO_DATA_DIR": str(folder)}
    box = build(Sources(environ=environ, env_file=None), packs=[CORE, WEB_IN_PROCESS])
    state = box.packs["web"]
    state.instances[""].settings = state.settings.model_copy(update={"searches_per_second": 50.0, **settings})
    return box


def text_of(result: ToolResult) -> str:
    """The text of an answer that has to be a success."""
    assert not result.is_error, result.content
    return str(result.content[0]["text"])


def hits_in(text: str) -> list[tuple[int, str]]:
    """Number and address of every result."""
    return [(int(number), url) for number, url in _HIT.findall(text)]


def urls_in(text: str) -> list[str]:
    return [url for _, url in hits_in(text)]
