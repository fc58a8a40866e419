"""`dogubako doctor`: whether callers can come in, and whether what they do can be recorded."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from dogubako.cli.doctor import _print
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.rate_limits import RateLimits
from dogubako.tools import HealthCheck
from tests.doors.processes import running
from tests.doors.shell import Said, dogubako
from tests.redis_server import INSTALLED, free_port, redis_server


def examined(folder: Path, *words: str, **settings: str) -> Said:
    own = {"DOGUBAKO_DATA_DIR": str(folder / "data"), **settings}
    return dogubako("doctor", *words, folder=folder, tools=(), settings=own)


def about_the_gate(said: Said) -> list[str]:
    return [line for line in said.out.splitlines() if line[8:].startswith(("API keys", "audit log", "OAuth"))]


def test_where_nobody_is_asked_who_he_is_nothing_is_said_of_keys(tmp_path: Path) -> None:
    assert about_the_gate(examined(tmp_path)) == []


@pytest.mark.parametrize(
    ("names", "finding"),
    [
        pytest.param((), "warning API keys: No key is active, so nobody can come in. `dogubako keys", id="no key"),
        pytest.param(("ann", "bob"), "ok      API keys: 2 active", id="two keys"),
    ],
)
def test_it_says_whether_anybody_has_a_key(tmp_path: Path, names: tuple[str, ...], finding: str) -> None:
    for name in names:
        KeyStore(tmp_path / "data").create(name, ["read"])
    said = examined(tmp_path, DOGUBAKO_AUTH="keys")

    keys, audit = about_the_gate(said)
    assert said.code == 0 and keys.startswith(finding)
    log = tmp_path / "data" / "audit.jsonl"
    assert audit == f"ok      audit log: {log} begins with the first call." and not log.exists()


def test_keys_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keys.json").write_text("[{")
    said = examined(tmp_path, DOGUBAKO_AUTH="keys")

    assert said.code == 1
    assert about_the_gate(said)[0].startswith(f"error   API keys: {tmp_path / 'data' / 'keys.json'} is damaged")


def test_a_log_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data" / "audit.jsonl").mkdir(parents=True)
    said = examined(tmp_path, "--json", DOGUBAKO_AUDIT="true")

    (audit,) = (one for one in said.json if one["subject"] == "audit log")
    assert (said.code, audit["ok"], audit["severity"]) == (1, False, "error")
    assert "cannot be written" in audit["message"] and "DOGUBAKO_DATA_DIR" in audit["advice"]


def about(said: Said, subject: str) -> str:
    (line,) = (line for line in said.out.splitlines() if line[8:].startswith(f"{subject}: "))
    return line


BAD_PLACES = [
    pytest.param("/proc/x", "No such file or directory", id="where only the system makes files"),
    pytest.param("a file", "Not a directory", id="a file"),
    pytest.param("a file/data", "Not a directory", id="through a file"),
]


@pytest.mark.parametrize(("place", "reason"), BAD_PLACES)
def test_a_folder_that_cannot_be_written_is_not_called_fine(tmp_path: Path, place: str, reason: str) -> None:
    folder = tmp_path / place
    said = examined(tmp_path, DOGUBAKO_AUDIT="true", DOGUBAKO_DATA_DIR=str(folder))

    assert about(said, "data folder") == (
        f"warning data folder: {folder} cannot be written: {reason}. "
        "Set DOGUBAKO_DATA_DIR to a folder that you may write to."
    )
    assert said.code == 1 and about(said, "audit log").endswith(f"with room on its disk; {reason}.")
    assert about(said, "audit log").startswith(f"error   audit log: {folder / 'audit.jsonl'} cannot be written")


def test_a_folder_that_can_be_made_is_fine_and_is_not_made(tmp_path: Path) -> None:
    said = examined(tmp_path)

    assert about(said, "data folder") == f"ok      data folder: {tmp_path / 'data'} can be written."
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "mode", "advice"),
    [
        pytest.param(".", 0o777, "chmod 700 {}", id="the folder, for all"),
        pytest.param(".", 0o770, "chmod 700 {}", id="the folder, for a group"),
        pytest.param("keys.json", 0o666, "chmod 600 {}", id="keys"),
        pytest.param("audit.jsonl", 0o620, "chmod 600 {}", id="the audit log"),
        pytest.param("audit.salt", 0o602, "chmod 600 {}", id="its salt"),
        pytest.param("backups", 0o777, "chmod 700 {}", id="backups"),
    ],
)
def test_what_others_may_write_in_the_data_folder_is_named(tmp_path: Path, name: str, mode: int, advice: str) -> None:
    path = (tmp_path / "data" / name).resolve()
    (tmp_path / "data").mkdir()
    if name == "backups":
        path.mkdir()
    elif name != ".":
        path.write_text("[]")
    path.chmod(mode)
    said = examined(tmp_path)

    found = about(said, "data folder access")
    assert found == f"warning data folder access: Others may write to {path}. Run: {advice.format(path)}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_data_folder_of_another_user_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12_345, -1)

    assert about(examined(tmp_path), "data folder access") == (
        f"warning data folder access: {folder} belongs to another user (id 12345). Run: chown 0 {folder}"
    )


def test_a_data_folder_for_its_owner_alone_is_not_mentioned(tmp_path: Path) -> None:
    KeyStore(tmp_path / "data").create("ann", ["read"])
    (tmp_path / "data" / "link").symlink_to(tmp_path)

    assert "access" not in examined(tmp_path).out


REACHED = [
    pytest.param({"HOST": "0.0.0.0"}, "HOST is 0.0.0.0, which others can reach, and", id="an address of the network"),
    pytest.param({"CORS_ENABLED": "true"}, "CORS_ORIGIN is *, so every web page that", id="pages of all sites"),
]


@pytest.mark.parametrize(("settings", "sentence"), REACHED)
def test_what_serve_would_refuse_is_said_in_the_same_words(
    tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    said = examined(tmp_path, **settings)
    refused = dogubako("serve", folder=tmp_path, tools=(), settings=settings)
    words = refused.err.splitlines()[-1].removeprefix("dogubako: ")

    assert refused.code == 2 and words.startswith(sentence)
    assert said.code == 1 and about(said, "serve") == f"error   serve: {words}"


@pytest.mark.parametrize("settings", [{}, {"HOST": "0.0.0.0", "DOGUBAKO_AUTH": "keys"}], ids=["loopback", "keys"])
def test_what_serve_would_not_refuse_is_not_mentioned(tmp_path: Path, settings: dict[str, str]) -> None:
    assert "serve: " not in examined(tmp_path, **settings).out


def test_a_redis_that_is_away_is_named_without_its_password(tmp_path: Path) -> None:
    port = free_port()
    storage = f"redis://ann:s3cr3t@127.0.0.1:{port}/0?password=s3cr3t"
    said = examined(tmp_path, RATE_LIMIT_MAX="5", RATE_LIMIT_STORAGE=storage)

    assert said.code == 0 and "s3cr3t" not in said.out + said.err
    assert about(said, "rate limits") == (
        f"warning rate limits: The Redis at 127.0.0.1:{port} does not answer, so each server counts calls for itself. "
        "Start it, or change RATE_LIMIT_STORAGE."
    )


@pytest.mark.parametrize("storage", ["memory", *(["redis"] if INSTALLED else [])])
async def test_a_counter_that_can_be_reached_is_fine(tmp_path: Path, storage: str) -> None:
    async with redis_server(tmp_path) if storage == "redis" else nullcontext("memory") as where:
        limits = RateLimits(most=5, window=60, storage=where)
        found = await limits.check()
        await limits.aclose()

    place = where.removeprefix("redis://").removesuffix("/0")
    assert [(one.ok, one.message) for one in found] == ([(True, f"counted at {place}")] if storage == "redis" else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "finding"),
    [
        pytest.param(
            512,
            "warning open files: 256 connections at once fit below the limit of 512 open files. "
            "Raise the hard limit of open files to 2,256: ulimit -Hn, LimitNOFILE= in systemd, --ulimit in Docker.",
            id="few",
        ),
        pytest.param(
            4_096, "ok      open files: 2,000 connections at once fit below the limit of 4,096 open files.", id="enough"
        ),
    ],
)
def test_a_low_limit_of_open_files_is_named(tmp_path: Path, limit: int, finding: str) -> None:
    with running("doctor", folder=tmp_path, open_files=limit) as doctor:
        doctor.wait()
        doctor.stdout.close()
        lines = doctor.stdout.text().splitlines()

    assert finding in lines


def test_every_sentence_ends(capsys: pytest.CaptureFixture[str]) -> None:
    _print(HealthCheck(ok=False, subject="redmine", message="Redmine could not be reached", advice="Is it running?"))
    _print(HealthCheck(ok=True, subject="n8n", message="n8n answers."))
    _print(HealthCheck(ok=False, subject="access", message="Others can write", advice="Run: chmod 700 /x"))

    assert [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()] == [
        "redmine: Redmine could not be reached. Is it running?",
        "n8n: n8n answers.",
        "access: Others can write. Run: chmod 700 /x",
    ]


def test_a_server_whose_command_is_not_installed_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "dogubako.toml").write_text('[servers.bad]\ncommand = "/nonexistent/prog"\n')
    said = examined(tmp_path, "--config", str(tmp_path / "dogubako.toml"))

    [line] = [one for one in said.out.splitlines() if " bad: " in one]
    assert line.startswith("warning bad: Broken configuration: The command '/nonexistent/prog' is not installed")
