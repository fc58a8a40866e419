"""How a real Redmine is installed, and how its tables become the sandbox's world."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dogubako_sandbox.redmine.world import WORLD, World, computed_rows
from scripts import redmine_install
from scripts.record_redmine import rendered, table, without_computed
from scripts.redmine_install import InstallError, seeded


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


def no_yaml(texts: Sequence[str]) -> list[Any]:
    raise AssertionError(f"There is no YAML here: {texts}")


def test_a_row_has_truth_values_and_no_empty_columns(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE issues (id INTEGER, subject varchar, is_private boolean, due_date date)")
    database.execute("INSERT INTO issues VALUES (2, 'Umlauts: ä', 1, NULL), (1, 'First', 0, '2026-09-10')")

    assert table(database, "issues", no_yaml) == [
        {"id": 1, "subject": "First", "is_private": False, "due_date": "2026-09-10"},
        {"id": 2, "subject": "Umlauts: ä", "is_private": True},
    ]


def test_what_guards_a_password_is_left_out(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE users (id INTEGER, login varchar, hashed_password varchar, salt varchar)")
    database.execute("INSERT INTO users VALUES (1, 'admin', 'd2e503', '8c2cd5')")

    assert table(database, "users", no_yaml) == [{"id": 1, "login": "admin"}]


def test_yaml_is_read_with_one_question_and_plain_settings_stay_as_they_are(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE settings (id INTEGER, name varchar, value TEXT)")
    database.execute(
        "INSERT INTO settings VALUES (1, 'events', '--- []'), (2, 'language', 'en'), (3, 'ids', '---\n- 1')"
    )
    asked: list[Sequence[str]] = []

    def reading(texts: Sequence[str]) -> list[Any]:
        asked.append(texts)
        return [[], [1]]

    values = [row["value"] for row in table(database, "settings", reading)]

    assert values == [[], "en", [1]]
    assert asked == [["--- []", "---\n- 1"]]


def test_the_world_is_written_with_one_row_per_line() -> None:
    world: World = {"issues": [{"id": 1, "subject": 'a\nb "c" 日本 \x07'}, {"id": 2}], "comments": []}

    text = rendered(world)

    assert json.loads(text) == world
    assert [line[:8] for line in text.splitlines()] == ["{", '"issues"', '{"id":1,', '{"id":2}', "],", '"comment', "}"]


def test_the_recorded_world_is_in_the_form_in_which_it_is_written() -> None:
    text = WORLD.read_text(encoding="utf-8")

    assert rendered(json.loads(text)) == text
    assert "hashed_password" not in text


def recorded_world() -> World:
    world: World = json.loads(WORLD.read_text(encoding="utf-8"))
    computed = computed_rows(world)
    return {name: [*rows, *computed.get(name, ())] for name, rows in world.items()}


def test_the_rows_that_the_sandbox_computes_are_left_out_of_the_world() -> None:
    assert rendered(without_computed(recorded_world())) == WORLD.read_text(encoding="utf-8")


def test_a_seed_that_differs_from_the_computed_rows_is_refused() -> None:
    world = recorded_world()
    world["journals"][-1]["notes"] = "Another seed."

    with pytest.raises(InstallError, match=r"world.py and the seed differ in journals 511"):
        without_computed(world)


@pytest.mark.parametrize(
    ("programs", "user", "sentence"),
    [
        pytest.param(True, 1000, "only root may do it: apt-get install --no-install-recommends redmine", id="not root"),
        pytest.param(False, 0, "this is no Debian", id="another system"),
    ],
)
def test_where_redmine_cannot_be_installed_a_sentence_says_why(
    programs: bool, user: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redmine_install, "user_cache_path", lambda name: tmp_path)
    monkeypatch.setattr(redmine_install, "_version", lambda package: "")
    monkeypatch.setattr(shutil, "which", lambda name: name if programs else None)
    monkeypatch.setattr(os, "geteuid", lambda: user)

    with pytest.raises(InstallError, match=sentence):
        seeded(print)
