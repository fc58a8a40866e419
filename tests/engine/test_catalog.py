"""Resources, prompts and completions: found, read and rendered under the same budget and masking as tools."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from dogubako import Context, Pack
from dogubako.contract.call import TRUSTED
from dogubako.contract.errors import AnswerTooLargeError, NotFoundError, ToolTimeoutError, ValidationError
from dogubako.engine.catalog import CatalogChange
from dogubako.output import Image
from dogubako.response.tokens import count_tokens
from dogubako.tools import (
    MissingSetting,
    PackSettings,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    setting,
)

from .boxes import box_of

SECRET = "a-key-nobody-may-see"
HERE: Any = {"caller": TRUSTED, "door": "python"}


class LibrarySettings(PackSettings):
    key: SecretStr = setting(SecretStr(SECRET), "LIBRARY_KEY", "The key.")
    open: bool = setting(True, "LIBRARY_OPEN", "Whether it is open.")


async def read_note(context: Context[Any], variables: Mapping[str, str]) -> str:
    return f"note {variables['id']} by {context.settings.key.get_secret_value()}"


async def read_log(context: Context[Any], variables: Mapping[str, str]) -> str:
    return "a line of the log\n" * 20_000


async def read_picture(context: Context[Any], variables: Mapping[str, str]) -> bytes:
    return b"\x89PNG"


async def read_film(context: Context[Any], variables: Mapping[str, str]) -> bytes:
    return b"x" * 500_000


async def read_never(context: Context[Any], variables: Mapping[str, str]) -> str:
    await asyncio.Event().wait()
    return "never"


async def ids(context: Context[Any], value: str, others: Mapping[str, str]) -> list[str]:
    return [f"{value}{number}{others.get('kind', '')}" for number in range(300)]


async def explain(context: Context[Any], arguments: Mapping[str, str]) -> list[PromptMessage]:
    return [
        PromptMessage(content=f"Why did {arguments['run']} fail? The key is {SECRET}."),
        PromptMessage(content=Image(data=b"png", mime_type="image/png"), role="assistant"),
    ]


async def recite(context: Context[Any], arguments: Mapping[str, str]) -> list[PromptMessage]:
    return [PromptMessage(content="word " * int(arguments["words"]))] * int(arguments["times"])


class Library(Pack[LibrarySettings, None]):
    name = "library"
    settings = LibrarySettings
    resources = (
        Resource(uri="library://log", name="log", read=read_log),
        Resource(uri="library://cover", name="cover", read=read_picture, mime_type="image/png"),
        Resource(uri="library://film", name="film", read=read_film),
        Resource(uri="library://never", name="never", read=read_never),
    )
    resource_templates = (
        ResourceTemplate(
            uri_template="library://notes/{id}",
            name="note",
            read=read_note,
            mime_type="text/markdown",
            completions={"id": ids},
        ),
        ResourceTemplate(uri_template="library://books/{id}", name="book", read=read_note),
    )
    prompts = (
        Prompt(
            name="explain",
            description="Why it failed.",
            render=explain,
            arguments=(
                PromptArgument(name="run", description="Which run.", required=True, complete=ids),
                PromptArgument(name="tone", description="How to say it."),
            ),
        ),
        Prompt(
            name="recite",
            description="A lot of words.",
            render=recite,
            arguments=(PromptArgument(name="words", description=""), PromptArgument(name="times", description="")),
        ),
    )

    def unconfigured(self, settings: LibrarySettings) -> MissingSetting | None:
        return None if settings.open else MissingSetting(reason="Closed.", setting="LIBRARY_OPEN")


def catalog(**settings: Any) -> Any:
    return box_of(packs=[Library()], **settings).catalog


def test_lists_are_sorted_by_address_and_name() -> None:
    made = catalog()

    assert [one.uri for one in made.resources(TRUSTED)] == sorted(one.uri for one in Library.resources)
    assert [one.uri_template for one in made.templates(TRUSTED)] == ["library://books/{id}", "library://notes/{id}"]
    assert [one.name for one in made.prompts(TRUSTED)] == ["explain", "recite"]


async def test_a_template_fills_in_its_variables_and_secrets_are_masked() -> None:
    assert await catalog().read("library://notes/7%20a", **HERE) == {
        "uri": "library://notes/7%20a",
        "mimeType": "text/markdown",
        "text": "note 7 a by ***",
    }


async def test_bytes_travel_whole() -> None:
    contents = await catalog().read("library://cover", **HERE)

    assert base64.b64decode(contents["blob"], validate=True) == b"\x89PNG"
    assert contents["mimeType"] == "image/png"


async def test_a_long_text_is_cut_to_the_budget_and_says_so() -> None:
    contents = await catalog(max_response_tokens=1_000).read("library://log", **HERE)

    assert count_tokens(contents["text"]) <= 1_000
    assert "Left out to fit" in contents["text"]


async def test_bytes_that_do_not_fit_are_an_error_and_never_cut() -> None:
    with pytest.raises(AnswerTooLargeError, match="500,000 bytes"):
        await catalog().read("library://film", **HERE)


async def test_a_resource_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.engine.catalog._MOST_SECONDS", 0.02)

    with pytest.raises(ToolTimeoutError, match="Execution timeout after 20ms"):
        await asyncio.wait_for(catalog().read("library://never", **HERE), 5)


@pytest.mark.parametrize("uri", ["library://gone", "library://notes/", "library://notes/1/2", "x" * 5_000])
async def test_an_unknown_address_is_not_found(uri: str) -> None:
    with pytest.raises(NotFoundError, match="Resource not found: ") as caught:
        await catalog().read(uri, **HERE)

    assert caught.value.hint == "resources/list has the addresses."
    assert len(caught.value.message) < 250


async def test_a_prompt_is_rendered_with_its_blanks_filled_and_without_secrets() -> None:
    prompt, messages = await catalog().render("explain", {"run": "17"}, **HERE)

    assert prompt.name == "explain"
    assert messages == [
        {"role": "user", "content": {"type": "text", "text": "Why did 17 fail? The key is ***."}},
        {"role": "assistant", "content": {"type": "image", "data": "cG5n", "mimeType": "image/png"}},
    ]


@pytest.mark.parametrize(
    ("words", "times", "cut"),
    [
        pytest.param(5, 3, False, id="small"),
        pytest.param(5, 40, False, id="many small ones"),
        pytest.param(5_000, 1, True, id="one large one"),
        pytest.param(5_000, 4, True, id="several large ones"),
    ],
)
async def test_all_messages_of_a_prompt_share_one_budget(words: int, times: int, cut: bool) -> None:
    _, messages = await catalog(max_response_tokens=2_000).render(
        "recite", {"words": str(words), "times": str(times)}, **HERE
    )

    texts = [message["content"]["text"] for message in messages]
    assert sum(count_tokens(text) for text in texts) <= 2_000
    assert len(texts) == times
    assert any("Left out" in text for text in texts) is cut


async def test_more_messages_than_can_be_cut_are_too_large() -> None:
    with pytest.raises(AnswerTooLargeError):
        await catalog(max_response_tokens=500).render("recite", {"words": "90", "times": "90"}, **HERE)


async def test_wrong_blanks_are_named_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        await catalog().render("explain", {"run": "", "extra": "1", "y" * 99: "2"}, **HERE)

    assert [error.message for error in caught.value.errors] == [
        "Required parameter missing: run",
        "Unknown parameter: extra",
        f"Unknown parameter: {'y' * 64}",
    ]


async def test_an_unknown_prompt_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="Prompt not found: gone"):
        await catalog().render("gone", {}, **HERE)
    with pytest.raises(NotFoundError, match="Prompt not found: gone"):
        await catalog().complete("gone", "run", "", {}, **HERE)


@pytest.mark.parametrize(
    ("reference", "argument"),
    [
        pytest.param("explain", "run", id="a prompt's argument"),
        pytest.param("library://notes/{id}", "id", id="a template's variable"),
    ],
)
async def test_at_most_a_hundred_completions_are_offered(reference: str, argument: str) -> None:
    found = await catalog().complete(reference, argument, "1", {"kind": "x"}, **HERE)

    assert (len(found), found[0]) == (100, "10x")


@pytest.mark.parametrize(
    ("reference", "argument"),
    [
        pytest.param("explain", "tone", id="an argument without help"),
        pytest.param("explain", "gone", id="no such argument"),
        pytest.param("library://books/{id}", "id", id="a template without help"),
        pytest.param("library://notes/{id}", "gone", id="no such variable"),
    ],
)
async def test_where_nobody_knows_nothing_is_offered(reference: str, argument: str) -> None:
    assert await catalog().complete(reference, argument, "1", {}, **HERE) == []


def test_a_pack_that_is_not_configured_brings_nothing() -> None:
    class Closed(Library):
        def unconfigured(self, settings: LibrarySettings) -> MissingSetting | None:
            return MissingSetting(reason="Closed.", setting="LIBRARY_OPEN")

    made = box_of(packs=[Closed()]).catalog

    assert [*made.resources(TRUSTED), *made.templates(TRUSTED), *made.prompts(TRUSTED)] == []


@pytest.mark.parametrize("kind", ["resources", "resource_templates", "prompts"])
def test_two_of_one_name_stop_the_start(kind: str) -> None:
    class Twice(Library):
        name = "twice"

    library = Library()
    twice = Twice()
    for other in {"resources", "resource_templates", "prompts"} - {kind}:
        setattr(twice, other, ())

    with pytest.raises(ValueError, match="is there twice"):
        box_of(packs=[library, twice])


def test_changes_are_heard_by_everyone() -> None:
    made = catalog()
    first: list[CatalogChange] = []
    second: list[CatalogChange] = []
    made.subscribe(first.append)
    made.subscribe(second.append)

    made.changed(CatalogChange(kind="updated", uri="library://log"))

    assert first == second == [CatalogChange(kind="updated", uri="library://log")]


def test_who_no_longer_listens_hears_nothing() -> None:
    heard: list[CatalogChange] = []
    catalog = box_of().catalog
    stop = catalog.subscribe(heard.append)
    catalog.changed(CatalogChange(kind="prompts"))
    stop()
    catalog.changed(CatalogChange(kind="prompts"))

    assert heard == [CatalogChange(kind="prompts")]
