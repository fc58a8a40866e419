"""The house keeps its shape: imports point one way, files stay small, nothing is hidden."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dogubako"
MODULES = sorted(SOURCE.rglob("*.py"))

# Who may import whom. `settings` is read by everyone above the engine; `late` opens doors; `ending` is how they close.
ALLOWED = {
    "contract": set(),
    "response": {"contract"},
    "engine": {"contract", "response"},
    "settings": {"contract"},
    "logs": {"contract", "response", "settings"},
    "outbound": {"contract", "response", "settings"},
    "packs": {"contract", "response", "outbound"},
    "late": set(),
    "transports": {"contract", "response", "engine", "settings", "late", "__init__"},
    "loading": {"contract", "packs", "settings"},
    "app": {"contract", "response", "engine", "outbound", "settings", "loading"},
    "ending": set(),
    "serving": {"app", "settings", "transports", "ending"},
    "worker_sharing": {"settings"},
    "worker": {"app", "contract", "logs", "transports", "worker_sharing"},
    "cli": {
        "app", "contract", "engine", "settings", "logs", "late", "transports", "worker_sharing", "ending", "__init__",
    },
    "__init__": {"contract", "response"},
    "__main__": {"cli"},
}  # fmt: skip


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _imports(path: Path) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dogubako":
            names = [node.module or ""] if node.module != "dogubako" else [f"dogubako.{one.name}" for one in node.names]
            for name in names:
                is_module = (SOURCE / f"{_room(name)}.py").exists() or (SOURCE / _room(name)).is_dir()
                yield node, name if is_module else "dogubako"
        elif isinstance(node, ast.Import):
            yield from ((node, one.name) for one in node.names if one.name.split(".")[0] == "dogubako")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    room = relative.parts[0] if len(relative.parts) > 1 else path.stem

    used = {_room(name) for _, name in _imports(path)} - {room}

    assert used <= ALLOWED[room], f"{relative} must not import {sorted(used - ALLOWED[room])}"


def test_no_room_is_reached_from_what_it_uses() -> None:
    for room, used in ALLOWED.items():
        for other in used:
            assert room not in ALLOWED[other], f"{room} and {other} import each other"


def test_no_pack_imports_another_pack() -> None:
    packs = {path.name for path in (SOURCE / "packs").iterdir() if path.is_dir() and path.name != "__pycache__"}
    for path in (SOURCE / "packs").rglob("*/*.py"):
        own = path.relative_to(SOURCE / "packs").parts[0]
        for _, name in _imports(path):
            parts = name.split(".")
            assert not (parts[1] == "packs" and len(parts) > 2 and parts[2] in packs - {own}), path


def test_our_own_modules_are_imported_at_the_top() -> None:
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                hidden = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
                assert not [one for one in hidden if "dogubako" in ast.unparse(one)], f"{path}: {node.name}"


def test_only_one_module_loads_our_own_late() -> None:
    users = [path.name for path in MODULES if "import_module" in path.read_text(encoding="utf-8")]

    assert users == ["late.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_has_more_than_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [path for path in MODULES if path.stem in ("utils", "util", "helpers", "helper", "common", "misc")]
