"""The two sides in the Japanese world, which a real server takes over for the modules of this folder."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from scripts.real_redmine import RealRedmine
from scripts.real_server import say
from scripts.record_redmine import WORLD_JA
from scripts.redmine_install import SEED_JA, Seeded, seeded
from tests.redmine_contract.conftest import GIVEN, SUITE, _box, _small_box
from tests.redmine_contract.ja.seeded_ja import KEYS_JA
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.services import InSmall, Real

pytestmark: Final = pytest.mark.skipif(GIVEN, reason="a server that somebody else gave us has another world")


@pytest.fixture(scope="session")
def in_small_ja() -> InSmall:
    return InSmall(WORLD_JA)


@pytest.fixture(scope="session")
def world_ja() -> Seeded:
    return seeded(say, SEED_JA)


@pytest.fixture(scope="module", params=SUITE.sides())
async def side(request: pytest.FixtureRequest, files: Path) -> AsyncIterator[Place]:
    if request.param == "sandbox":
        small: InSmall = request.getfixturevalue("in_small_ja")
        opened = Place(side="sandbox", service=small, box_of=lambda key: _small_box(small, key, files))
        yield opened
        await opened.close()
        return
    redmine: RealRedmine = request.getfixturevalue("real_redmine")
    real = Real(redmine, request.getfixturevalue("world_ja"))
    real.reset()
    opened = Place(side="real", service=real, box_of=partial(_box, real, files=files))
    yield opened
    await opened.close()
    redmine.reset()


async def _person(place: Place, login: str) -> Person:
    return await place.person(KEYS_JA[login])


@pytest.fixture
async def admin(place: Place) -> Person:
    return await _person(place, "admin")


@pytest.fixture
async def taro(place: Place) -> Person:
    """佐藤 太郎, who manages."""
    return await _person(place, "sato.taro")


@pytest.fixture
async def ichiro(place: Place) -> Person:
    """鈴木 一郎, a developer whose login is 0007."""
    return await _person(place, "0007")


@pytest.fixture
async def misaki(place: Place) -> Person:
    """田中 美咲, who reports."""
    return await _person(place, "8001")


@pytest.fixture
async def partner(place: Place) -> Person:
    """山本 誠, who may add issues of one tracker only."""
    return await _person(place, "partner")


@pytest.fixture
async def desk(place: Place) -> Person:
    """中村 窓, who may add issues of one tracker only, and edit none."""
    return await _person(place, "desk")


@pytest.fixture
async def viewer(place: Place) -> Person:
    """見学 者, who only looks."""
    return await _person(place, "viewer")


@pytest.fixture
async def outsider(place: Place) -> Person:
    """外山 部, who is a member of nothing."""
    return await _person(place, "gaibu")
