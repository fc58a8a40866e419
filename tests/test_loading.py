"""Tools of one's own: files and installed packages."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.loading import find_packs, installed_packs, load_file
from dogubako.settings import SettingsError
from dogubako.tools import ToolPack

HELLO = '''
from dogubako import tool
from dogubako.tools import ToolPack

@tool
async def hello(name: str) -> str:
    """Greet."""
    return name

@tool
async def bye(name: str) -> str:
    """Part."""
    return name
'''


def _file(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _names(pack: Any) -> list[str]:
    return [tool.name for tool in pack.tools]


def test_a_file_brings_every_tool_that_it_defines_in_order(tmp_path: Path) -> None:
    pack = load_file(_file(tmp_path, HELLO))

    assert pack.name == "mine"
    assert _names(pack) == ["hello", "bye"]


def test_a_file_may_choose_with_a_list(tmp_path: Path) -> None:
    pack = load_file(_file(tmp_path, HELLO + "\nTOOLS = (bye,)\n"))

    assert _names(pack) == ["bye"]


def test_a_file_may_bring_a_whole_pack(tmp_path: Path) -> None:
    pack = load_file(_file(tmp_path, HELLO + "\nPACK = ToolPack('greetings', (hello,))\n"))

    assert pack.name == "greetings"
    assert _names(pack) == ["hello"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("x = 1\n", "has no tools. Decorate a function with @tool from dogubako.", id="no tools"),
        pytest.param("def broken(:\n", "could not be loaded: SyntaxError", id="a syntax error"),
        pytest.param("raise RuntimeError('no')\n", "could not be loaded: RuntimeError: no", id="an exception"),
        pytest.param("import sys; sys.exit(3)\n", "could not be loaded: SystemExit: 3", id="an exit"),
        pytest.param(
            "from dogubako import tool\n@tool\nasync def bad(text) -> str:\n    'x'\n    return text\n",
            "could not be loaded: TypeError: bad: parameter text needs a type",
            id="a tool without types",
        ),
        pytest.param(
            "def hello() -> str: ...\nTOOLS = (hello,)\n", "TOOLS holds 'hello', which is not a tool", id="no tool"
        ),
        pytest.param("TOOLS = (5,)\n", "TOOLS holds 5, which is not a tool", id="a number"),
        pytest.param("TOOLS = 5\n", "TOOLS must be a list or a tuple", id="no list"),
        pytest.param("PACK = 5\n", "PACK is not an instance of a Pack", id="no pack"),
        pytest.param(
            "from dogubako import tool\n@tool\nclass Bad:\n    'x'\n",
            "could not be loaded: TypeError: Bad: @tool decorates a function",
            id="a class",
        ),
        pytest.param(
            "from dogubako import tool\n@tool(effect='delete')\nasync def bad() -> str:\n    'x'\n    return ''\n",
            "could not be loaded: ValueError: effect must be 'read', 'write' or 'destroy', not 'delete'",
            id="an unknown effect",
        ),
        pytest.param(
            f"{HELLO}OBSERVERS = [print]\n",
            "OBSERVERS holds 'print', which is not an instance of a CallObserver",
            id="no observer",
        ),
        pytest.param(
            f"{HELLO}from dogubako.tools import CallObserver\nOBSERVERS = [CallObserver]\n",
            "OBSERVERS holds 'CallObserver', which is not an instance of a CallObserver",
            id="the class of an observer",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_file(_file(tmp_path, text))

    assert sentence in str(caught.value)


def test_a_file_that_is_not_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"tools\.txt is not a Python file"):
        load_file(_file(tmp_path, "hello", "tools.txt"))


def test_a_list_may_hold_classes(tmp_path: Path) -> None:
    text = """
from dogubako.tools import BaseTool, NoArgs

class Wave(BaseTool[NoArgs]):
    \"\"\"Wave.\"\"\"
    name = "wave"
    async def execute(self, args: NoArgs) -> str:
        return "wave"

TOOLS = (Wave,)
"""

    assert _names(load_file(_file(tmp_path, text))) == ["wave"]


def test_two_packs_of_one_name_stop_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    twins = [_file(tmp_path, HELLO), _file(tmp_path / "other", HELLO)]
    with pytest.raises(SettingsError, match="Two packs are called 'mine'"):
        find_packs((), twins)
    with pytest.raises(SettingsError, match="Two packs are called 'core'"):
        find_packs((), [_file(tmp_path, HELLO, "core.py")])

    _announce(monkeypatch, tmp_path, f"{__name__}:CORE_TWIN")
    with pytest.raises(SettingsError, match="Two packs are called 'core'"):
        find_packs((), ())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"Tools file not found: .*nowhere\.py"):
        load_file(tmp_path / "nowhere.py")


SHELF = ToolPack("shelf", ())
CORE_TWIN = ToolPack("core", ())


def _announce(monkeypatch: pytest.MonkeyPatch, folder: Path, target: str) -> None:
    """Install the metadata of a package."""
    info = folder / "shelf-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[console_scripts]\nshelf = shelf:main\n\n[dogubako.packs]\nshelf = {target}\n"
    )
    monkeypatch.syspath_prepend(folder)


def test_an_installed_package_announces_its_pack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _announce(monkeypatch, tmp_path, f"{__name__}:SHELF")

    assert installed_packs() == [SHELF]
    assert SHELF in [found.pack for found in find_packs((), ())]


def test_an_entry_point_that_is_no_pack_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _announce(monkeypatch, tmp_path, f"{__name__}:HELLO")

    with pytest.raises(SettingsError, match=r"Entry point shelf of dogubako\.packs is not a Pack"):
        installed_packs()


def test_packs_are_chosen_by_name_and_the_core_is_always_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _announce(monkeypatch, tmp_path, f"{__name__}:SHELF")

    assert [found.pack.name for found in find_packs(("shelf",), ())] == ["core", "shelf"]
    with pytest.raises(SettingsError, match=r"Unknown pack 'shelv'\. Known packs: core, n8n, redmine, shelf, web\."):
        find_packs(("shelv",), ())
