"""Imports point one way, files stay short, and no module is called after nothing."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dogubako"
PACKAGES = ("dogubako", "dogubako_sandbox")
SANDBOX = "dogubako_sandbox"
PUBLIC = "the public page"

# Who may import whom. The drawing is in CONTRIBUTING.md:
#   contract ← response ← engine ← gate ← transports ← server ← cli
#   contract ← outbound ← packs ← loading ← app ← server ← cli
# A new module or folder has to be entered here before it may import anything.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "_lazy": set(),
    "_timers": set(),
    "_tasks": set(),
    "_runner": set(),
    "append_file": set(),
    "process_memory": set(),
    "signals": {"append_file"},
    "contract": set(),
    "response": {"contract"},
    "engine": {"contract", "response", "_lazy", "_timers", "_tasks"},
    "settings_checks": {"contract"},
    "settings_model": {"contract", "settings_checks"},
    "settings": {"contract", "settings_checks", "settings_model"},
    "settings_view": {"contract", "settings"},
    "key_ring": {"settings"},
    "outbound": {"contract", "key_ring", "settings", "process_memory"},
    "gate": {
        "contract",
        "response",
        "engine",
        "key_ring",
        "settings",
        "outbound",
        "append_file",
        "otlp",
        "_lazy",
        "_timers",
        "_runner",
    },
    "tasks": {"contract", "engine", "key_ring", "outbound", "settings", "_lazy"},
    "packs": {"contract", "response", "outbound", "_lazy"},
    "gateway": {
        "contract",
        "pack_state",
        "response",
        "engine",
        "gate",
        "outbound",
        "settings",
        "process_memory",
        "_lazy",
        "_runner",
        "_timers",
        "_version",
    },
    "openapi": {"contract", "gateway", "outbound", "settings", "_lazy"},
    "loading": {"contract", "packs", "settings"},
    "log_lines": {"contract", "response"},
    "logs": {"contract", "append_file", "log_lines", "settings", "_timers", "_runner"},
    SANDBOX: {"_lazy"},
    PUBLIC: {"contract", "response", "app", "_lazy", "_version"},
    "errors": {"contract"},
    "output": {"contract"},
    "tools": {"contract"},
    "reload": {"contract", "engine", "loading", "app", "settings"},
    "testing": {"contract", "response", "loading", "app", "settings"},
    "transports": {
        "contract",
        "response",
        "engine",
        "gate",
        "key_ring",
        "settings",
        "settings_view",
        "signals",
        "tasks",
        "_lazy",
        "_runner",
        "_timers",
        "_tasks",
        "_version",
    },
    "pack_state": {"contract", "loading", "outbound", "settings", "settings_view", SANDBOX},
    "pack_admission": {"contract", "engine", "gateway", "loading", "pack_state", "packs", "settings"},
    "pack_connections": {"contract", "loading", "pack_state", "settings"},
    "pack_host": {"contract", "engine", "outbound", "pack_state", "settings", "_lazy"},
    "sharing": {"contract", "engine", "gate", "outbound", "settings", "tasks", "_lazy"},
    "otlp": {"_version"},
    "telemetry": {"contract", "engine", "otlp", "_version"},
    "app": {
        "contract",
        "response",
        "engine",
        "gate",
        "gateway",
        "openapi",
        "outbound",
        "packs",
        "loading",
        "pack_admission",
        "pack_connections",
        "pack_host",
        "pack_state",
        "settings",
        "settings_view",
        "sharing",
        "tasks",
        "telemetry",
        "_lazy",
        SANDBOX,
    },
    "supervisor": {"signals"},
    "listening": {"settings"},
    "server": {
        "listening",
        "contract",
        "engine",
        "transports",
        "app",
        "settings",
        "logs",
        "process_memory",
        "signals",
        "supervisor",
        "_runner",
    },
    "cli": {
        "loading",
        PUBLIC,
        "contract",
        "response",
        "engine",
        "gate",
        "gateway",
        "openapi",
        "transports",
        "packs",
        "app",
        "pack_state",
        "settings",
        "settings_view",
        "logs",
        "process_memory",
        "reload",
        "server",
        "_lazy",
        "_runner",
        "_version",
    },
    "__main__": {"cli", "signals"},
}

NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
LONGEST_FILE = 400
SMALL_FILE = 60
# Small modules with one importer that are modules of their own all the same, and why.
SMALL_MODULES = {
    "dogubako.__main__": "Python runs it by this name",
    "dogubako.output": "public API",
    "dogubako.outbound.shared_parts": "loaded with DOGUBAKO_SHARED only, and its importer is not",
    "dogubako.outbound.documents.pdf": "one file per kind of document; it is found by its name",
    "dogubako.packs.web.pack": "every pack has its pack.py",
    "dogubako.transports.console.views.tasks": "one file for each page of the console",
}
# One entry for each handler.
BROAD_EXCEPTS = [
    "dogubako/contract/tool.py",
    "dogubako/engine/catalog.py",
    "dogubako/engine/pipeline.py",
    "dogubako/engine/pipeline.py",
    "dogubako/gate/jwks.py",
    "dogubako/gateway/keeper.py",
    "dogubako/gateway/owned_upstream.py",
    "dogubako/gateway/stdio_link.py",
    "dogubako/loading.py",
    "dogubako/pack_connections.py",
    "dogubako/reload.py",
    "dogubako/tasks/queue.py",
    "dogubako/transports/http/app.py",
    "dogubako/transports/http/at_once.py",
    "dogubako/transports/mcp/auth.py",
    "dogubako/transports/mcp/server.py",
]


def python_files(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts
    )


def unit_of(path: Path) -> str:
    package, first = path.relative_to(ROOT / "src").parts[:2]
    if package == SANDBOX:
        return SANDBOX
    return PUBLIC if first == "__init__.py" else first.removesuffix(".py")


def unit_named(module: str) -> str:
    """The unit that a dotted name belongs to; `from dogubako import tool` is a visit to the public page."""
    parts = module.split(".")
    if parts[0] == SANDBOX:
        return SANDBOX
    known = len(parts) > 1 and ((SOURCE / parts[1]).is_dir() or (SOURCE / f"{parts[1]}.py").is_file())
    return parts[1] if known else PUBLIC


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] in PACKAGES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            if (node.module or "").split(".")[0] in PACKAGES:
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def loaded(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """`late.load("dogubako.server")` opens a door late; it is an import all the same."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("load", "import_module"):
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            yield from ((name, node.lineno) for name in names if name.split(".")[0] in PACKAGES)


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

    assert users == ["_lazy.py"]


def test_broad_excepts_exist_at_edges_alone() -> None:
    """CONTRIBUTING.md describes these edges."""
    found = [
        str(path.relative_to(ROOT / "src"))
        for path in python_files("src")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or "Exception" in _names(node.type))
    ]

    assert sorted(found) == BROAD_EXCEPTS


def _names(node: ast.expr) -> set[str]:
    """The names of caught exceptions; `BaseException` counts as `Exception`."""
    return {one.id.removeprefix("Base") for one in ast.walk(node) if isinstance(one, ast.Name)}


def test_the_drawing_of_layers_is_true() -> None:
    drawn = re.findall(r"^  contract ←.*$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    pairs = {pair for line in drawn for pair in pairwise(line.strip().split(" ← "))}

    assert len(drawn) == 2
    assert [(lower, upper) for lower, upper in pairs if lower not in MAY_IMPORT[upper]] == []
    assert [(lower, upper) for lower, upper in pairs if upper in MAY_IMPORT[lower]] == []


def test_the_tree_of_the_contributing_page_names_what_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = page[page.index("src/dogubako/\n") : page.index("src/dogubako_sandbox/ ")]

    assert [name for name in re.findall(r"\w+\.py", tree) if not (SOURCE / name).is_file()] == []
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(re.findall(r"^[├└]── (\w+)/", tree, re.MULTILINE))


def test_no_file_is_longer_than_a_thought() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in python_files("src", "tests", "scripts", "bench", "examples")
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def importers_of_modules() -> dict[str, set[str]]:
    """Each module of ours that is not a package, and the modules that import it."""
    modules = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts): path for path in python_files("src")}
    importers: dict[str, set[str]] = {name: set() for name in modules if not name.endswith(".__init__")}
    for name, path in modules.items():
        for module, _ in own_imports(ast.parse(path.read_text())):
            for target in (module, module.rpartition(".")[0]):
                if target in importers and target != name:
                    importers[target].add(name)
    return importers


def test_a_small_module_with_one_importer_lives_in_its_importer() -> None:
    importers = importers_of_modules()
    lengths = {
        name: len((ROOT / "src" / f"{name.replace('.', '/')}.py").read_text().splitlines()) for name in importers
    }
    lonely = {name for name in importers if len(importers[name]) < 2 and lengths[name] < SMALL_FILE}

    assert {name: importers[name] for name in lonely - set(SMALL_MODULES)} == {}
    assert set(SMALL_MODULES) - lonely == set(), "these are exceptions no longer"


def test_no_module_is_called_after_nothing() -> None:
    assert [str(path) for path in python_files("src", "tests", "scripts") if path.stem in NAMES_THAT_SAY_NOTHING] == []


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        pytest.param("from dogubako.engine.registry import X", ["dogubako.engine.registry.X"], id="from a module"),
        pytest.param("import dogubako.logs as l", ["dogubako.logs"], id="a module"),
        pytest.param("from dogubako import logs", ["dogubako.logs"], id="from the package"),
        pytest.param("def f():\n    from dogubako.app import build", ["dogubako.app.build"], id="inside a function"),
        pytest.param("load('dogubako.server').serve()", ["dogubako.server"], id="by its name"),
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
