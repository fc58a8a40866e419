"""Whose answer it is, and to what: a question of a tool is answered by the person who was asked, once, in both eras."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox, build
from dogubako.gate.api_keys import KeyStore
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened
from tests.doors.processes import serving

from . import consent_pack
from .clock import Clock
from .guarded import guarded_box
from .hostile import FORGED, FORMS
from .speaking import Speaker, outcome
from .users import User, over_http

both_eras = pytest.mark.parametrize("era", ["2025", "2026"])
STATE_KEY = "k" * 48


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("consent")
    with serving(Path(consent_pack.__file__), folder=folder) as server:
        yield server.url()


@both_eras
async def test_questions_of_several_rounds_and_of_inner_tools_are_all_put(url: str, era: str) -> None:
    user = User(content={"answer": "green"})
    async with over_http(url, era, user) as client:
        answer = await client.call("interview", {})

    assert user.questions == ["Which colour?", "Which shape?", "Which size?"]
    assert (answer.code, answer.text) == ("OK", "green green green")


@both_eras
async def test_a_yes_to_a_tool_is_none_to_a_tool_inside_of_it(url: str, tmp_path: Path, era: str) -> None:
    user = User(content={"confirm": True})
    async with over_http(url, era, user) as client:
        answer = await client.call("shred_by_assistant", {"log": str(tmp_path / "log")})

    assert user.questions == ["Shred by assistant cannot be undone. Go on?", "Ten papers would be gone. Go on?"]
    assert (answer.text, (tmp_path / "log").read_text()) == ("shredded", "shredded\n")


async def test_an_answer_that_comes_before_the_question_counts_only_where_nothing_is_changed(tmp_path: Path) -> None:
    said = {"input_1": {"action": "accept", "content": {"answer": "green"}}}
    async with opened(HttpApp(guarded_box(tmp_path, consent_pack.ask_size, DOGUBAKO_AUTH="off"))) as web:
        speaker = Speaker(web, {}, "2026", FORMS)
        passed_on = {"name": "ask_size", "arguments": {}}
        calls: dict[str, Any] = {"ask_size": {}, "ask_colour": {}, "call_tool": passed_on}
        answers = {}
        for name, arguments in calls.items():
            params = {"name": name, "arguments": arguments, "inputResponses": said}
            answers[name] = outcome((await speaker.ask("tools/call", params, name)).response)

    assert answers["ask_size"]["content"][0]["text"] == "green"
    assert "inputRequests" in answers["ask_colour"] and "inputRequests" in answers["call_tool"]


def box_in(folder: Path, **settings: Any) -> Toolbox:
    chosen = {"data_dir": folder, "auth": "keys", "request_state_key": STATE_KEY, **settings}
    return build(Sources(overrides=chosen, environ={}, env_file=None), packs=[CORE, consent_pack.PACK])


class Person:
    """A client of 2026 in this process, who is asked whether papers may be shredded."""

    def __init__(self, web: Client, secret: str, log: Path) -> None:
        self._speaker = Speaker(web, {"x-api-key": secret}, "2026", FORMS)
        self._log = log

    async def call(self, **more: Any) -> dict[str, Any]:
        params = {"name": "shred", "arguments": {"log": str(self._log)}, **more}
        found: dict[str, Any] = outcome((await self._speaker.ask("tools/call", params, "shred")).response)
        return found

    async def question(self) -> str:
        return str((await self.call())["requestState"])

    async def agree(self, state: str) -> dict[str, Any]:
        return await self.call(inputResponses=FORGED, requestState=state)

    @property
    def shredded(self) -> int:
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0


def key_of(folder: Path, name: str = "ann") -> str:
    return KeyStore(folder).create(name, ["admin"])[0]


async def test_a_state_is_used_up_also_by_another_server_of_the_same_folder_and_key(tmp_path: Path) -> None:
    secret, log = key_of(tmp_path), tmp_path / "log"
    async with opened(HttpApp(box_in(tmp_path))) as web:
        person = Person(web, secret, log)
        state = await person.question()
        done = await person.agree(state)
    async with opened(HttpApp(box_in(tmp_path))) as web:
        again = await Person(web, secret, log).agree(state)

    assert done["content"][0]["text"] == "shredded" and "inputRequests" in again
    assert Person(web, secret, log).shredded == 1


async def test_a_state_is_used_up_by_a_call_that_was_refused_after_the_answer(tmp_path: Path) -> None:
    box = box_in(tmp_path)
    async with opened(HttpApp(box)) as web:
        person = Person(web, key_of(tmp_path), tmp_path / "log")
        state = await person.question()
        declined = await person.call(inputResponses={"dogubako_confirm": {"action": "decline"}}, requestState=state)
        again = await person.agree(state)

    assert declined["_meta"]["code"] == "CONFIRMATION_REQUIRED"
    assert "inputRequests" in again and person.shredded == 0


async def test_a_state_is_used_up_by_a_call_of_a_tool_that_was_switched_off_meanwhile(tmp_path: Path) -> None:
    box = box_in(tmp_path)
    async with opened(HttpApp(box)) as web:
        person = Person(web, key_of(tmp_path), tmp_path / "log")
        state = await person.question()
        box.registry.disable("shred")
        refused = await person.agree(state)
        box.registry.enable("shred")
        again = await person.agree(state)

    assert refused["_meta"]["code"] == "TOOL_DISABLED"
    assert "inputRequests" in again and person.shredded == 0


async def test_a_caller_who_has_to_wait_keeps_the_answer(tmp_path: Path, clock: Clock) -> None:
    async with opened(HttpApp(box_in(tmp_path, rate_limit_max=1))) as web:
        person = Person(web, key_of(tmp_path), tmp_path / "log")
        state = await person.question()
        refused = await person.agree(state)
        clock.now += 61
        done = await person.agree(state)

    assert refused["_meta"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert done["content"][0]["text"] == "shredded" and person.shredded == 1


async def test_where_used_states_cannot_be_recorded_nothing_is_destroyed(tmp_path: Path) -> None:
    (tmp_path / "used_states").write_text("not a folder")
    async with opened(HttpApp(box_in(tmp_path))) as web:
        person = Person(web, key_of(tmp_path), tmp_path / "log")
        refused = await person.agree(await person.question())

    assert person.shredded == 0 and refused["_meta"]["code"] == "READ_ONLY"
    assert refused["content"][0]["text"] == (
        "The answer of the user cannot be recorded as used, so it does not count: nothing was done with it."
    )


async def test_a_question_that_was_sealed_with_an_old_key_is_answered_until_that_key_is_dropped(tmp_path: Path) -> None:
    new = "another key of all processes, 32+"
    secret = key_of(tmp_path, "ann")

    def person(web: Client) -> Person:
        return Person(web, secret, tmp_path / "log")

    async with (
        opened(HttpApp(box_in(tmp_path))) as before,
        opened(HttpApp(box_in(tmp_path, request_state_key=new, request_state_keys_old=(STATE_KEY,)))) as during,
        opened(HttpApp(box_in(tmp_path, request_state_key=new))) as after,
    ):
        answered = await person(during).agree(await person(before).question())
        refused = await Speaker(after, {"x-api-key": secret}, "2026", FORMS).ask(
            "tools/call",
            {
                "name": "shred",
                "arguments": {"log": str(tmp_path / "log")},
                "inputResponses": FORGED,
                "requestState": await person(before).question(),
            },
            "shred",
        )

    assert answered["content"][0]["text"] == "shredded"
    assert refused.response["error"]["code"] == -32602
    assert person(before).shredded == 1


@pytest.mark.parametrize("key", [None, STATE_KEY], ids=["in memory", "in files"])
async def test_when_too_many_states_are_remembered_new_answers_wait_and_old_ones_stay_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.setattr("dogubako.contract.storage.MOST_USED_PER_OWNER", 2)
    async with opened(HttpApp(box_in(tmp_path, request_state_key=key))) as web:
        ann = Person(web, key_of(tmp_path, "ann"), tmp_path / "ann")
        bob = Person(web, key_of(tmp_path, "bob"), tmp_path / "bob")
        states = [await ann.question() for _ in range(3)]
        answers = [await ann.agree(state) for state in states]
        repeated = [await ann.agree(state) for state in states[:2]]
        of_another = await bob.agree(await bob.question())

    assert [answer.get("_meta", {}).get("code", "OK") for answer in answers] == ["OK", "OK", "BUSY"]
    assert all("inputRequests" in answer for answer in repeated) and ann.shredded == 2
    # One caller's flood is nobody else's trouble.
    assert of_another["content"][0]["text"] == "shredded"


async def test_a_new_key_of_an_old_name_inherits_no_state_and_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    store = KeyStore(tmp_path)
    old, key = store.create("ann", ["admin"])
    async with opened(HttpApp(box_in(tmp_path))) as web:
        owner = await Speaker(web, {"x-api-key": old}, "2025").open()
        state = await Person(web, old, tmp_path / "log").question()
        store.revoke(key.id)
        new = key_of(tmp_path, "ann")
        heir = Speaker(web, {"x-api-key": new}, "2025")
        heir.session = owner.session
        visits = [await heir.ask("tools/list"), await heir.ask("tools/call", {"name": "ask_size", "arguments": {}})]
        person = Person(web, new, tmp_path / "log")
        refused = await person.agree(state)

    assert [(visit.status, visit.json["error"]["message"]) for visit in visits] == [(404, "Session not found")] * 2
    assert refused["error"]["message"] == "Invalid or expired requestState" and person.shredded == 0


async def test_a_new_key_of_an_old_name_has_its_own_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    store = KeyStore(tmp_path)
    old, key = store.create("ann", ["admin"])
    async with opened(HttpApp(box_in(tmp_path, rate_limit_max=1))) as web:
        mine = [await Person(web, old, tmp_path / "log").call() for _ in range(2)]
        store.revoke(key.id)
        of_the_new = await Person(web, key_of(tmp_path, "ann"), tmp_path / "log").call()

    assert mine[1]["_meta"]["code"] == "RATE_LIMIT_EXCEEDED" and "inputRequests" in of_the_new
