"""Find packs: built-in ones, those of installed packages, and Python files with tools."""

import importlib.util
import sys
import traceback
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import msgspec

from dogubako.contract.injection import Lifespan
from dogubako.contract.pack import Host, NoSettings, Pack, ToolPack
from dogubako.contract.resources import Prompt, Resource, ResourceTemplate
from dogubako.contract.tool import BaseTool
from dogubako.packs import PACKS
from dogubako.packs.core.pack import CORE
from dogubako.settings import SettingsError

ENTRY_POINT_GROUP = "dogubako.packs"

_OBSERVER_METHODS = ("started", "progressed", "ended")

ItemT = TypeVar("ItemT")


class FilePack(Pack[NoSettings, Any]):
    """The tools, resources and prompts of one Python file, and its lifespan."""

    # A bulkhead protects a service. A file has none, so its tools run as many at once as callers call.
    max_running = None

    def __init__(self, path: Path, module: ModuleType) -> None:
        self.name = path.stem
        self.path = path
        self.tools = _listed(path, module, "TOOLS") or _all_in(module, BaseTool)
        self.resources = _all_in(module, Resource)
        self.resource_templates = _all_in(module, ResourceTemplate)
        self.prompts = _all_in(module, Prompt)
        self.observers = _listed(path, module, "OBSERVERS")
        self._lifespan = _only_lifespan(path, module)

    @asynccontextmanager
    async def connect(self, settings: NoSettings, host: Host) -> AsyncIterator[Any]:
        if self._lifespan is None:
            yield None
            return
        async with self._lifespan.open() as client:
            yield client


class FoundPack(msgspec.Struct, frozen=True, kw_only=True):
    """A pack to serve. `file` is the Python file that defines it, if any."""

    pack: Pack[Any, Any]
    file: Path | None = None


def find_packs(wanted: Sequence[str], files: Iterable[Path]) -> list[FoundPack]:
    """The packs to serve. Files are always served, because the user named them."""
    known = _by_name([*PACKS, *installed_packs()])
    for name in wanted:
        if name not in known:
            raise SettingsError(f"Unknown pack '{name}'. Known packs: {', '.join(sorted(known)) or 'none'}.")
    chosen = [pack for name, pack in known.items() if not wanted or name in wanted or pack is CORE]
    own = [FoundPack(pack=load_file(path), file=path) for path in files]
    _by_name([*chosen, *(found.pack for found in own)])
    return [*(FoundPack(pack=pack) for pack in chosen), *own]


# What `Toolbox.open` accepts: a file, a pack, or a tool.
ToolSource = str | Path | Pack[Any, Any] | BaseTool[Any, Any]


def found_in(sources: Iterable[ToolSource]) -> list[FoundPack]:
    """The packs of files, packs and single tools; all single tools form one pack."""
    packs: list[FoundPack] = []
    single: list[BaseTool[Any, Any]] = []
    for source in sources:
        if isinstance(source, BaseTool):
            single.append(source)
        elif isinstance(source, Pack):
            packs.append(FoundPack(pack=source))
        else:
            packs.append(FoundPack(pack=load_file(Path(source)), file=Path(source)))
    return [*packs, FoundPack(pack=ToolPack("tools", tuple(single)))] if single else packs


def installed_packs() -> list[Pack[Any, Any]]:
    """Packs that other packages declare as entry points `dogubako.packs`."""
    packs = []
    for point in sorted(_declared(), key=lambda one: one.name):
        pack = point.load()
        if not isinstance(pack, Pack):
            raise SettingsError(f"Entry point {point.name} of {ENTRY_POINT_GROUP} is not a Pack.")
        packs.append(pack)
    return packs


def _declared() -> Iterable[EntryPoint]:
    """The entry points of packs. Most servers have none, and looking for the group is faster than parsing all files."""
    texts = (one.read_text("entry_points.txt") for one in distributions())
    return entry_points(group=ENTRY_POINT_GROUP) if any(ENTRY_POINT_GROUP in (text or "") for text in texts) else ()


def load_file(path: Path) -> Pack[Any, Any]:
    """The `PACK` of a Python file, or a pack of everything that the file defines."""
    if not path.is_file():
        raise SettingsError(f"Tools file not found: {path}")
    if path.suffix != ".py":
        raise SettingsError(f"{path} is not a Python file.")
    module = _import(path)
    pack = getattr(module, "PACK", None)
    if isinstance(pack, Pack):
        return pack
    if pack is not None:
        raise SettingsError(f"{path}: PACK is not an instance of a Pack.")
    made = FilePack(path, module)
    if not (made.tools or made.resources or made.resource_templates or made.prompts):
        raise SettingsError(f"{path} has no tools. Decorate a function with @tool from dogubako.")
    for one in made.tools:
        if not (isinstance(one, BaseTool) or (isinstance(one, type) and issubclass(one, BaseTool))):
            raise SettingsError(f"{path}: TOOLS holds {getattr(one, '__name__', one)!r}, which is not a tool.")
    for observer in made.observers:
        if isinstance(observer, type) or not all(hasattr(observer, name) for name in _OBSERVER_METHODS):
            wrong = getattr(observer, "__name__", type(observer).__name__)
            raise SettingsError(f"{path}: OBSERVERS holds '{wrong}', which is not an instance of a CallObserver.")
    return made


def _by_name(packs: Iterable[Pack[Any, Any]]) -> dict[str, Pack[Any, Any]]:
    """Packs by name. Two packs of one name are an error: they would share settings and client."""
    named: dict[str, Pack[Any, Any]] = {}
    for pack in packs:
        if pack.name in named:
            raise SettingsError(f"Two packs are called '{pack.name}'. Rename one of them (or its file).")
        named[pack.name] = pack
    return named


class _SourceLoader(SourceFileLoader):
    """Reads the source every time: Python's cache misses a second save within a second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _import(path: Path) -> ModuleType:
    name = f"dogubako_tools_{path.stem}"
    # A search location makes the file a package, so that `from .forms import Name` works.
    spec = importlib.util.spec_from_file_location(
        name,
        path,
        loader=_SourceLoader(name, str(path)),
        submodule_search_locations=[str(path.parent.resolve())],
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A reload also reloads the modules beside the file.
    for loaded in [one for one in sys.modules if one.startswith(f"{name}.")]:
        del sys.modules[loaded]
    # Type hints of the file's functions are resolved by module name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        where = place_of(path, error)
        raise SettingsError(f"{where} could not be loaded: {type(error).__name__}: {error}") from error
    return module


def place_of(path: Path, error: BaseException) -> str:
    """The file and its last line in the traceback."""
    if isinstance(error, SyntaxError) and error.lineno and error.filename == str(path):
        return f"{path}, line {error.lineno},"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path or Path(frame.filename) == path.resolve()]
    return f"{path}, line {lines[-1]}," if lines else str(path)


def line_of(tool: BaseTool[Any, Any]) -> str:
    """The file and the line in which a tool is defined, as far as Python knows them."""
    code = getattr(getattr(tool, "function", type(tool).execute), "__code__", None)
    return f"{code.co_filename}, line {code.co_firstlineno}" if code is not None else type(tool).__module__


def _all_in(module: ModuleType, kind: type[ItemT]) -> tuple[ItemT, ...]:
    """The objects of this type in the file, in order and without duplicates."""
    return tuple({id(value): value for value in vars(module).values() if isinstance(value, kind)}.values())


def _listed(path: Path, module: ModuleType, name: str) -> tuple[Any, ...]:
    """The list or tuple of this name in the file; empty without one."""
    listed = getattr(module, name, ())
    if not isinstance(listed, list | tuple):
        raise SettingsError(f"{path}: {name} must be a list or a tuple.")
    return tuple(listed)


def _only_lifespan(path: Path, module: ModuleType) -> Lifespan | None:
    lifespans = _all_in(module, Lifespan)
    if len(lifespans) > 1:
        raise SettingsError(f"{path} has {len(lifespans)} lifespans. One opens everything that its tools share.")
    return lifespans[0] if lifespans else None
