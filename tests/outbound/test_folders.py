"""Open folders: files below them are read and written, and nothing else is touched."""

import os
import sys
from pathlib import Path
from typing import Final

import anyio
import pytest

from dogubako.contract.errors import ValidationError
from dogubako.outbound.allowed_folders import OpenFolders

MUCH: Final = 1_000_000
OUTSIDE: Final = "it is outside of the folders in DOGUBAKO_FILES"
MISSING: Final = "there is no such file"
TAKEN: Final = "there is such a file already, and nothing is overwritten"
# Since then `Path.resolve` does not complain about links in a circle.
CIRCLES_RESOLVE: Final = sys.version_info >= (3, 13)


@pytest.fixture
def folders(tmp_path: Path) -> OpenFolders:
    """Two open folders, one closed, and links of every kind."""
    for name in ("open", "also", "closed", "open-too"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    (tmp_path / "also" / "only.txt").write_text("only here")
    (tmp_path / "open" / "deep").mkdir()
    (tmp_path / "open" / "out.txt").symlink_to(tmp_path / "closed" / "a.txt")
    (tmp_path / "open" / "out").symlink_to(tmp_path / "closed")
    (tmp_path / "open" / "nowhere.txt").symlink_to(tmp_path / "closed" / "new.txt")
    (tmp_path / "open" / "across.txt").symlink_to(tmp_path / "also" / "a.txt")
    (tmp_path / "open" / "inside.txt").symlink_to(tmp_path / "open" / "fresh.txt")
    (tmp_path / "open" / "circle").symlink_to(tmp_path / "open" / "circle")
    return OpenFolders([tmp_path / "open", tmp_path / "also"])


def everything_in(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        pytest.param("a.txt", "open", id="the first folder goes first"),
        pytest.param("only.txt", "only here", id="in the second folder"),
        pytest.param("deep/../a.txt", "open", id="down and up again"),
        pytest.param("across.txt", "also", id="a link into another open folder"),
        pytest.param("{folder}/also/a.txt", "also", id="a whole path"),
    ],
)
async def test_a_file_below_an_open_folder_is_read(
    folders: OpenFolders, tmp_path: Path, path: str, content: str
) -> None:
    assert await folders.read(path.format(folder=tmp_path), MUCH) == content.encode()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("../closed/a.txt", OUTSIDE, id="up and away"),
        pytest.param("{folder}/closed/a.txt", OUTSIDE, id="a whole path elsewhere"),
        pytest.param("{folder}/open-too/a.txt", OUTSIDE, id="a name that begins like an open one"),
        pytest.param("out.txt", MISSING, id="a link to a file outside"),
        pytest.param("out/a.txt", MISSING, id="a link to a folder outside"),
        pytest.param("gone.txt", MISSING, id="not there"),
        pytest.param("deep", MISSING, id="a folder"),
        pytest.param(".", MISSING, id="the open folder itself"),
        pytest.param("a.txt/more", MISSING, id="below a file"),
        pytest.param("~/a.txt", MISSING, id="a home is no folder"),
        pytest.param("a\0b", "it is no path", id="a zero byte"),
        pytest.param("x" * 300, "it is no path", id="a name too long"),
        pytest.param("circle", MISSING if CIRCLES_RESOLVE else "it is no path", id="links in a circle"),
    ],
)
async def test_no_other_file_is_read(folders: OpenFolders, tmp_path: Path, path: str, reason: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await folders.read(path.format(folder=tmp_path), MUCH, parameter="source")

    assert caught.value.message == f"Invalid value for parameter source: {reason}"
    assert [one.field for one in caught.value.errors] == ["source"]


@pytest.mark.parametrize(("largest", "allowed"), [(4, True), (3, False)])
async def test_a_file_is_read_up_to_a_size(folders: OpenFolders, largest: int, allowed: bool) -> None:
    if allowed:
        assert await folders.read("a.txt", largest) == b"open"
        return
    with pytest.raises(ValidationError, match="the file is larger than 3 bytes"):
        await folders.read("a.txt", largest)


async def test_a_pipe_is_no_file(folders: OpenFolders, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "open" / "pipe")

    with anyio.fail_after(5), pytest.raises(ValidationError, match=MISSING):
        await folders.read("pipe", MUCH)


async def test_where_no_folder_is_open_the_setting_is_named(tmp_path: Path) -> None:
    shut = OpenFolders([])

    with pytest.raises(ValidationError, match="DOGUBAKO_FILES"):
        await shut.read("a.txt", MUCH)
    with pytest.raises(ValidationError, match="DOGUBAKO_FILES"):
        await shut.save(str(tmp_path / "a.txt"), b"x")
    assert everything_in(tmp_path) == {}


@pytest.mark.parametrize(
    ("path", "where"),
    [
        pytest.param("new.txt", "open/new.txt", id="the first folder"),
        pytest.param("deep/new.txt", "open/deep/new.txt", id="deeper"),
        pytest.param("{folder}/also/new.txt", "also/new.txt", id="a whole path"),
        pytest.param("inside.txt", "open/fresh.txt", id="through a link inside"),
        pytest.param("only.txt", "open/only.txt", id="a name that another folder has"),
    ],
)
async def test_a_new_file_is_written_below_an_open_folder(
    folders: OpenFolders, tmp_path: Path, path: str, where: str
) -> None:
    before = everything_in(tmp_path)
    saved = await folders.save(path.format(folder=tmp_path), b"new")

    assert saved == tmp_path / where
    assert saved.read_bytes() == b"new"
    assert {name: text for name, text in everything_in(tmp_path).items() if text != "new"} == before


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("a.txt", TAKEN, id="a file is there"),
        pytest.param("deep", TAKEN, id="a folder is there"),
        pytest.param("across.txt", TAKEN, id="a link to a file inside"),
        pytest.param("../closed/new.txt", OUTSIDE, id="up and away"),
        pytest.param("{folder}/closed/new.txt", OUTSIDE, id="a whole path elsewhere"),
        pytest.param("none/new.txt", "the file cannot be written (No such file or directory)", id="no such folder"),
        pytest.param("a\0b", "it is no path", id="a zero byte"),
        pytest.param("circle", TAKEN if CIRCLES_RESOLVE else "it is no path", id="links in a circle"),
    ],
)
async def test_nothing_is_overwritten_and_nothing_written_elsewhere(
    folders: OpenFolders, tmp_path: Path, path: str, reason: str
) -> None:
    before = everything_in(tmp_path)
    with pytest.raises(ValidationError) as caught:
        await folders.save(path.format(folder=tmp_path), b"new", parameter="save_to")

    assert caught.value.message == f"Invalid value for parameter save_to: {reason}"
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("path", ["out/new.txt", "out.txt", "nowhere.txt"])
async def test_a_link_does_not_lead_a_new_file_outside(folders: OpenFolders, tmp_path: Path, path: str) -> None:
    # The second open folder has no such link, so the name is free there.
    before = everything_in(tmp_path / "closed")
    try:
        saved = await folders.save(path, b"new")
    except ValidationError as error:
        assert error.message.startswith("Invalid value for parameter path: ")
    else:
        assert saved.is_relative_to(tmp_path / "also")
    assert everything_in(tmp_path / "closed") == before


async def test_of_several_who_write_at_once_one_succeeds(tmp_path: Path) -> None:
    folders, outcomes = OpenFolders([tmp_path]), list[str]()

    async def save(content: bytes) -> None:
        try:
            await folders.save("one.txt", content)
        except ValidationError as error:
            outcomes.append(error.message)
        else:
            outcomes.append(content.decode())

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(save, str(number).encode() * 1_000)

    [written] = [one for one in outcomes if not one.startswith("Invalid")]
    assert everything_in(tmp_path) == {"one.txt": written}


async def test_an_open_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("real")
    (tmp_path / "alias").symlink_to(tmp_path / "real")

    assert await OpenFolders([tmp_path / "alias"]).read("a.txt", MUCH) == b"real"


def names_below(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.rglob("*"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param(".", "it is a folder", id="the folder itself"),
        pytest.param("there.txt/new.txt", "the file cannot be written", id="below a file"),
    ],
)
async def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    opened = tmp_path / "open"
    opened.mkdir()
    (opened / "there.txt").write_text("old")

    with pytest.raises(ValidationError, match=reason):
        await OpenFolders([opened]).save(path, b"new")

    assert names_below(tmp_path) == ["open", "there.txt"]
