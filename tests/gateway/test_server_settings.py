"""`[servers.NAME]`: what a table may say, what its references stand for, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.app import build
from dogubako.contract.metadata import Effect
from dogubako.contract.pack import secrets_of
from dogubako.gateway.settings import MissingReferenceError, read_server, resolve
from dogubako.settings import SettingsError, Sources

from .boxes import Fleet, eventually, offering, tool


def resolved(table: dict[str, Any], **environ: str) -> Any:
    return resolve("one", read_server("one", table), environ)


@pytest.mark.parametrize("value", ["Bearer key-12345678", "Bearer ${KEY}", "x-${KEY}", "token  ${KEY}"])
def test_the_key_in_a_header_is_masked_without_the_words_around_it(value: str) -> None:
    settings = resolved({"url": "https://x.example/mcp", "headers": {"Authorization": value}}, KEY="key-12345678")

    assert "key-12345678" in secrets_of(settings)


def test_variables_and_files_are_replaced_and_masked(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    settings = resolved(
        {
            "command": "run",
            "args": ["--key", "${KEY}", "--mode", "${MODE:-fast}", "${env:KEY}"],
            "env": {"TOKEN": f"${{file:{tmp_path / 'token'}}}", "PLAIN": "x${MODE:-}y"},
        },
        KEY="from-the-environment",
    )

    assert settings.args == ("--key", "from-the-environment", "--mode", "fast", "from-the-environment")
    assert settings.env["TOKEN"].get_secret_value() == "from-a-file"
    assert settings.env["PLAIN"].get_secret_value() == "xy"
    assert {"from-the-environment", "from-a-file"} <= set(secrets_of(settings))


def test_plain_values_of_the_environment_are_no_secrets() -> None:
    plain = {
        "NODE_ENV": "production",
        "LOG_LEVEL": "WARNING",
        "MEMORY_FILE_PATH": "/var/lib/memory.json",
        "SERVICE": "https://api.example.com:8080/",
    }
    secret = {
        "DB_PASS": "sesamopen",
        "MCP_PIN": "letmeinplease",
        "VALUE": "a1b2c3d4",
        "HOOK": "https://x.example/T0/B0",
    }
    settings = resolved({"command": "run", "env": {**plain, **secret}})

    assert set(secrets_of(settings)) == set(secret.values())


def test_a_folder_that_a_variable_names_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("sesamopen")
    args = ["${HOME}/notes", "${env:MODE}", "${DB_PASS}", f"${{file:{tmp_path / 'word'}}}"]
    settings = resolved(
        {"command": "run", "args": args}, HOME="/home/alice", MODE="production", DB_PASS="letmeinplease"
    )

    assert set(secrets_of(settings)) == {"letmeinplease", "sesamopen"}


@pytest.mark.parametrize(
    ("table", "missing"),
    [
        pytest.param({"command": "run", "args": ["${NO_SUCH}"]}, "NO_SUCH", id="an argument"),
        pytest.param({"command": "run", "env": {"A": "${NO_SUCH}"}}, "NO_SUCH", id="a variable"),
        pytest.param({"url": "https://x.example/${NO_SUCH}"}, "NO_SUCH", id="an address"),
        pytest.param({"url": "https://x.example", "headers": {"A": "Bearer ${NO_SUCH}"}}, "NO_SUCH", id="a header"),
        pytest.param({"command": "run", "env": {"A": "${file:/no/such/file}"}}, "/no/such/file", id="a file"),
        pytest.param({"command": "run", "env": {"A": "${EMPTY}"}}, "EMPTY", id="an empty variable"),
        pytest.param({"command": "run", "env": {"A": "${api_key}"}}, "api_key", id="the key"),
    ],
)
def test_what_is_not_resolved_is_refused_by_name(table: dict[str, Any], missing: str) -> None:
    with pytest.raises(MissingReferenceError) as refused:
        resolved(table, EMPTY="")

    assert refused.value.setting == missing
    assert "[servers.one]" in str(refused.value)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        pytest.param({}, "either command", id="nothing"),
        pytest.param({"command": "x", "url": "https://x.example"}, "either command", id="both"),
        pytest.param({"command": "x", "transport": "http"}, "belongs to", id="a wrong transport"),
        pytest.param({"command": "x", "comand": "y"}, "comand: Extra", id="a typing error"),
        pytest.param({"url": "file:///etc/passwd"}, "address like", id="no web address"),
        pytest.param({"url": "https://u:secret@x.example"}, "address like", id="a password in the address"),
        pytest.param({"command": "x", "effects": {"a": "erase"}}, "effects", id="an unknown effect"),
    ],
)
def test_a_wrong_table_is_refused_without_its_values(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as refused:
        read_server("one", table)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "One", "1one", "a b", "a" * 33, "../x", "a.b"])
def test_a_name_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="a server's name"):
        read_server(name, {"command": "x"})


def test_a_key_goes_where_it_is_named_else_into_the_header_of_an_address() -> None:
    named = resolved({"command": "x", "env": {"TOKEN": "t-${api_key}"}, "api_key": "${KEY}"}, KEY="1")
    header = resolved({"url": "https://x.example/mcp", "api_key": "2"})
    own = read_server("one", {"url": "https://x.example/mcp", "credentials": "own"}).signed_in("3")

    assert named.env["TOKEN"].get_secret_value() == "t-1"
    assert header.headers["Authorization"].get_secret_value() == "Bearer 2"
    assert own.headers["Authorization"].get_secret_value() == "Bearer 3"


def test_the_settings_file_names_servers_and_refuses_one_with_the_name_of_a_pack(tmp_path: Path) -> None:
    (tmp_path / "dogubako.toml").write_text('[servers.web]\ncommand = "x"\n')
    sources = Sources(
        environ={"DOGUBAKO_DATA_DIR": str(tmp_path)}, env_file=None, config_file=tmp_path / "dogubako.toml"
    )

    with pytest.raises(SettingsError, match=r"\[servers\.web\] has the name of a pack"):
        build(sources)


@pytest.mark.anyio
async def test_a_missing_variable_breaks_one_server_and_costs_the_others_nothing(tmp_path: Path) -> None:
    fleet = Fleet(lists={"good": offering(tool("work"))})
    tables = {"good": {"pinning": "off"}, "bad": {"env": {"TOKEN": "${NO_SUCH}"}}}
    box = fleet.box(tmp_path, tables)
    async with box.running():
        await eventually(lambda: "work" in box.servers.packs["good"].served)
        findings = [one for one in await box.check() if one.subject == "bad"]

    assert box.servers.packs["bad"].state.name == "broken_configuration"
    assert [one.settings.command for one in fleet.upstreams] == ["x"]
    assert "NO_SUCH" in findings[0].message
    assert findings[0].severity == "warning"


@pytest.mark.anyio
async def test_patterns_include_and_exclude_tools_and_read_only_keeps_those_that_read(tmp_path: Path) -> None:
    reads: dict[str, Any] = {"annotations": {"readOnlyHint": True}}
    tools = [tool("list_a", **reads), tool("list_b"), tool("drop_a"), tool("get_a"), tool("get_b", **reads)]
    fleet = Fleet(lists={name: offering(*tools) for name in ("one", "two", "three")})
    tables = {
        "one": {"pinning": "off", "include": ["list_*", "drop_*"], "exclude": ["*_b"]},
        "two": {"pinning": "off", "read_only": True},
        "three": {"pinning": "off", "read_only": True, "effects": {"get_a": "read", "list_*": "destroy"}},
    }
    box = fleet.box(tmp_path, tables)
    async with box.running():
        await eventually(lambda: all(pack.served for pack in box.servers.packs.values()))
        served = {name: {one.remote_name for one in pack.served.values()} for name, pack in box.servers.packs.items()}

    assert served == {"one": {"list_a", "drop_a"}, "two": {"list_a", "get_b"}, "three": {"get_a", "get_b"}}


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        pytest.param(None, Effect.WRITE, id="none"),
        pytest.param({}, Effect.WRITE, id="empty"),
        pytest.param({"readOnlyHint": True}, Effect.READ, id="read-only"),
        pytest.param({"readOnlyHint": "true"}, Effect.WRITE, id="a text instead of true"),
        pytest.param({"destructiveHint": True}, Effect.DESTROY, id="destructive"),
        pytest.param({"readOnlyHint": False, "destructiveHint": False}, Effect.WRITE, id="neither"),
        pytest.param("read", Effect.WRITE, id="no object"),
    ],
)
def test_a_tool_without_annotations_may_write(tmp_path: Path, annotations: Any, effect: Effect) -> None:
    fleet = Fleet()
    pack = fleet.servers(tmp_path, {"one": {"pinning": "off"}}).packs["one"]
    pack.refresh(offering(tool("act", annotations=annotations)))

    assert pack.served["act"].effect is effect


@pytest.mark.anyio
async def test_words_of_the_operator_find_a_tool(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("xq_17", "Run it."), tool("xq_18", "Run it as well."))})
    box = fleet.box(tmp_path, {"one": {"pinning": "off", "words": {"*_17": "holiday calendar"}, "about": "days off"}})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        found = box.registry.search("holiday calendar")

    assert [match.entry.name for match in found.matches] == ["xq_17"]
    assert box.about("one") == "days off"
