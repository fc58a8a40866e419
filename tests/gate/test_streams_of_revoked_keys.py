"""What a caller keeps open ends with its key, in order; what others keep open goes on."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import HERE, WORKBENCH, Command, serving
from tests.doors.waiting import says, until

from .methods import ERAS, Era
from .open_streams import Listener, OpenRequest, connected, listening
from .sheds import key_in, log_in, recorded_in

# Keys and streams are looked at once a second; the machine may be busy.
SOON = 15.0
CHANGED = "notifications/tools/list_changed"

both_eras = pytest.mark.parametrize("era", ERAS)


class House:
    """A running server and its keys, which it knows from its start."""

    def __init__(self, data: Path, server: Command, keys: dict[str, str]) -> None:
        self.data, self.server, self.keys = data, server, keys
        self.url = server.url()

    def revoke(self, name: str) -> None:
        KeyStore(self.data).revoke(name)

    def complaints(self) -> list[str]:
        """What a server says when an answer was not completed, or something of ours broke."""
        harmless = ("TRACE", "DEBUG", "INFO", "WARN")
        errors = [line["event"] for line in self.server.log_lines if line["level"] not in harmless]
        return errors + ["Traceback"] * self.server.stderr.text().count("Traceback")

    async def outcomes(self, name: str) -> list[tuple[str, str]]:
        """What the audit log says of this caller, once it says something."""
        log = log_in(self.data)
        await until(lambda: log.exists() and name in log.read_text(), "the call is recorded")
        return [(line["tool"], line["code"]) for line in recorded_in(self.data) if line["caller"] == name]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    data = tmp_path_factory.mktemp("data")
    names = [f"{who} {era}" for who in ("listener", "other", "caller", "reporter") for era in ERAS]
    keys = {name: key_in(data, name, "admin") for name in names}
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(data)}
    folder = tmp_path_factory.mktemp("serve")
    with serving(WORKBENCH, HERE / "odd_tools.py", folder=folder, settings=settings) as server:
        yield House(data, server, keys)


@both_eras
async def test_a_stream_ends_in_order_when_its_key_is_revoked(house: House, era: Era) -> None:
    mine, theirs = f"listener {era}", f"other {era}"
    async with connected(house.url) as web:
        both = [await Listener(web, house.keys[name], era).open() for name in (mine, theirs)]
        async with listening(*both) as (ending, staying):
            house.revoke(mine)
            await ending.ends(SOON)
            refused = await both[0].ask("tools/list")
            for enabled in (False, True):
                key = {"x-api-key": house.keys[theirs]}
                await web.patch("/v1/tools/echo", json={"enabled": enabled}, headers=key)
            await until(lambda: staying.heard(CHANGED) > 0, "the other caller hears of a change")

    assert (ending.broken, ending.heard(CHANGED)) == ("", 0)
    assert (refused.status_code, refused.json()["error"]) == (401, "The API key is revoked.")
    assert staying.ended is False
    assert house.complaints() == []


@both_eras
@pytest.mark.parametrize("meta", [None, {"progressToken": "p"}], ids=["silent", "with progress"])
async def test_a_running_call_is_cancelled_when_its_key_is_revoked(
    house: House, era: Era, meta: dict[str, str] | None, tmp_path: Path
) -> None:
    name, marker, answer = f"{'reporter' if meta else 'caller'} {era}", tmp_path / "marker", OpenRequest()
    async with connected(house.url) as web, anyio.create_task_group() as tasks:
        caller = await Listener(web, house.keys[name], era).open()
        tasks.start_soon(caller.call, answer, "linger_talking", {"marker": str(marker)}, meta)
        await says(marker, "started")
        house.revoke(name)
        await says(marker, "cancelled", SOON)
        await answer.ends(SOON)
        refused = await caller.ask("tools/list")

    assert await house.outcomes(name) == [("linger_talking", "CANCELLED")]
    # Where the answer has begun it is too late for another status.
    assert (answer.status, answer.broken) == (401 if era == "2026" and not meta else 200, "")
    assert answer.heard("notifications/progress") == (1 if meta else 0)
    assert b'"result"' not in answer.body
    assert refused.status_code == 401
    assert house.complaints() == []
