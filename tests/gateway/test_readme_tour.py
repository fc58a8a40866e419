"""The tour with two servers, in both languages, as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ["README.md", "README.ja.md"]
_SECONDS = 300


def tour(readme: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    [block] = re.findall(r"^```text\n((?:\$ .*dogubako .*\n)+)```", text, re.MULTILINE)
    return [line.removeprefix("$ ") for line in block.strip().split("\n")]


def test_both_tours_have_the_same_commands() -> None:
    assert tour(READMES[0]) == tour(READMES[1])


@pytest.mark.real_servers
def test_the_tour_with_two_servers_works_as_printed(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / "note.txt").write_text("hello\n")
    # uv is among the tools of this project, but a newcomer has it elsewhere.
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DOGUBAKO")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DOGUBAKO_DATA_DIR": str(tmp_path / "data"),
    }
    said = [
        subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=settings,
            check=True,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        ).stdout
        for command in tour(READMES[0])
    ]

    assert "get_current_time" in said[0]
    assert "files is in the box: 14 tools." in said[1]
    assert said[2].splitlines()[1].startswith("list_directory")
    assert "[FILE] note.txt" in said[3]
    assert "Asia/Tokyo" in said[4]
