"""Commands about settings and health: what is wrong is one sentence, with the exit code that says whose fault it is."""

from pathlib import Path
from typing import Any

import pytest

from dogubako import __version__

from .processes import HERE, WORKBENCH
from .shell import dogubako

_CLOSED = HERE / "closed_pack.py"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


BAD_SETTINGS: list[Any] = [
    pytest.param({"PORT": "many"}, "Invalid setting: PORT", id="a word for a port"),
    pytest.param({"LOG_LEVEL": "loud"}, "Invalid setting: LOG_LEVEL", id="an unknown level"),
    pytest.param(
        {"DOGUBAKO_REED_ONLY": "true"},
        "Unknown setting DOGUBAKO_REED_ONLY. Did you mean DOGUBAKO_READ_ONLY?",
        id="misspelt",
    ),
    pytest.param({"DOGUBAKO_PACKS": "nothing"}, "Unknown pack 'nothing'.", id="an unknown pack"),
    pytest.param({"DOGUBAKO_REQUEST_STATE_KEY": "short"}, "must have at least 32 characters", id="a short key"),
]


@pytest.mark.parametrize(("settings", "sentence"), BAD_SETTINGS)
@pytest.mark.parametrize("command", [["tools", "list"], ["config"], ["doctor"], ["stdio"], ["serve"]], ids=" ".join)
def test_a_wrong_setting_stops_every_command_with_one_sentence(
    command: list[str], settings: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    said = dogubako(*command, folder=tmp_path, settings=settings)
    *before, last = said.err.splitlines()

    assert (said.code, said.out) == (2, "")
    assert last.startswith("dogubako: ") and sentence in last
    assert all("No log file" in line for line in before)


FILES: list[Any] = [
    pytest.param("tools.py", "def broken(:\n", "could not be loaded: SyntaxError", id="a syntax error"),
    pytest.param("tools.py", "raise SystemExit(9)\n", "could not be loaded: SystemExit", id="an exit"),
    pytest.param("tools.py", "x = 1\n", "has no tools. Decorate a function with @tool", id="no tools"),
    pytest.param(
        "tools.py",
        "from dogubako import tool\n@tool\nasync def Bad() -> str:\n    'x'\n    return ''\n",
        "Tool name",
        id="a bad name",
    ),
    pytest.param(
        "tools.py",
        "from dogubako import tool\n@tool\nasync def nameless() -> str:\n    return ''\n",
        "Tool description is required",
        id="no description",
    ),
]


@pytest.mark.parametrize(("name", "content", "sentence"), FILES)
def test_a_bad_tools_file_is_named(name: str, content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    said = dogubako("tools", "list", folder=tmp_path, tools=(tmp_path / name,))

    assert said.code == 2 and sentence in said.err and "Traceback" not in said.err


def test_the_same_tool_twice_stops_the_start(tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text(WORKBENCH.read_text())
    said = dogubako("tools", "list", folder=tmp_path, tools=(WORKBENCH, copy))
    missing = dogubako("tools", "list", folder=tmp_path, tools=(tmp_path / "nowhere.py",))

    assert said.code == 2 and "is already registered" in said.err
    assert missing.code == 2 and missing.err == f"dogubako: Tools file not found: {tmp_path / 'nowhere.py'}\n"


def test_the_settings_in_force_are_shown_with_their_origin_won(tmp_path: Path) -> None:
    (tmp_path / "dogubako.toml").write_text('port = 1111\nlang = "ja"\nread_only = true\n')
    (tmp_path / ".env").write_text("PORT=2222\nDOGUBAKO_LANG=en\n")
    said = dogubako("config", "--json", folder=tmp_path, settings={"PORT": "3333"}).json["dogubako"]

    assert (said["port"], said["lang"], said["read_only"]) == (3333, "en", True)


def test_the_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    sick = tmp_path / "sick.py"
    sick.write_text(_SICK)
    well = dogubako("doctor", folder=tmp_path, tools=(WORKBENCH, _CLOSED))
    ill = dogubako("doctor", folder=tmp_path, tools=(sick,))
    document = dogubako("doctor", "--json", folder=tmp_path, tools=(sick,))

    assert well.code == 0 and "ok      tools: " in well.out
    assert "warning closed: The closed service is not configured. Set CLOSED_URL." in well.out
    assert ill.code == 1 and "error   sick: The key was refused. Make a new one." in ill.out
    assert {"ok", "subject", "message", "advice", "severity"} == document.json[-1].keys()


_SICK = '''
from dogubako import Pack, tool
from dogubako.tools import HealthCheck

@tool
async def sneeze() -> str:
    """Sneeze."""
    return "achoo"

class Sick(Pack):
    name = "sick"
    tools = (sneeze,)

    async def check(self, settings, client):
        return [HealthCheck(ok=False, subject="sick", message="The key was refused.", advice="Make a new one.")]

PACK = Sick()
'''


def test_version_and_help(tmp_path: Path) -> None:
    version = dogubako("--version", folder=tmp_path, tools=())
    wrong = dogubako("brew", folder=tmp_path, tools=())

    assert version.out == f"{__version__}\n"
    assert wrong.code == 2 and "No such command 'brew'" in wrong.err
    for words in ([], ["serve"], ["stdio"], ["tools"], ["tools", "call"], ["doctor"], ["config"], ["connect"]):
        said = dogubako(*words, "--help", folder=tmp_path, tools=())
        assert said.code == 0 and "Usage:" in said.out
