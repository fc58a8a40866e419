"""Every example of the documentation works: files are served, tested and typed strictly, commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PATIENCE = 240
_CONFTEST = 'import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return "asyncio"\n'

# Lines of shell blocks that are not run, and why.
NOT_RUN = {
    "N8N_URL=https://n8n.example.com": "a setting in .env, and not a command",
    "N8N_API_KEY=...": "a setting in .env, and not a command",
    "REDMINE_URL=https://redmine.example.com": "a setting in .env, and not a command",
    "REDMINE_API_KEY=...": "a setting in .env, and not a command",
    'mv dogubako.log dogubako.log.1 && kill -HUP "$PID_OF_THE_SERVER"': "tests/test_log_file.py moves the file",
    "DOGUBAKO_AUTH=keys dogubako serve": "tests/test_readme.py runs it, with a port of its own",
}


class Block(NamedTuple):
    """A fenced block: its language, the file that it is to be saved as, and its text."""

    language: str
    file: str
    text: str


def blocks_of(page: str) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))]


def files_of(page: str) -> dict[str, str]:
    return {block.file: block.text for block in blocks_of(page) if block.file}


def lines_of(page: str) -> list[str]:
    """The lines of the page's shell blocks."""
    blocks = [block.text for block in blocks_of(page) if block.language in ("sh", "bash", "console")]
    return [line for text in blocks for line in text.strip().split("\n")]


def commands_of(page: str) -> list[str]:
    return [line for line in lines_of(page) if line not in NOT_RUN]


def write_files(page: str, folder: Path) -> list[str]:
    """Save the files of a page, and return the names of those that a server can load."""
    files = {"conftest.py": _CONFTEST, **files_of(page)}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [name for name in files if re.fullmatch(r"(?!test_|conftest)\w+\.py", name)]


def run(command: list[str], folder: Path, settings: dict[str, str] | None = None) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DOGUBAKO", "PYTEST"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**inherited, **(settings or {})},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if files_of(page)])
def test_the_files_of_a_page_work(page: str, tmp_path: Path) -> None:
    loaded = "".join(
        f"async def test_{name.removesuffix('.py')}_is_served() -> None:\n"
        f"    async with client({name!r}) as box:\n        assert len(box.tools()) > 4\n\n"
        for name in write_files(page, tmp_path)
    )
    head = "import pytest\n\nfrom dogubako.testing import client\n\npytestmark = pytest.mark.anyio\n\n"
    (tmp_path / "test_files_are_served.py").write_text(head + loaded)
    tests = sorted(path.name for path in tmp_path.glob("test_*.py"))

    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=.", *tests], tmp_path)


@pytest.mark.slow
def test_a_package_of_tools_is_typed_strictly(tmp_path: Path) -> None:
    names = [name for page in PAGES for name in write_files(page, tmp_path)]

    run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", *sorted(names)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
def test_the_commands_of_a_page_work(page: str, tmp_path: Path) -> None:
    write_files(page, tmp_path)
    settings = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "DOGUBAKO_DATA_DIR": str(tmp_path / "data"),
        # Nothing is downloaded: what a build needs is installed already.
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    answers = []
    for command in commands_of(page):
        answers.append(run(["bash", "-c", command], tmp_path, settings))
        if command.startswith("python -m venv "):
            _install_dogubako(tmp_path / command.split()[-1])

    if page == "tutorial.md":
        assert '"notes":1' in answers[-2].replace(" ", "")
        assert "notes" in answers[-1] and "/tmp can be read" in answers[-1]


def _install_dogubako(environment: Path) -> None:
    """Make the packages of this environment importable in another one, as an installation would."""
    [packages] = environment.glob("lib/python*/site-packages")
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "dogubako_under_test.pth").write_text(f"import site; site.addsitedir({ours!r})\n")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_python_is_a_file_that_is_run(page: str) -> None:
    assert [block.text for block in blocks_of(page) if block.language == "python" and not block.file] == []


def test_every_line_that_is_not_run_is_still_there() -> None:
    lines = {line for page in PAGES for line in lines_of(page)}

    assert set(NOT_RUN) <= lines


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_the_readmes_have_no_block_that_their_own_test_does_not_know(page: str) -> None:
    """tests/test_readme.py runs the blocks of these languages."""
    languages = re.findall(r"^```(\S+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)

    assert set(languages) <= {"sh", "python", "json", "text"}
