"""The page of tasks: callers see and cancel their own, administrators all."""

from pathlib import Path

from dogubako.contract.call import Caller, ToolCall
from dogubako.gate.api_keys import KeyStore
from tests.doors.waiting import until
from tests.tasks.boxes import AS_TASK, toolbox

from .browser import browsing, text_of


async def test_callers_see_and_cancel_their_own_tasks_and_administrators_all(tmp_path: Path) -> None:
    keys = {name: KeyStore(tmp_path).create(name, [scope]) for name, scope in (("ann", "write"), ("root", "admin"))}
    keys["ben"] = KeyStore(tmp_path).create("ben", ["write"])
    box = toolbox(tmp_path, auth="keys", console=True)
    ann = Caller(name="ann", id=keys["ann"][1].id, scopes=frozenset({"write"}))
    marks = tmp_path / "marks"
    async with browsing(box) as browser:
        call = ToolCall(name="read_slowly", parameters={"marks": str(marks)}, options=AS_TASK, caller=ann)
        task = (await box.pipeline.handle(call)).task
        assert task is not None
        await until((marks / "run-1").exists, "the tool runs")
        shown = {}
        for name in ("ben", "ann", "root"):
            browser.cookies.clear()
            await browser.sign_in(keys[name][0])
            shown[name] = text_of(await browser.get("/console/tasks"))
        browser.cookies.clear()
        await browser.sign_in(keys["ben"][0])
        await browser.get("/console/tasks")
        refused = await browser.post(f"/console/tasks/{task.id}/cancel")
        browser.cookies.clear()
        await browser.sign_in(keys["ann"][0])
        await browser.get("/console/tasks")
        done = await browser.post(f"/console/tasks/{task.id}/cancel")
        after = text_of(await browser.get("/console/tasks"))

    assert task.id not in shown["ben"] and "There are no tasks." in shown["ben"]
    assert task.id in shown["ann"] and "working" in shown["ann"] and "1.0 / 2.0" in shown["ann"]
    assert task.id in shown["root"] and "ann" in shown["root"]
    assert (refused.status, done.status) == (404, 303)
    assert "cancelled" in after and "Cancel " not in after
