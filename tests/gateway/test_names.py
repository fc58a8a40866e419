"""Public names: as the server calls its tools, with a prefix only where two collide, and for ever."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.names import Names

OWN = ("search_tools", "read_more")


def names(folder: Path) -> Names:
    return Names(DefinitionStore(folder), OWN)


def test_a_name_stays_as_it_is_and_a_collision_gets_the_servers_name_before_it(tmp_path: Path) -> None:
    book = names(tmp_path)

    assert book.of("git", ["status", "API-get-self", "getCode"]) == {
        "status": "status",
        "API-get-self": "API-get-self",
        "getCode": "getCode",
    }
    assert book.of("hg", ["status", "log"]) == {"status": "hg_status", "log": "log"}
    assert book.of("finder", ["read_more"]) == {"read_more": "finder_read_more"}


@pytest.mark.parametrize("order", [("git", "hg"), ("hg", "git")], ids=["as before", "the other way round"])
def test_names_stay_the_same_for_ever(tmp_path: Path, order: tuple[str, str]) -> None:
    first = names(tmp_path)
    first.of("git", ["status"])
    first.of("hg", ["status"])

    later = names(tmp_path)

    assert {server: later.of(server, ["status"])["status"] for server in order} == {"git": "status", "hg": "hg_status"}


def test_the_name_of_a_removed_server_is_given_to_no_other(tmp_path: Path) -> None:
    names(tmp_path).of("git", ["status"])
    DefinitionStore(tmp_path).forget("git")

    assert names(tmp_path).of("hg", ["status"]) == {"status": "hg_status"}
    assert names(tmp_path).of("git", ["status"]) == {"status": "status"}


def test_a_look_at_names_keeps_none(tmp_path: Path) -> None:
    names(tmp_path).of("git", ["status"], keep=False)

    assert names(tmp_path).of("hg", ["status"]) == {"status": "status"}


def test_a_tool_of_our_own_takes_its_name_back(tmp_path: Path) -> None:
    Names(DefinitionStore(tmp_path), ()).of("git", ["read_more"])

    assert names(tmp_path).of("git", ["read_more"]) == {"read_more": "git_read_more"}


def test_a_name_that_no_client_takes_is_written_in_another_way(tmp_path: Path) -> None:
    book = names(tmp_path)
    long = "a" * 64

    assert book.of("one", ["files.read", "files/read", long]) == {
        "files.read": "files_read",
        "files/read": "one_files_read",
        long: long,
    }
    moved = book.of("two", [long])[long]
    assert len(moved) == 64
    assert moved != long


@given(st.lists(st.tuples(st.sampled_from(["a", "b-c"]), st.text(min_size=1, max_size=80)), max_size=12, unique=True))
def test_all_names_are_different_and_callable(
    tmp_path_factory: pytest.TempPathFactory, tools: list[tuple[str, str]]
) -> None:
    book = names(tmp_path_factory.mktemp("names"))
    given_names = [book.of(server, [tool])[tool] for server, tool in tools]

    assert len({*given_names, *OWN}) == len(given_names) + len(OWN)
    assert all(name.isascii() and 1 <= len(name) <= 64 and not set(name) & set(". /\n") for name in given_names)
