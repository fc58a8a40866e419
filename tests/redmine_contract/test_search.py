"""The search over everything, and what Redmine does not search."""

from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place


async def titles(person: Person, **arguments: Any) -> list[str]:
    shown = await person.call("search_redmine", **arguments)
    return [one.findtext("title") or "" for one in shown]


@proves("one-letter")
async def test_one_letter_is_no_search_for_redmine_and_refused_by_us(dev: Person) -> None:
    answer = await dev.told("/search.json", q="a")

    assert (answer["results"], answer["total_count"]) == ([], None)
    assert isinstance(await dev.refused("search_redmine", q="a"), ValidationError)


@proves("han-character")
async def test_one_han_character_is_a_word(dev: Person) -> None:
    assert (await dev.told("/search.json", q="説"))["total_count"] == 1
    assert await titles(dev, q="説") == ["Wiki: 日本語ページ"]


@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        fact("zero-means-yes", {"all_words": "0"}, 1),
        fact("zero-means-yes", {"all_words": ""}, 5),
    ],
)
async def test_to_redmine_zero_means_yes(dev: Person, arguments: dict[str, str], total: int) -> None:
    assert (await dev.told("/search.json", q="payment twice", **arguments))["total_count"] == total


@proves("zero-means-yes")
async def test_our_switches_mean_what_they_say(dev: Person) -> None:
    every, some = await titles(dev, q="payment twice"), await titles(dev, q="payment twice", all_words=False)
    closed = await titles(dev, q="logo", open_issues=True)

    assert len(every) == 1
    assert len(some) > 1
    assert closed == []
    assert len(await titles(dev, q="logo")) == 1
    assert len(await titles(dev, q="sister")) == 1
    assert await titles(dev, q="sister", titles_only=True) == []


async def test_a_search_may_be_among_some_kinds_and_in_one_project(dev: Person) -> None:
    pages = await titles(dev, q="checkout", types=["wiki_pages"])
    below = await titles(dev, q="button", project_id="webshop", scope="subprojects")
    here = await titles(dev, q="button", project_id="bulk")

    assert pages == ["Wiki: Checkout", "Wiki: Wiki"]
    assert len(below) == 1
    assert here == []


@proves("private-found-by-some")
async def test_what_one_may_not_see_is_not_found(place: Place) -> None:
    found = {
        login: [len(await titles(await place.who(login), q=word)) for word in ("threatens", "salaries", "provider")]
        for login in ("admin", "manager", "dev", "reporter", "outsider")
    }

    assert found == {
        "admin": [1, 1, 1],
        "manager": [1, 0, 1],
        "dev": [1, 0, 0],
        "reporter": [0, 0, 0],
        "outsider": [0, 0, 0],
    }


async def test_nothing_found_is_told_as_nothing(outsider: Person) -> None:
    shown = await outsider.call("search_redmine", q="xyzzy")

    assert (shown.get("total_count"), len(shown)) == ("0", 0)
