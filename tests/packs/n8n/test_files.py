"""Workflows from files: only below the folders that an operator opened."""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from dogubako.outbound.bounds import Bound
from tests.sandbox.n8n_client import body_of, workflow_id

from .wired import bench, told

DRAFT: Final = workflow_id("r-manual")
WORKFLOW: Final = json.dumps({**body_of("r-manual", name="From a file"), "id": "exported", "active": True, "tags": []})
OUTSIDE: Final = "it is outside of the folders in DOGUBAKO_FILES"
MISSING: Final = "there is no such file"


def furnish(folder: Path) -> str:
    """Two open folders and closed ones beside them; the setting that opens the two."""
    for name in ("open", "also", "closed", "open-too"):
        (folder / name).mkdir()
        (folder / name / "w.json").write_text(WORKFLOW)
    (folder / "open" / "deep").mkdir()
    (folder / "open" / "deep" / "x.json").write_text(WORKFLOW)
    (folder / "open" / "out.json").symlink_to(folder / "closed" / "w.json")
    (folder / "open" / "out").symlink_to(folder / "closed")
    (folder / "open" / "across.json").symlink_to(folder / "also" / "w.json")
    return f"{folder / 'open'}, {folder / 'also'}"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("w.json", id="beside"),
        pytest.param("deep/x.json", id="deeper"),
        pytest.param("deep/../w.json", id="down and up again"),
        pytest.param("across.json", id="a link into another open folder"),
        pytest.param("{folder}/also/w.json", id="a whole path"),
    ],
)
async def test_a_workflow_is_made_from_a_file_in_an_open_folder(tmp_path: Path, path: str) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as n8n:
        made = await n8n.data("create_workflow_from_file", path=path.format(folder=tmp_path), name="Mine")

        shown = await n8n.data("get_workflow", id=made["id"])
        assert (made["differences"], shown["name"]) == ([], "Mine")


async def test_tags_of_a_file_are_set_where_n8n_has_them_and_the_others_are_named(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as n8n:
        await n8n.data("set_workflow_tags", id=DRAFT, tags=["本番"], createMissing=True)
        file = tmp_path / "open" / "w.json"
        tags = [{"id": "7", "name": "本番"}, {"name": "未知"}, "plain", None, {"name": 5}, {"name": "本番"}]
        file.write_text(json.dumps({**json.loads(file.read_text()), "tags": tags}))

        made = await n8n.data("create_workflow_from_file", path="w.json")

        shown = await n8n.data("get_workflow", id=made["id"])
        assert (shown["tags"], made["missingTags"]) == (["本番"], ["未知", "plain"])


async def test_a_file_replaces_a_workflow_and_leaves_a_backup(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as n8n:
        changed = await n8n.data("replace_workflow_from_file", id=DRAFT, path="w.json")

        assert (changed["id"], changed["name"], changed["differences"]) == (DRAFT, "From a file", [])
        await n8n.data("restore_workflow", id=DRAFT, backup=changed["backup"])
        assert (await n8n.data("get_workflow", id=DRAFT))["name"] == "R manual"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("../closed/w.json", OUTSIDE, id="up and away"),
        pytest.param("deep/../../closed/w.json", OUTSIDE, id="down, up and away"),
        pytest.param("{folder}/closed/w.json", OUTSIDE, id="a whole path elsewhere"),
        pytest.param("{folder}/open-too/w.json", OUTSIDE, id="a name that begins like an open one"),
        pytest.param("out.json", MISSING, id="a link to a file outside"),
        pytest.param("out/w.json", MISSING, id="a link to a folder outside"),
        pytest.param("/etc/passwd", OUTSIDE, id="of the system"),
        pytest.param("~/w.json", MISSING, id="a home is no folder"),
        pytest.param("gone.json", MISSING, id="not there"),
        pytest.param("deep", MISSING, id="a folder"),
        pytest.param(".", MISSING, id="the open folder itself"),
        pytest.param("w.json/more", MISSING, id="below a file"),
        pytest.param("a\0b", "it is no path", id="a zero byte"),
        pytest.param("x" * 300, "it is no path", id="a name too long"),
    ],
)
async def test_no_other_file_is_read(tmp_path: Path, path: str, reason: str) -> None:
    async with bench(tmp_path, DOGUBAKO_FILES=furnish(tmp_path)) as n8n:
        for tool, more in {"create_workflow_from_file": {}, "replace_workflow_from_file": {"id": DRAFT}}.items():
            result = await n8n.call(tool, path=path.format(folder=tmp_path), **more)

            assert told(result) == ("VALIDATION_ERROR", f"Invalid value for parameter path: {reason}")
        assert n8n.wire.writes() == []


async def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        code, _ = told(await n8n.call("create_workflow_from_file", path="a"))

    assert code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "the file is not valid JSON", id="empty"),
        pytest.param(b"{'nodes': []}", "the file is not valid JSON", id="not JSON"),
        pytest.param(b'{"nodes": "\xff"}', "the file is not valid JSON", id="not text"),
        pytest.param(b"[" * 100_000, "the file is not valid JSON", id="nested without end"),
        pytest.param(b"[]", "the file holds no workflow: it has no nodes", id="a list"),
        pytest.param(b"{}", "the file holds no workflow: it has no nodes", id="no nodes"),
        pytest.param(b'{"nodes": 5}', "the file holds no workflow: it has no nodes", id="a number of nodes"),
        pytest.param(b'{"nodes": null}', "the file holds no workflow: it has no nodes", id="nothing as nodes"),
        pytest.param(b" " * 2_000, "the file is larger than 1,000 bytes", id="too large"),
    ],
)
async def test_a_file_that_is_no_workflow_is_refused(
    tmp_path: Path, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason.endswith("bytes"):
        monkeypatch.setattr("dogubako.packs.n8n.client._LARGEST", Bound(most_bytes=1_000))
    (tmp_path / "w.json").write_bytes(content)
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        result = await n8n.call("create_workflow_from_file", path="w.json")

        assert told(result) == ("VALIDATION_ERROR", f"Invalid value for parameter path: {reason}")
        assert n8n.wire.requests == []


@pytest.mark.parametrize("odd", [{"settings": []}, {"settings": 5}, {"connections": []}, {"name": 5}, {"nodes": ["x"]}])
async def test_parts_of_a_wrong_kind_are_refused_with_a_reason(tmp_path: Path, odd: dict[str, Any]) -> None:
    (tmp_path / "w.json").write_text(json.dumps({**json.loads(WORKFLOW), **odd}))
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        for tool, more in {"create_workflow_from_file": {}, "replace_workflow_from_file": {"id": DRAFT}}.items():
            code, text = told(await n8n.call(tool, path="w.json", **more))
            assert code in ("API_ERROR", "VALIDATION_ERROR")
            assert next(iter(odd)) in text


async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        _, text = told(await n8n.call("create_workflow_from_file", path="pipe"))

    assert text == f"Invalid value for parameter path: {MISSING}"


async def test_without_an_open_folder_the_setting_is_named(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        code, text = told(await n8n.call("create_workflow_from_file", path="w.json"))

    assert code == "VALIDATION_ERROR"
    assert "DOGUBAKO_FILES" in text


async def test_a_link_out_of_the_only_open_folder_is_refused(tmp_path: Path) -> None:
    furnish(tmp_path)
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path / "open")) as n8n:
        for path in ("out.json", "out/w.json", "out/gone.json", "across.json"):
            _, text = told(await n8n.call("create_workflow_from_file", path=path))
            assert text == f"Invalid value for parameter path: {OUTSIDE}", "and not whether it is there"
