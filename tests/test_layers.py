"""Imports point one way, files stay short, and no module is called after nothing."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dogubako"
PUBLIC = "the public page"

# Who may import whom. The drawing is in CONTRIBUTING.md:
#   contract ← response ← engine ← transports ← app ← cli
#   contract ← response, outbound ← packs ←──── app
# A new module or folder has to be entered here before it may import anything.
MAY_IMPORT: dict[str, set[str]] = {
    "contract": set(),
    "response": {"contract"},
    "engine": {"contract", "response"},
    "settings": {"contract"},
    "process_memory": set(),
    "outbound": {"contract", "settings", "process_memory"},
    "append_file": set(),
    "gate": {"contract", "response", "engine", "settings", "outbound", "late", "soon", "append_file", "ending"},
    "packs": {"contract", "response", "outbound"},
    "loading": {"contract", "packs", "settings"},
    "log_lines": {"contract", "response"},
    "log_file": {"append_file"},
    "log_floods": {"log_lines"},
    "logs": {"contract", "ending", "log_file", "log_floods", "log_lines", "settings", "soon"},
    "late": set(),
    "soon": set(),
    "sandbox": {"late"},
    "ending": set(),
    "signals": {"append_file"},
    "plain_structlog": set(),
    PUBLIC: {"contract", "response", "plain_structlog"},
    "transports": {PUBLIC, "contract", "response", "engine", "gate", "settings", "late", "ending", "signals"},
    "app": {"contract", "response", "engine", "gate", "outbound", "packs", "loading", "late", "settings", "sandbox"},
    "worker_sharing": {"settings"},
    "graceful_server": {"ending", "signals"},
    "supervisor": {"signals"},
    "worker": {
        "contract",
        "engine",
        "transports",
        "app",
        "settings",
        "logs",
        "ending",
        "process_memory",
        "signals",
        "graceful_server",
        "supervisor",
        "worker_sharing",
    },
    "serving": {
        "contract",
        "transports",
        "app",
        "settings",
        "process_memory",
        "graceful_server",
        "supervisor",
        "worker",
    },
    "cli": {
        PUBLIC,
        "contract",
        "engine",
        "gate",
        "transports",
        "app",
        "settings",
        "logs",
        "late",
        "ending",
        "serving",
        "worker_sharing",
    },
    "__main__": {"cli", "signals"},
}

NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
LONGEST_FILE = 400


def python_files(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts
    )


def unit_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return PUBLIC if first == "__init__.py" else first.removesuffix(".py")


def unit_named(module: str) -> str:
    """The unit that a dotted name belongs to; `from dogubako import tool` is a visit to the public page."""
    parts = module.split(".")
    known = len(parts) > 1 and ((SOURCE / parts[1]).is_dir() or (SOURCE / f"{parts[1]}.py").is_file())
    return parts[1] if known else PUBLIC


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "dogubako")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            if (node.module or "").split(".")[0] == "dogubako":
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def loaded(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """`late.load("dogubako.serving")` opens a door late; it is an import all the same."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("load", "import_module"):
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            yield from ((name, node.lineno) for name in names if name.startswith("dogubako."))


def own_imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module of ours that a file names."""
    yield from imported(tree)
    yield from loaded(tree)


def test_imports_point_one_way() -> None:
    wrong = []
    for path in python_files("src"):
        unit = unit_of(path)
        for module, line in own_imports(ast.parse(path.read_text())):
            other = unit_named(module)
            if other != unit and other not in MAY_IMPORT[unit]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {unit} must not import {other} ({module})")

    assert wrong == []


def test_every_module_has_its_place_in_the_table_and_the_table_has_no_circle() -> None:
    assert {unit_of(path) for path in python_files("src")} == set(MAY_IMPORT)
    order = list(TopologicalSorter(MAY_IMPORT).static_order())
    assert order.index("contract") < order.index("response") < order.index("engine") < order.index("transports")
    assert order.index("packs") < order.index("app") < order.index("cli")


def test_engine_and_packs_never_meet() -> None:
    def reached(unit: str) -> set[str]:
        return MAY_IMPORT[unit].union(*(reached(other) for other in MAY_IMPORT[unit]))

    assert "packs" not in reached("engine") | reached("transports")
    assert "engine" not in reached("packs")
    assert reached("contract") == set()


def test_no_pack_imports_another() -> None:
    wrong = []
    for path in python_files("src/dogubako/packs"):
        home = path.relative_to(SOURCE / "packs").parts
        for module, line in own_imports(ast.parse(path.read_text())) if len(home) > 1 else ():
            parts = module.split(".")
            if parts[1] == "packs" and parts[2] != home[0]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {module}")

    assert wrong == []


def test_our_own_imports_stand_at_the_top() -> None:
    wrong = []
    for path in python_files("src"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                hidden = imported(ast.Module(node.body, []))
                wrong += [f"{path.relative_to(ROOT)}:{line}: {node.name} imports {module}" for module, line in hidden]

    assert wrong == []


def test_only_one_module_loads_by_name() -> None:
    users = [path.name for path in python_files("src") if "import_module" in path.read_text()]

    assert users == ["late.py"]


def test_no_file_is_longer_than_a_thought() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in python_files("src", "tests", "scripts", "bench", "examples")
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_module_is_called_after_nothing() -> None:
    assert [str(path) for path in python_files("src", "tests", "scripts") if path.stem in NAMES_THAT_SAY_NOTHING] == []


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        pytest.param("from dogubako.engine.registry import X", ["dogubako.engine.registry.X"], id="from a module"),
        pytest.param("import dogubako.logs as l", ["dogubako.logs"], id="a module"),
        pytest.param("from dogubako import logs", ["dogubako.logs"], id="from the package"),
        pytest.param("def f():\n    from dogubako.app import build", ["dogubako.app.build"], id="inside a function"),
        pytest.param("load('dogubako.serving').serve()", ["dogubako.serving"], id="by its name"),
        pytest.param("import dogubakoland", [], id="somebody else"),
    ],
)
def test_this_test_sees_every_way_to_import(source: str, modules: list[str]) -> None:
    assert [module for module, _ in own_imports(ast.parse(source))] == modules


def test_this_test_tells_a_module_from_a_name() -> None:
    assert (unit_named("dogubako.logs"), unit_named("dogubako.tool"), unit_named("dogubako")) == (
        "logs",
        PUBLIC,
        PUBLIC,
    )
    assert unit_named("dogubako.engine.registry.ToolRegistry") == "engine"
