"""Write what the sandbox's Redmine knows when it starts: the tables of a real, seeded Redmine, as JSON.

python scripts/record_redmine.py     writes the sandbox's world.json, and world_ja.json of the tests
"""

import json
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako_sandbox.redmine.world import WORLD, World, computed_rows
from scripts.redmine_install import SEED_JA, InstallError, Seeded, seeded

WORLD_JA: Final = Path(__file__).resolve().parents[1] / "tests/redmine_contract/ja/world_ja.json"
TABLES: Final = (
    "settings",
    "users",
    "user_preferences",
    "email_addresses",
    "tokens",
    "groups_users",
    "roles",
    "roles_managed_roles",
    "trackers",
    "issue_statuses",
    "enumerations",
    "workflows",
    "projects",
    "enabled_modules",
    "projects_trackers",
    "members",
    "member_roles",
    "custom_fields",
    "custom_field_enumerations",
    "custom_fields_projects",
    "custom_fields_trackers",
    "custom_fields_roles",
    "versions",
    "issue_categories",
    "queries",
    "queries_roles",
    "issues",
    "issue_relations",
    "watchers",
    "journals",
    "journal_details",
    "time_entries",
    "wikis",
    "wiki_pages",
    "wiki_contents",
    "wiki_content_versions",
    "wiki_redirects",
    "news",
    "comments",
    "documents",
    "attachments",
    "custom_values",
)
# Of no use to a sandbox, different in each seeding, or nobody's business.
LEFT_OUT: Final = {
    "users": {"hashed_password", "salt", "twofa_totp_key", "twofa_totp_last_used_at"},
    "tokens": {"created_on", "updated_on"},
    "attachments": {"disk_filename", "disk_directory"},
    "wiki_content_versions": {"compression"},
}
YAML: Final = {
    "settings": {"value"},
    "user_preferences": {"others"},
    "roles": {"permissions", "settings"},
    "custom_fields": {"possible_values", "format_store"},
    "queries": {"filters", "column_names", "sort_criteria", "options"},
}
# Redmine's YAML is Ruby's: it has symbols, and hashes with a class of their own.
RUBY: Final = """
module ActiveSupport; class HashWithIndifferentAccess < Hash; end; end
puts JSON.generate(JSON.parse($stdin.read).map { |text| YAML.unsafe_load(text) })
"""
RUBY_SECONDS: Final = 60

Row = dict[str, Any]
FromYaml = Callable[[Sequence[str]], list[Any]]


def world_of(seed: Seeded) -> World:
    """All tables, and the bytes of attachments with them."""
    with closing(sqlite3.connect(seed.database)) as database:
        world = {name: table(database, name, from_yaml) for name in TABLES}
        places = database.execute("SELECT id, disk_directory, disk_filename FROM attachments").fetchall()
    files = {number: seed.files / (folder or "") / name for number, folder, name in places}
    for row in world["attachments"]:
        row["data"] = b64encode(files[row["id"]].read_bytes()).decode()
    return world


def table(database: sqlite3.Connection, name: str, read_yaml: FromYaml) -> list[Row]:
    """The rows of one table by Redmine's own column names; a column without a value is left out."""
    columns = {str(row[1]): str(row[2]) for row in database.execute(f"PRAGMA table_info({name})")}
    wanted = [column for column in columns if column not in LEFT_OUT.get(name, ())]
    found = database.execute(f"SELECT {', '.join(wanted)} FROM {name} ORDER BY 1, 2").fetchall()
    rows = [
        {column: _plain(value, columns[column]) for column, value in zip(wanted, row, strict=True) if value is not None}
        for row in found
    ]
    _replace_yaml(rows, YAML.get(name, set()), read_yaml)
    return rows


def _plain(value: Any, kind: str) -> Any:
    if kind == "boolean":
        return bool(value)
    return value.decode() if isinstance(value, bytes) else value


def _replace_yaml(rows: Sequence[Row], columns: set[str], read_yaml: FromYaml) -> None:
    """One question for the whole table; a setting that is a plain text is no YAML document."""
    places = [(row, key) for row in rows for key in row if key in columns and str(row[key]).startswith("---")]
    values = read_yaml([row[key] for row, key in places]) if places else []
    for (row, key), value in zip(places, values, strict=True):
        row[key] = value


def from_yaml(texts: Sequence[str]) -> list[Any]:
    command = ["ruby", "-ryaml", "-rjson", "-e", RUBY]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, timeout=RUBY_SECONDS, check=True
    )
    values: list[Any] = json.loads(done.stdout)
    return values


def without_computed(world: World) -> World:
    """Leave out the rows that the sandbox computes, after a check that it computes what was recorded."""
    kept = dict(world)
    for name, rows in computed_rows(world).items():
        recorded = {row["id"]: row for row in world[name]}
        wrong = [row["id"] for row in rows if recorded.pop(row["id"], None) != row]
        if wrong:
            raise InstallError(f"world.py and the seed differ in {name} {wrong[0]}")
        kept[name] = list(recorded.values())
    return kept


def rendered(world: Mapping[str, Sequence[Row]]) -> str:
    """JSON with one row per line, so that a difference can be read."""
    tables = [f"{json.dumps(name)}: [{_lines(rows)}]" for name, rows in world.items()]
    return "{\n" + ",\n".join(tables) + "\n}\n"


def _lines(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    return "\n" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "\n"


def main() -> int:
    try:
        texts = {
            WORLD: rendered(without_computed(world_of(seeded(_say)))),
            WORLD_JA: rendered(world_of(seeded(_say, SEED_JA))),
        }
    except InstallError as error:
        _say(str(error))
        return 1
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        _say(f"{path.name}: {len(text.encode()) // 1000} kB")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
