"""Whether something could be written into a folder: found out by doing it, with nothing left behind."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from dogubako.gate.files import why_not_writable


def everything_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("name", [".", "not there yet", "not/there/yet"])
def test_a_folder_that_is_there_or_can_be_made_is_fine_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    assert why_not_writable(tmp_path / name) is None
    assert everything_in(tmp_path) == []


def test_a_folder_is_looked_for_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert why_not_writable(Path("logs")) is None


BAD_PLACES = [
    pytest.param("/proc/x", "No such file or directory", id="where only the system makes files"),
    pytest.param("file", "Not a directory", id="a file"),
    pytest.param("file/data", "Not a directory", id="through a file"),
    pytest.param("link", "No such file or directory", id="a link to nowhere"),
    pytest.param("link/data", "No such file or directory", id="through a link to nowhere"),
]


@pytest.mark.parametrize(("name", "trouble"), BAD_PLACES)
def test_what_cannot_be_written_says_why(tmp_path: Path, name: str, trouble: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = everything_in(tmp_path)

    assert why_not_writable(tmp_path / name) == trouble
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    ("blocks", "trouble"),
    [pytest.param(2, "less than 1 MB is free on its disk", id="too few"), pytest.param(3, None, id="just enough")],
)
def test_a_disk_without_room_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, trouble: str | None
) -> None:
    monkeypatch.setattr(os, "fstatvfs", lambda handle: SimpleNamespace(f_bavail=blocks, f_frsize=400_000))

    assert why_not_writable(tmp_path) == trouble
