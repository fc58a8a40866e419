"""`dogubako keys`: what it prints, what it refuses, and that two of them at once lose nothing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dogubako.contract.errors import AuthenticationError
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.authentication import KeyAuthentication
from tests.doors.processes import PATIENCE, environment
from tests.doors.shell import Said, dogubako

from .sheds import SHED


def keys(folder: Path, *words: str) -> Said:
    return dogubako("keys", *words, folder=folder, tools=(), settings={"DOGUBAKO_DATA_DIR": str(folder / "data")})


def _known(folder: Path, secret: str) -> str:
    return KeyAuthentication(KeyStore(folder / "data")).authenticate_cached([(b"x-api-key", secret.encode())]).name


def test_a_new_key_is_alone_on_stdout_and_opens(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "read,redmine:write", "--scope", "tool:list_*")

    assert made.code == 0
    assert _known(tmp_path, made.out.strip()) == "agent"
    assert made.err == (
        "Scopes of 'agent': read, redmine:write, tool:list_*. This is the only copy of the key; "
        'send it as "Authorization: Bearer …" or "X-API-Key: …".\n'
    )


def test_a_new_key_says_when_it_ends(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "read", "--expires-in", "4w")

    assert re.match(r"Scopes of 'agent': read, until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. This is the only copy", made.err)
    assert KeyStore(tmp_path / "data").all()[0].expires is not None


DOUBTS = [
    pytest.param(
        "redmin:read",
        "redmin:read opens nothing here: no pack is called 'redmin'. Did you mean redmine:read?",
        id="a pack misspelt",
    ),
    pytest.param(
        "warehouse:write",
        "warehouse:write opens nothing here: no pack is called 'warehouse'. Known packs: core, n8n, redmine, web.",
        id="a pack of somebody else",
    ),
    pytest.param(
        "tool:list_isues",
        "tool:list_isues opens nothing here: no tool fits 'list_isues'. Did you mean tool:list_issues?",
        id="a tool misspelt",
    ),
    pytest.param(
        "tool:zzz_*",
        "tool:zzz_* opens nothing here: no tool fits 'zzz_*'. `dogubako tools list` has the names.",
        id="a pattern that fits nothing",
    ),
]


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["for people", "for scripts"])
@pytest.mark.parametrize(("scope", "sentence"), DOUBTS)
def test_a_scope_that_opens_nothing_is_doubted_and_the_key_is_made(
    tmp_path: Path, scope: str, sentence: str, words: tuple[str, ...]
) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", f"web:read,{scope}", *words)

    assert made.code == 0
    hint = "If a file of yours has it, name the file with --tools."
    assert [line for line in made.err.splitlines() if "warning" in line] == [f"dogubako: warning: {sentence} {hint}"]
    assert KeyStore(tmp_path / "data").all()[0].scopes == tuple(sorted(("web:read", scope)))


KNOWN = [
    pytest.param({"DOGUBAKO_PACKS": "web"}, "redmine:read", id="a pack that is not served"),
    pytest.param({"DOGUBAKO_TOOLS": str(SHED)}, "shed:write,tool:wipe", id="a file with tools"),
    pytest.param({"DOGUBAKO_TOOLS": "nowhere.py"}, "shed:write", id="a file that is not there"),
]


@pytest.mark.parametrize(("settings", "scope"), KNOWN)
def test_a_pack_that_is_known_here_or_cannot_be_asked_is_not_doubted(
    tmp_path: Path, settings: dict[str, str], scope: str
) -> None:
    own = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data"), **settings}
    made = dogubako("keys", "create", "--name", "agent", "--scope", scope, folder=tmp_path, tools=(), settings=own)

    assert made.code == 0 and "warning" not in made.err
    assert _known(tmp_path, made.out.strip()) == "agent"


def test_a_file_with_tools_can_be_named_as_for_the_server(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "shed:write,tool:wipe", "--tools", str(SHED))

    assert made.code == 0 and "warning" not in made.err


def test_a_named_file_that_cannot_be_loaded_is_said_and_the_key_is_made(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "shed:write", "--tools", "nowhere.py")

    assert made.code == 0 and _known(tmp_path, made.out.strip()) == "agent"
    assert made.err.splitlines()[1:] == [
        "dogubako: warning: Nobody can tell whether shed:write opens anything here: Tools file not found: nowhere.py"
    ]


def test_help_says_how_long_a_key_is_valid(tmp_path: Path) -> None:
    said = " ".join(keys(tmp_path, "create", "--help").out.split())

    assert "Validity, as 30m, 12h, 90d or 4w; without it the key never expires." in said


def test_a_script_gets_the_key_as_json(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "read", "--expires-in", "90d", "--json").json

    assert _known(tmp_path, made.pop("key")) == "agent"
    assert set(made) == {"id", "name", "scopes", "state", "created", "expires", "revoked", "credentials"}
    assert (made["scopes"], made["state"], made["revoked"]) == (["read"], "active", None)


def test_no_list_shows_a_key_again(tmp_path: Path) -> None:
    secret = keys(tmp_path, "create", "--name", "agent", "--scope", "read").out.strip()
    keys(tmp_path, "create", "--name", "old", "--scope", "read")
    keys(tmp_path, "revoke", "old")

    shown, listed = keys(tmp_path, "list"), keys(tmp_path, "list", "--json")

    assert [(key["name"], key["state"]) for key in listed.json] == [("agent", "active"), ("old", "revoked")]
    for said in (shown.out, listed.out):
        assert secret not in said and secret.split("_", 2)[2] not in said
        assert "hash" not in said


def test_a_revoked_key_is_named_and_ends(tmp_path: Path) -> None:
    made = keys(tmp_path, "create", "--name", "agent", "--scope", "read", "--json").json

    ended = keys(tmp_path, "revoke", "agent")

    assert (ended.code, ended.out) == (0, f"'agent' ({made['id']}) is revoked.\n")
    with pytest.raises(AuthenticationError, match="revoked"):
        _known(tmp_path, made["key"])


REFUSALS = [
    pytest.param(("create", "--name", "a", "--scope", "all"), "Unknown scope: all.", id="no scope of ours"),
    pytest.param(("create", "--name", "a", "--scope", " , "), "A key needs at least one scope.", id="no scope at all"),
    pytest.param(("create", "--name", " ", "--scope", "read"), "The name must have 1 to 100", id="no name"),
    pytest.param(("create", "--name", "a\nb", "--scope", "read"), "The name must have 1 to 100", id="a name of lines"),
    pytest.param(("create", "--name", "a" * 101, "--scope", "read"), "The name must have 1 to 100", id="a long name"),
    pytest.param(
        ("create", "--name", "a", "--scope", "read", "--expires-in", "soon"), "--expires-in takes", id="no span"
    ),
    pytest.param(
        ("create", "--name", "a", "--scope", "read", "--expires-in", "0d"), "--expires-in takes", id="no time at all"
    ),
    pytest.param(
        ("create", "--name", "a", "--scope", "read", "--expires-in", "٠d"), "--expires-in takes", id="other digits"
    ),
    pytest.param(("revoke", "nobody"), "There is no such key that is not revoked.", id="nobody's key"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSALS)
def test_what_makes_no_sense_is_one_sentence_and_makes_no_key(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    said = keys(tmp_path, *words)

    assert (said.code, said.out) == (1, "")
    assert sentence in said.err.splitlines()[0] and "Traceback" not in said.err
    assert KeyStore(tmp_path / "data").all() == []


@pytest.mark.parametrize("words", [("list",), ("revoke", "a"), ("create", "--name", "a", "--scope", "read")], ids=str)
def test_a_damaged_file_is_one_sentence_for_every_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keys.json").write_text("[{")

    said = keys(tmp_path, *words)

    assert (said.code, said.out) == (1, "")
    assert f"{tmp_path / 'data' / 'keys.json'} is damaged: it is not a list of keys." in said.err


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    said = keys(tmp_path, "create", "--name", "a", "--scope", "read")

    assert said.code == 1
    assert "keys.json cannot be" in said.err and "Traceback" not in said.err


_MAKER = """
import json, sys
from pathlib import Path
from dogubako.gate.api_keys import KeyStore
store = KeyStore(Path(sys.argv[1]))
sys.stdin.readline()
print(json.dumps([store.create(f"{sys.argv[2]} {number}", ["read"])[0] for number in range(20)]))
"""


def test_processes_that_make_keys_at_once_lose_none(tmp_path: Path) -> None:
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", _MAKER, str(tmp_path / "data"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(tmp_path),
            text=True,
        )
        for name in ("one", "two", "three")
    ]
    # All of them wait for a line, so that none is done before the others have begun.
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("\n")
        maker.stdin.flush()
    made = [secret for maker in makers for secret in json.loads(maker.communicate(timeout=PATIENCE)[0])]

    names = {_known(tmp_path, secret) for secret in made}

    assert names == {f"{name} {number}" for name in ("one", "two", "three") for number in range(20)}
    assert len(KeyStore(tmp_path / "data").all()) == 60
