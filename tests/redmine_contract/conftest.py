"""The two sides. The real one is started once; with REDMINE_URL and REDMINE_API_KEY set, that one is read instead."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from scripts.real_redmine import RealRedmine, running_redmine
from tests.contract_suite import ContractSuite
from tests.log_capture import no_log_on_the_terminal
from tests.packs.through import Through
from tests.redmine_contract.place import Person, Place, Service
from tests.redmine_contract.seeded import KEYS, WRONG_KEY
from tests.redmine_contract.services import Given, InSmall, Real

__all__ = ["no_log_on_the_terminal"]

GIVEN: Final = bool(os.environ.get("REDMINE_URL") and os.environ.get("REDMINE_API_KEY"))
SUITE: Final = ContractSuite(folder=Path(__file__).parent, real="real_redmine", given=GIVEN)
READERS: Final = ["admin"] if GIVEN else ["admin", "manager", "dev", "reporter", "outsider"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    SUITE.leave_out(config, items)


@pytest.fixture(scope="session")
def real_redmine() -> Iterator[RealRedmine]:
    with running_redmine() as started:
        yield started


@pytest.fixture(scope="session")
def in_small() -> InSmall:
    return InSmall()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redmine")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=SUITE.sides())
async def side(request: pytest.FixtureRequest, files: Path) -> AsyncIterator[Place]:
    """One side for all cases of a module: what only reads need not be started again."""
    if request.param == "sandbox":
        small: InSmall = request.getfixturevalue("in_small")
        opened = Place(side="sandbox", service=small, box_of=lambda key: _small_box(small, key, files))
    elif GIVEN:
        given = Given(os.environ["REDMINE_URL"])
        opened = Place(side="given", service=given, box_of=lambda key: _box(given, key, files, read_only=True))
    else:
        real = Real(request.getfixturevalue("real_redmine"))
        opened = Place(side="real", service=real, box_of=lambda key: _box(real, key, files))
    yield opened
    await opened.close()


@pytest.fixture
async def place(side: Place) -> AsyncIterator[Place]:
    yield side
    await side.tidy()


def _box(service: Service, key: str | None, files: Path, *, read_only: bool = False) -> Toolbox:
    environ = {
        "REDMINE_URL": service.url,
        "REDMINE_API_KEY": key or WRONG_KEY,
        "DOGUBAKO_PACKS": "redmine",
        "DOGUBAKO_READ_ONLY": str(read_only).lower(),
        "DOGUBAKO_DATA_DIR": str(files / "data"),
        "DOGUBAKO_FILES": str(files),
    }
    return build(Sources(environ=environ, env_file=None))


def _small_box(small: InSmall, key: str | None, files: Path) -> Toolbox:
    """The tools and the direct questions have to reach the same copy."""
    box = _box(small, key, files)
    box.packs["redmine"].sandbox = Through(settings={}, app=dict, wire=small.transport())
    return box


def _key_of(place: Place, login: str) -> str:
    return os.environ["REDMINE_API_KEY"] if place.side == "given" else KEYS[login]


@pytest.fixture(params=READERS)
async def reader(request: pytest.FixtureRequest, place: Place) -> Person:
    """Each of the people in turn; on a server that we were given, its one user."""
    return await place.person(_key_of(place, request.param))


@pytest.fixture
async def admin(place: Place) -> Person:
    """An administrator; on a server that we were given, its one user."""
    return await place.person(_key_of(place, "admin"))


@pytest.fixture
async def manager(place: Place) -> Person:
    return await place.who("manager")


@pytest.fixture
async def dev(place: Place) -> Person:
    return await place.who("dev")


@pytest.fixture
async def reporter(place: Place) -> Person:
    return await place.who("reporter")


@pytest.fixture
async def outsider(place: Place) -> Person:
    """Has an account, and is a member of nothing."""
    return await place.who("outsider")


@pytest.fixture
async def stranger(place: Place) -> Person:
    """Has a key that is nobody's."""
    return await place.person(WRONG_KEY)


@pytest.fixture
async def nobody(place: Place) -> Person:
    """Has no key at all."""
    return await place.person(None)


@pytest.fixture
async def locked(place: Place) -> Person:
    return await place.who("locked")


@pytest.fixture
async def kim(place: Place) -> Person:
    """One of two people of the same name; a developer."""
    return await place.who("kim1")
