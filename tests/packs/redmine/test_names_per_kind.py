"""Names where Redmine wants ids, for every kind: unique, ambiguous, absent, by id, spelled oddly, just made."""

from pathlib import Path

import pytest

from .naming import EVERY_KIND, Naming, odd_spellings
from .wired import bench

_NOBODY = "Nothing of this name"


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_name_however_it_is_written_arrives_as_its_id(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        for name in [kind.name, *odd_spellings(kind.name)]:
            tool, arguments = kind.call(name)
            await on.data(tool, **arguments)

            assert kind.arrived(on.wire) == kind.id, name
            on.wire.requests.clear()


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_an_id_is_taken_as_a_number_and_as_a_text(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        for id_ in (kind.id, str(kind.id), f"#{kind.id}"):
            tool, arguments = kind.call(id_)
            await on.data(tool, **arguments)

            assert kind.arrived(on.wire) == kind.id, id_
            on.wire.requests.clear()


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_name_that_two_have_is_refused_with_both(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        other = kind.add(on.wire, kind.name)
        tool, arguments = kind.call(kind.name)
        message, hint = await on.refusal(tool, **arguments)

    assert message.startswith(f"Invalid value for parameter {kind.parameter}: several of this name are there: ")
    assert f"({kind.id})" in message and f"({other})" in message
    assert hint == f"Name the {kind.noun} by its id."
    assert on.wire.writes() == []


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_name_that_nobody_has_is_refused_before_it_is_used(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        tool, arguments = kind.call(_NOBODY)
        message, hint = await on.refusal(tool, **arguments)

    expected = f"there is no such {kind.noun}, or you may not see it"
    assert message == f"Invalid value for parameter {kind.parameter}: {expected}"
    assert kind.name in hint or kind.noun == "user"
    assert _NOBODY not in message + hint
    assert not {"GET /issues", "GET /time_entries", "PUT /issues/6", "PUT /memberships/5"} & set(on.wire.asked())


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_name_that_appeared_a_moment_ago_is_found(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        tool, arguments = kind.call(_NOBODY)
        await on.refusal(tool, **arguments)
        made = kind.add(on.wire, _NOBODY)
        await on.call(tool, **arguments)

        assert kind.arrived(on.wire) == made


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_name_is_looked_up_once_and_then_remembered(kind: Naming, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        tool, arguments = kind.call(kind.name)
        await on.data(tool, **arguments)
        on.wire.requests.clear()
        await on.data(tool, **arguments)

        # A name of somebody who is in none of our own projects is asked for every time; a write forgets the lists.
        most = {"user": 2, "role": 5, "category": 3}.get(kind.noun, 1)
        assert len(on.wire.asked()) <= most, on.wire.asked()
