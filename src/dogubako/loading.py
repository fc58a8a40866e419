"""Find packs: the built-in ones, those of installed packages, and files with tools of one's own."""

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dogubako.contract.pack import Pack, ToolPack
from dogubako.contract.tool import BaseTool
from dogubako.packs import PACKS
from dogubako.packs.core.pack import CORE
from dogubako.settings import SettingsError

ENTRY_POINT_GROUP = "dogubako.packs"


def find_packs(wanted: Sequence[str], files: Iterable[Path]) -> list[Pack[Any, Any]]:
    """The packs to serve. Files are always served: somebody named them one by one."""
    known = _by_name([*PACKS, *installed_packs()])
    for name in wanted:
        if name not in known:
            raise SettingsError(f"Unknown pack '{name}'. Known packs: {', '.join(sorted(known)) or 'none'}.")
    chosen = [pack for name, pack in known.items() if not wanted or name in wanted or pack is CORE]
    own = [load_file(path) for path in files]
    for pack in own:
        pack.pinned = True
    return list(_by_name([*chosen, *own]).values())


def installed_packs() -> list[Pack[Any, Any]]:
    """Packs that other packages announce under the entry point `dogubako.packs`."""
    packs = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda one: one.name):
        pack = point.load()
        if not isinstance(pack, Pack):
            raise SettingsError(f"Entry point {point.name} of {ENTRY_POINT_GROUP} is not a Pack.")
        packs.append(pack)
    return packs


def load_file(path: Path) -> Pack[Any, Any]:
    """The `PACK` of a Python file, or its `TOOLS`, or every tool that it defines, in order."""
    if not path.is_file():
        raise SettingsError(f"Tools file not found: {path}")
    module = _import(path)
    pack = getattr(module, "PACK", None)
    if isinstance(pack, Pack):
        return pack
    tools = getattr(module, "TOOLS", None) or _tools_in(module)
    if not tools:
        raise SettingsError(f"{path} has no tools. Decorate a function with @tool from dogubako.")
    for one in tools:
        if not (isinstance(one, BaseTool) or (isinstance(one, type) and issubclass(one, BaseTool))):
            raise SettingsError(f"{path}: TOOLS holds {getattr(one, '__name__', one)!r}, which is not a tool.")
    return ToolPack(path.stem, tuple(tools))


def _by_name(packs: Iterable[Pack[Any, Any]]) -> dict[str, Pack[Any, Any]]:
    """Two packs of one name stop the start: one of them would have lost its settings and its client."""
    named: dict[str, Pack[Any, Any]] = {}
    for pack in packs:
        if pack.name in named:
            raise SettingsError(f"Two packs are called '{pack.name}'. Rename one of them (or its file).")
        named[pack.name] = pack
    return named


def _import(path: Path) -> ModuleType:
    name = f"dogubako_tools_{path.stem}"
    # A search location makes the file a package: `from .forms import Name` finds its neighbour, and nobody else does.
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent.resolve())])
    if spec is None or spec.loader is None:
        raise SettingsError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    # Type hints of the file's functions are looked up by module name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{path} could not be loaded: {type(error).__name__}: {error}") from error
    return module


def _tools_in(module: ModuleType) -> list[Any]:
    return [value for value in vars(module).values() if isinstance(value, BaseTool)]
