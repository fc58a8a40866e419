"""Resources, prompts and completions pass the same gate as tools: counted, bounded, recorded and masked."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako import Context, Pack
from dogubako.app import Toolbox, build
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import Prompt, PromptArgument, PromptMessage, Resource, ResourceTemplate
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened
from tests.doors.waiting import until

from .methods import ERAS, Era
from .sheds import key_in, recorded_in
from .speaking import Speaker, outcome

Values = Mapping[str, str]
SECRET = "s3cr3t-of-the-library"

both_eras = pytest.mark.parametrize("era", ERAS)

# How each kind of reading is asked for, and how the record calls it.
READINGS: dict[str, dict[str, Any]] = {
    "resources/read": {"uri": "library://shelf"},
    "prompts/get": {"name": "browse"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "browse"},
        "argument": {"name": "title", "value": "a"},
    },
}
_ids = count(100)
every_reading = pytest.mark.parametrize("method", READINGS)


class Library(Pack):
    """Everything in it can be made to wait."""

    name = "library"

    def __init__(self) -> None:
        self.open, self.inside = anyio.Event(), 0
        self.titles: Sequence[str] = ("one",)
        title = PromptArgument(name="title", description="Which one.", complete=self._complete)
        self.resources = (Resource(uri="library://shelf", name="shelf", read=self._read),)
        self.resource_templates = (
            ResourceTemplate(
                uri_template="library://books/{id}", name="book", read=self._read, completions={"id": self._complete}
            ),
        )
        self.prompts = (Prompt(name="browse", description="Browse.", render=self._render, arguments=(title,)),)
        self.open.set()

    async def _wait(self) -> None:
        self.inside += 1
        await self.open.wait()

    async def _read(self, context: Context[Any], values: Values) -> str:
        await self._wait()
        return "a book"

    async def _render(self, context: Context[Any], values: Values) -> list[PromptMessage]:
        await self._wait()
        return [PromptMessage(content="Browse.")]

    async def _complete(self, context: Context[Any], value: str, others: Values) -> list[str]:
        await self._wait()
        return list(self.titles)


@pytest.fixture
def library() -> Library:
    return Library()


def _box(folder: Path, library: Library, **settings: Any) -> Toolbox:
    chosen = {"data_dir": folder, "auth": "keys", **settings}
    return build(Sources(overrides=chosen, environ={}, env_file=None), packs=[CORE, library])


async def _speaker(client: Client, key: str, era: Era) -> Speaker:
    return await Speaker(client, {"x-api-key": key}, era).open()


async def _ask(speaker: Speaker, method: str) -> Any:
    return await _say(speaker, method, READINGS[method])


async def _say(speaker: Speaker, method: str, params: Mapping[str, Any]) -> Any:
    """Several requests of one session may be under way, so each has an id of its own."""
    headers = speaker.headers(method, params.get("name") or params.get("uri"))
    return outcome((await speaker.send(speaker.request(method, params, next(_ids)), headers)).response)


@both_eras
@every_reading
async def test_reading_is_counted_together_with_calls(tmp_path: Path, library: Library, era: Era, method: str) -> None:
    key, other = key_in(tmp_path, "ann", "read"), key_in(tmp_path, "bob", "read")
    async with opened(HttpApp(_box(tmp_path, library, rate_limit_max=3))) as client:
        ann, bob = [await _speaker(client, one, era) for one in (key, other)]
        called = await ann.call("search_tools", {"query": "books"})
        heard = [await _ask(ann, method) for _ in range(3)]
        of_others = await _ask(bob, method)
        refused_call = await ann.call("search_tools", {"query": "books"})

    assert called["isError"] is False and ["error" in one for one in heard] == [False, False, True]
    error = heard[2]["error"]
    assert (error["message"], error["data"]["code"]) == ("Rate limit exceeded", "RATE_LIMIT_EXCEEDED")
    assert error["data"]["retryable"] is True and 1 <= error["data"]["retryAfter"] <= 60
    assert "error" not in of_others and library.inside == 3
    assert refused_call["_meta"]["code"] == "RATE_LIMIT_EXCEEDED"
    codes = [line["code"] for line in recorded_in(tmp_path) if line["tool"] == method and line["caller"] == "ann"]
    assert codes == ["OK", "OK", "RATE_LIMIT_EXCEEDED"]


@both_eras
@every_reading
async def test_reading_takes_a_place_among_what_runs(tmp_path: Path, library: Library, era: Era, method: str) -> None:
    key, other = key_in(tmp_path, "ann", "read"), key_in(tmp_path, "bob", "read")
    library.open, answers = anyio.Event(), list[Any]()
    async with opened(HttpApp(_box(tmp_path, library, caller_concurrency=1))) as client:
        ann, bob = [await _speaker(client, one, era) for one in (key, other)]

        async def read(speaker: Speaker) -> None:
            answers.append(await _ask(speaker, method))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, ann)
            await until(lambda: library.inside == 1, "the first one is being read")
            second, call = await _ask(ann, method), await ann.call("search_tools", {"query": "books"})
            tasks.start_soon(read, bob)
            await until(lambda: library.inside == 2, "another caller has places of its own")
            library.open.set()
        later = await _ask(ann, method)

    assert second["error"]["data"]["code"] == call["_meta"]["code"] == "BUSY"
    assert ["error" in one for one in [*answers, later]] == [False, False, False]


@both_eras
async def test_completions_are_recorded_with_their_pack_and_without_their_values(
    tmp_path: Path, library: Library, era: Era
) -> None:
    async with opened(HttpApp(_box(tmp_path, library))) as client:
        await _ask(await _speaker(client, key_in(tmp_path, "ann", "read"), era), "completion/complete")

    [line] = recorded_in(tmp_path)
    told = {key: line[key] for key in ("tool", "caller", "door", "code", "arguments", "pack")}
    assert told == {
        "tool": "completion/complete",
        "caller": "ann",
        "door": "http",
        "code": "OK",
        "arguments": ["title"],
        "pack": "library",
    }


@both_eras
@pytest.mark.parametrize(
    "ref",
    [
        pytest.param({"type": "ref/prompt", "name": "browse"}, id="of a prompt"),
        pytest.param({"type": "ref/resource", "uri": "library://books/{id}"}, id="of an address"),
    ],
)
async def test_completions_are_masked_and_short(
    tmp_path: Path, library: Library, era: Era, ref: dict[str, str]
) -> None:
    box = _box(tmp_path, library)
    box.pipeline.responses.redactor.add(SECRET)
    library.titles = [f"key {SECRET}", "x" * 10_000, f"{'y' * 490}{SECRET}", "half \ud800"]
    argument = {"name": "title" if "name" in ref else "id", "value": ""}
    async with opened(HttpApp(box)) as client:
        speaker = await _speaker(client, key_in(tmp_path, "ann", "read"), era)
        answer = await _say(speaker, "completion/complete", {"ref": ref, "argument": argument})

    values = answer["completion"]["values"]
    assert values[:3] == ["key ***", "x" * 500, f"{'y' * 490}***"]
    assert values[3] == "half \ufffd"


UNKNOWN: dict[str, dict[str, Any]] = {
    "resources/read": {"uri": "library://nowhere"},
    "prompts/get": {"name": "nothing"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "nothing"},
        "argument": {"name": "title", "value": "a"},
    },
}


@both_eras
@every_reading
async def test_asking_for_what_is_not_there_is_counted_and_recorded(
    tmp_path: Path, library: Library, era: Era, method: str
) -> None:
    async with opened(HttpApp(_box(tmp_path, library, rate_limit_max=2))) as client:
        speaker = await _speaker(client, key_in(tmp_path, "ann", "read"), era)
        heard = [await _say(speaker, method, UNKNOWN[method]) for _ in range(3)]

    codes = [one["error"]["data"]["code"] for one in heard]
    assert codes == ["NOT_FOUND", "NOT_FOUND", "RATE_LIMIT_EXCEEDED"]
    assert [(line["tool"], line["code"]) for line in recorded_in(tmp_path)] == [(method, code) for code in codes]


async def test_the_python_door_reads_too(tmp_path: Path, library: Library) -> None:
    async with _box(tmp_path, library).running() as box:
        read = await box.read("library://shelf")
        prompt, messages = await box.render("browse", {"title": "a"})

    assert (read["text"], prompt.name, messages[0]["content"]["text"]) == ("a book", "browse", "Browse.")
    lines = [(line["tool"], line["door"], line["code"]) for line in recorded_in(tmp_path)]
    assert lines == [("resources/read", "python", "OK"), ("prompts/get", "python", "OK")]
