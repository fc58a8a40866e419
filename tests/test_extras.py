"""Extras that are not installed: everything else works, and a sentence says what to install."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dogubako import Effect, tool
from dogubako.app import Toolbox
from dogubako.engine.discovery import Discovery
from dogubako.engine.registration import RegisterOptions
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened
from tests.doors.processes import PATIENCE, WORKBENCH
from tests.gate.guarded import guarded_box

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# The modules of the packages of all extras that are imported by us.
MODULES = (
    *("numpy", "Stemmer", "selectolax", "lxml", "protego", "pypdf", "uvloop"),
    *("matplotlib", "openpyxl", "PIL", "docx", "yaml", "opentelemetry.sdk", "redis", "jamdict_data"),
    *("docket", "cloudpickle"),
)
_RUN = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
from dogubako.__main__ import main
main()
"""


def _without_extras(folder: Path, *words: str, **settings: str) -> tuple[int, str]:
    """The exit code and all output of a command where no extra is installed."""
    command = [sys.executable, "-c", _RUN, ",".join(MODULES), *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **settings}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("tools", "list"), 0, "The web pack needs the extra web. Install it: pip install 'dogubako[web]'."),
        (("tools", "search", "issues"), 1, "Tool search needs an extra: pip install 'dogubako[search]'."),
        (("tools", "call", "web_search", "query=x", "--sandbox"), 1, "pip install 'dogubako[web]'"),
        (("tools", "call", "list_issues", "--sandbox"), 0, "<issues"),
        (("tools", "call", "search_tools", "query=x"), 1, "pip install 'dogubako[search]'"),
        (("tools", "call", "echo", "text=hello", "--tools", str(WORKBENCH)), 0, "hello"),
        (("doctor",), None, "web: The web pack needs the extra web. Install it: pip install 'dogubako[web]'."),
        (("tools", "call", "start_task", "name=echo"), 1, "pip install 'dogubako[tasks]'"),
        (("worker",), 2, "it needs DOGUBAKO_SHARED"),
        (("demo", "--play"), 2, "pip install 'dogubako[standard]'"),
    ],
    ids=lambda value: " ".join(map(str, value[:3])) if isinstance(value, tuple) else "",
)
def test_a_command_works_or_says_what_to_install(
    tmp_path: Path, words: tuple[str, ...], code: int | None, said: str
) -> None:
    ended, text = _without_extras(tmp_path, *words)

    assert "Traceback" not in text
    assert said in " ".join(text.split())
    assert code in (ended, None)


@pytest.mark.slow
def test_discovery_by_search_says_what_to_install(tmp_path: Path) -> None:
    ended, text = _without_extras(tmp_path, "serve", DOGUBAKO_DISCOVERY="search")

    assert (ended, text.strip()) == (
        2,
        "dogubako: DOGUBAKO_DISCOVERY=search: Tool search needs an extra: pip install 'dogubako[search]'.",
    )


def test_every_extra_that_a_text_names_exists() -> None:
    texts = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("README*.md")]
    named = {
        extra
        for path in texts
        for found in re.findall(r"dogubako\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }

    assert {"web", "search", "standard"} <= named
    assert named - EXTRAS.keys() == set()


def test_the_standard_extra_is_complete() -> None:
    """Packages that the core had are in it, and the locks of `make` have them."""
    makefile = (ROOT / "Makefile").read_text()

    assert EXTRAS["standard"] == ["dogubako[fast,search,web]"]
    assert makefile.count("--extra standard ") == 2


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    monkeypatch.setattr("dogubako.engine.search.search.can_search", lambda: False)
    return guarded_box(tmp_path, DOGUBAKO_AUTH="off")


async def test_search_over_rest_says_what_to_install(box: Toolbox) -> None:
    async with opened(HttpApp(box)) as client:
        answer = await client.post("/v1/tools/search", {"query": "write"})
        listed = await client.get("/v1/tools")

    assert (answer.status, answer.json["code"]) == (403, "TOOL_DISABLED")
    assert answer.json["hint"] == "Tool search needs an extra: pip install 'dogubako[search]'."
    assert listed.status == 200


def test_many_tools_are_listed_by_name_where_they_cannot_be_searched(box: Toolbox) -> None:
    async def act(text: str = "") -> str:
        return text

    act.__doc__ = "Do one of very many things, and say so in a sentence of ordinary length."
    for number in range(300):
        made = tool(name=f"number_{number}", effect=Effect.READ)(act)
        box.registry.register(made, RegisterOptions(pack="bulk", proven=True))
    entries = box.registry.list()

    assert Discovery("auto").shown(entries) == "search"
    assert Discovery("auto", can_search=False).shown(entries) == "light"


# Python writes bytecode beside a source, which takes about twice its room.
_WITH_BYTECODE = 3
_BLOCK = 4096


def _megabytes(extras: Sequence[str]) -> float:
    """The room on a disk of `pip install dogubako[extras]`: ours and all that it needs, without pip itself."""
    wanted = [*PROJECT["dependencies"], *(one for extra in extras for one in EXTRAS[extra])]
    names: set[str] = set()
    while wanted:
        one = Requirement(wanted.pop())
        if (name := canonicalize_name(one.name)) not in names:
            names.add(name)
        for line in requires(name) or ():
            needed = Requirement(line)
            applies = needed.marker is None or any(needed.marker.evaluate({"extra": of}) for of in ("", *one.extras))
            if applies and canonicalize_name(needed.name) not in names:
                wanted.append(line)
    files = [Path(str(path.locate())) for name in names for path in distribution(name).files or ()]
    ours = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    rooms = [-(-path.stat().st_size // _BLOCK) * _BLOCK for path in files if path.is_file()]
    own = [path.stat().st_size * (_WITH_BYTECODE if path.suffix == ".py" else 1) + _BLOCK for path in ours]
    return (sum(rooms) + sum(own)) / 2**20


@pytest.mark.parametrize(("extras", "most"), [((), 92), (("search",), 172)])
def test_an_installation_stays_small(extras: tuple[str, ...], most: int) -> None:
    assert _megabytes(extras) <= most
