"""The documentation and the examples use the public API alone, in code and in prose."""

import ast
import re
from pathlib import Path
from textwrap import dedent

import pytest

from dogubako.loading import ENTRY_POINT_GROUP
from scripts.public_api import MODULES, SOURCE, public_names

ROOT = SOURCE.parent
PAGES = ["README.md", "README.ja.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_DOTTED = re.compile(r"\bdogubako(?:\.[a-z_]+)+")


def private_imports(code: str) -> list[str]:
    """The imports of modules and names of ours that are not public."""
    wrong = []
    for node in ast.walk(ast.parse(dedent(code))):
        if isinstance(node, ast.Import):
            wrong += [one.name for one in node.names if _ours(one.name) and one.name not in MODULES]
        elif isinstance(node, ast.ImportFrom) and _ours(node.module or ""):
            names = [f"{node.module}.{one.name}" for one in node.names]
            wrong += [one for one in names if one not in MODULES and not _is_public(one)]
    return wrong


def _ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in ("dogubako", "dogubako_sandbox")


def _is_public(dotted: str) -> bool:
    module, _, name = dotted.rpartition(".")
    return module in MODULES and name in public_names(module)


def private_modules(text: str) -> list[str]:
    """The modules of ours that a text names and that are not public."""
    return [name for name in _DOTTED.findall(text) if _is_module(name) and name not in MODULES]


def _is_module(dotted: str) -> bool:
    path = SOURCE / dotted.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_imports_the_public_api_alone(page: str) -> None:
    blocks = _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))

    assert [name for block in blocks for name in private_imports(block)] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_public_modules_alone(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")

    assert [name for name in private_modules(text) if name != ENTRY_POINT_GROUP] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_the_public_api_alone(path: Path) -> None:
    assert private_imports(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        pytest.param("from dogubako import tool, errors", [], id="public names"),
        pytest.param("from dogubako.output import Json", [], id="a public module"),
        pytest.param("from dogubako import app", ["dogubako.app"], id="a module through the package"),
        pytest.param("import dogubako.engine.pipeline", ["dogubako.engine.pipeline"], id="a private module"),
        pytest.param("from dogubako.testing import build", ["dogubako.testing.build"], id="a name that leaked"),
        pytest.param("from dogubako_sandbox import services", ["dogubako_sandbox.services"], id="the sandbox"),
    ],
)
def test_this_test_sees_every_way_to_import(code: str, wrong: list[str]) -> None:
    assert private_imports(code) == wrong
