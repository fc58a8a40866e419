"""Both sides start with the same world."""

import anyio

from dogubako_sandbox.redmine.app import ADMIN_KEY
from dogubako_sandbox.redmine.world import WORLD
from scripts.real_redmine import RealRedmine
from scripts.record_redmine import rendered, without_computed, world_of
from tests.redmine_contract.facts import proves
from tests.redmine_contract.one_sided import only_where_there_is
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import IDS, KEYS, PROJECTS


@only_where_there_is("recorded")
async def test_the_world_in_small_is_what_the_seed_gives(place: Place, real_redmine: RealRedmine) -> None:
    assert place.side == "real"
    assert rendered(without_computed(world_of(real_redmine.seed))) == WORLD.read_text(encoding="utf-8")


@only_where_there_is("recorded")
async def test_ids_and_keys_are_what_the_seed_tells(place: Place, real_redmine: RealRedmine) -> None:
    assert place.side == "real"
    assert real_redmine.keys == KEYS
    assert KEYS["admin"] == ADMIN_KEY
    for kind, names in IDS.items():
        told = real_redmine.ids[kind]
        assert names == {name: told.get(name) for name in names}, kind


@proves("parallel-writes")
async def test_writes_at_the_same_time_are_all_done(manager: Person) -> None:
    """Where Redmine runs on SQLite with one thread, as ours does; with more of them some would be 500."""
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(_create, manager, f"At once {number}")

    found = await manager.told("/issues.json", subject="~At once", project_id=PROJECTS["webshop"])
    assert found["total_count"] == 8


async def _create(person: Person, subject: str) -> None:
    await person.call("create_issue", project_id="webshop", subject=subject)


async def test_what_one_case_changes_the_next_does_not_see(place: Place) -> None:
    body = {"project_id": PROJECTS["webshop"], "subject": "Left behind"}
    await (await place.who("admin")).made("/issues.json", issue=body)
    await place.tidy()

    found = await (await place.who("admin")).told("/issues.json", subject="~Left behind")
    assert found["total_count"] == 0
