"""What is overwritten or deleted is kept first, and can be brought back."""

import stat
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest

from dogubako.packs.n8n.backups import KEPT, Backups
from tests.sandbox.n8n_client import body_of, workflow_id

from .wired import Answers, Bench, bench, told

DRAFT: Final = workflow_id("r-manual")
OTHER: Final = workflow_id("o-no-trigger")


async def rename(n8n: Bench, name: str, workflow: str = DRAFT) -> str:
    """The id of the backup that the change left."""
    return str((await n8n.data("update_workflow", id=workflow, name=name))["backup"])


async def name_of(n8n: Bench, workflow: str = DRAFT) -> str:
    return str((await n8n.data("get_workflow", id=workflow))["name"])


async def backups(n8n: Bench, **which: str) -> list[dict[str, Any]]:
    return list((await n8n.data("list_workflow_backups", **which))["backups"])


async def test_the_newest_are_kept_and_listed_first(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        made = [await rename(n8n, f"Name {number}") for number in range(KEPT + 3)]
        await rename(n8n, "Another", OTHER)

        kept = await backups(n8n, id=DRAFT)
        assert [one["backup"] for one in kept] == made[: -KEPT - 1 : -1]
        assert [one["name"] for one in kept[:2]] == [f"Name {KEPT + 1}", f"Name {KEPT}"]
        assert {one["reason"] for one in kept} == {"before update_workflow"}
        assert [one["workflowId"] for one in await backups(n8n)].count(OTHER) == 1


async def test_a_backup_is_brought_back_by_its_id_or_the_newest_without(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        first = await rename(n8n, "One")
        await rename(n8n, "Two")

        await n8n.data("restore_workflow", id=DRAFT)
        assert await name_of(n8n) == "One"
        told_back = await n8n.data("restore_workflow", id=DRAFT, backup=first)
        assert await name_of(n8n) == body_of("r-manual")["name"]
        assert (told_back["restoredFrom"], told_back["differences"]) == (first, [])
        await n8n.data("restore_workflow", id=DRAFT, backup=told_back["backup"])
        assert await name_of(n8n) == "One"


async def test_the_oldest_can_be_brought_back_although_its_place_is_needed(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        made = [await rename(n8n, f"Name {number}") for number in range(KEPT)]
        await n8n.data("restore_workflow", id=DRAFT, backup=made[0])

        assert await name_of(n8n) == body_of("r-manual")["name"]
        assert len(await backups(n8n, id=DRAFT)) == KEPT


async def test_a_deleted_workflow_comes_back_under_a_new_id(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        await n8n.data("set_workflow_tags", id=DRAFT, tags=["keep"], createMissing=True)
        before = await n8n.data("get_workflow", id=DRAFT, raw=True)
        await n8n.data("delete_workflow", id=DRAFT, confirm=True)
        restored = await n8n.data("restore_workflow", id=DRAFT)

        after = await n8n.data("get_workflow", id=restored["newId"], raw=True)
        assert restored["newId"] == restored["id"] != DRAFT
        assert restored["differences"] == []
        assert [tag["name"] for tag in after["tags"]] == ["keep"]
        for part in ("name", "nodes", "connections", "settings"):
            assert after[part] == before[part], part


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"id": DRAFT}, f"A backup of workflow '{DRAFT}' not found", id="none was made"),
        pytest.param(
            {"id": DRAFT, "backup": "20260101T000000000Z-00000000"},
            f"Backup '20260101T000000000Z-00000000' of workflow '{DRAFT}' not found",
            id="no such backup",
        ),
        pytest.param(
            {"id": DRAFT, "backup": "../../secret"},
            f"Backup '../../secret' of workflow '{DRAFT}' not found",
            id="an id that is a path",
        ),
    ],
)
async def test_a_backup_that_is_not_there_is_named(tmp_path: Path, arguments: dict[str, str], message: str) -> None:
    async with bench(tmp_path) as n8n:
        result = await n8n.call("restore_workflow", **arguments)

        assert told(result) == ("NOT_FOUND", message)
        assert "list_workflow_backups" in str(result.content[1]["text"])
        assert n8n.wire.requests == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("update_workflow", {"id": DRAFT, "name": "x"}, id="update"),
        pytest.param("delete_workflow", {"id": DRAFT, "confirm": True}, id="delete"),
        pytest.param("replace_workflow_from_file", {"id": DRAFT, "path": "w.json"}, id="replace"),
    ],
)
async def test_where_nothing_can_be_kept_nothing_is_changed(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    (tmp_path / "w.json").write_text('{"nodes": [], "connections": {}}')
    async with bench(tmp_path, DOGUBAKO_FILES=str(tmp_path)) as n8n:
        result = await n8n.call(tool, **arguments)

        code, text = told(result)
        assert code == "TOOL_EXECUTION_ERROR"
        assert text == "The workflow was not changed: no backup could be saved (Not a directory)"
        assert "DOGUBAKO_DATA_DIR" in str(result.content[1]["text"])
        assert n8n.wire.writes() == []


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def odd_n8n(odd: str) -> Answers:
    """An n8n whose only workflow has this id."""
    workflow = {"id": odd, "name": "Odd", "active": False, "nodes": [], "connections": {}, "settings": {}, "tags": []}

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=workflow)

    return answer


@pytest.mark.parametrize("odd", ["../../../escaped", "/etc/passwd", "..", ".", "a/b", "C:\\x", "顧客", "x" * 64, "*"])
async def test_an_odd_id_cannot_choose_where_its_backup_lies(tmp_path: Path, odd: str) -> None:
    async with bench(tmp_path, odd_n8n(odd)) as n8n:
        made = await rename(n8n, "Even", odd)
        files = files_below(tmp_path)

        assert [path.name for path in files] == [f"{made}.json"]
        assert files[0].parents[2] == tmp_path / "data" / "n8n-backups"
        assert [one["backup"] for one in await backups(n8n, id=odd)] == [made]
        assert [one["backup"] for one in await backups(n8n)] == [made]
        assert await backups(n8n, id="other") == []
        assert (await n8n.data("restore_workflow", id=odd, backup=made))["id"] == odd


async def test_backups_are_for_their_owner_only(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        await rename(n8n, "One")

    folder = next((tmp_path / "data" / "n8n-backups").glob("*/*"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not list(folder.glob("*.part"))


async def test_two_instances_do_not_mix_their_backups(tmp_path: Path) -> None:
    async with bench(tmp_path) as first:
        await rename(first, "One")
    async with bench(tmp_path, N8N_URL="http://other.test") as second:
        assert await backups(second) == []
    async with bench(tmp_path, N8N_URL="http://n8n.test/") as again:
        assert len(await backups(again)) == 1


async def test_a_damaged_file_does_not_hide_the_others(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        good = await rename(n8n, "One")
        folder = next((tmp_path / "data" / "n8n-backups").glob("*/*"))
        (folder / "29990101T000000000Z-00000000.json").write_bytes(b'{"id": "cut')
        (folder / "notes.json").write_bytes(b"{}")

        assert [one["backup"] for one in await backups(n8n)] == [good]
        await n8n.data("restore_workflow", id=DRAFT)
        assert await name_of(n8n) == body_of("r-manual")["name"]


async def test_saves_in_one_millisecond_are_two_backups_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.packs.n8n.backups.time.time_ns", lambda: 1_800_000_000_000_999_999)
    kept = Backups(tmp_path, "http://n8n.test")
    workflow = {"id": "w", "name": "Same", "nodes": []}

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(kept.save, workflow, "at once")
    last = await kept.save(workflow, "last")

    listed = await kept.of("w")
    assert len({one.id for one in listed}) == 11
    assert listed[0] == last


async def test_a_backup_is_discarded_once_and_nobody_minds_a_second_time(tmp_path: Path) -> None:
    kept = Backups(tmp_path, "http://n8n.test")
    backup = await kept.save({"id": "w", "nodes": []}, "for nothing")
    await kept.discard(backup)
    await kept.discard(backup)

    assert await kept.of("w") == []


async def test_a_published_version_that_n8n_no_longer_has_is_made_again(tmp_path: Path) -> None:
    """n8n prunes its history; the backup has the content."""

    def pruned(request: httpx2.Request) -> httpx2.Response | None:
        gone = request.url.path.endswith("/activate") and first_version and first_version.encode() in request.content
        return httpx2.Response(404, json={"message": "Version not found"}) if gone else None

    first_version = ""
    published = workflow_id("m-empty")
    async with bench(tmp_path, pruned) as n8n:
        draft = [{"op": "setNodeSettings", "node": "None", "settings": {"notes": "draft"}}]
        await n8n.data("edit_workflow", id=published, operations=draft)
        app: Any = n8n.wire._n8n.app
        before = dict(app.state.store.workflows[published])
        live = [{"op": "setNodeSettings", "node": "None", "settings": {"notes": "live"}}]
        kept = (await n8n.data("edit_workflow", id=published, operations=live, publish=True))["backup"]
        first_version = before["activeVersionId"]
        restored = await n8n.data("restore_workflow", id=published, backup=kept)
        after = app.state.store.workflows[published]

    assert restored["differences"] == []
    assert after["nodes"] == before["nodes"]
    assert after["activeVersion"]["nodes"] == before["activeVersion"]["nodes"]
    assert after["activeVersionId"] != first_version
