"""`DOGUBAKO_SHARED`: which addresses it takes, what it needs, and what is shown of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dogubako.cli.main import app
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.server import serve
from dogubako.settings import Settings, SettingsError, Sources
from tests.gate.sheds import shed_in
from tests.shared_redis import KEY, shared_settings


def load(**values: Any) -> Settings:
    return Sources.only({"request_state_key": KEY, **values}).load()


@pytest.mark.parametrize(
    "address",
    [
        "redis://localhost",
        "redis://user:password@redis.example.com:6380/2",
        "rediss://user:password@redis.example.com/0?ssl_ca_certs=/etc/ca.pem",
        "redis://[::1]:6379/0",
        "redis+cluster://user:password@a:7000,b:7001,[::1]:7002",
        "rediss+cluster://a,b/0?ssl_ca_certs=/etc/ca.pem",
        "redis+sentinel://user:password@a:26379,b/mymaster/2",
        "rediss+sentinel://a/mymaster?sentinel_username=u&sentinel_password=p",
    ],
)
def test_an_address_with_a_user_a_database_and_tls_is_taken(address: str) -> None:
    assert load(shared=address).shared == address


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("memcached://host", "must be an address like redis://user:password@host:6379/0"),
        ("localhost:6379", "must be an address like"),
        ("unix:///run/redis.sock", "must be an address like"),
        ("redis://", "must be an address like"),
        ("redis://host:0", "must be an address like"),
        ("redis://host:port", "must be an address like"),
        ("redis+cluster://a:1,:2", "must be an address like"),
        ("redis+ring://a:1", "must be an address like"),
        ("redis://s3cr3t-a,b", "must name one host; several are an address of redis+cluster:// or redis+sentinel://"),
        ("redis+cluster://a,b/2", "must name no database"),
        ("redis+sentinel://s3cr3t-a,b", "must end with the name of the master that Sentinel watches"),
    ],
)
def test_any_other_address_is_refused_with_a_sentence_that_does_not_repeat_it(address: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(shared=address)

    assert str(refused.value).startswith(f"Invalid setting: DOGUBAKO_SHARED: {sentence}")
    assert "s3cr3t" not in str(refused.value)
    assert address not in str(refused.value).replace("redis://user:password@host:6379/0", "")


def test_it_needs_the_key_that_all_processes_have() -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_SHARED needs DOGUBAKO_REQUEST_STATE_KEY, the same in every"):
        Sources.only({"shared": "redis://localhost"}).load()


@pytest.mark.parametrize("prefix", ["", "a:b", "a b", "x" * 65, "[hash]"])
def test_a_prefix_that_could_be_taken_for_a_pattern_or_a_part_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_SHARED_PREFIX"):
        load(shared="redis://localhost", shared_prefix=prefix)


def test_names_of_keys_begin_with_the_prefix() -> None:
    shared = SharedRedis(shared_settings("redis://localhost", shared_prefix="team-a"))

    assert shared.name("running", "x") == "team-a:running:x"


def test_in_a_cluster_the_prefix_is_the_hash_tag_of_all_names() -> None:
    shared = SharedRedis(shared_settings("redis+cluster://localhost", shared_prefix="team-a"))

    assert shared.name("running", "x") == "{team-a}:running:x"


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("redis://user:s3cr3t@host", "host:6379"),
        ("redis+cluster://user:s3cr3t@a:7000,[::1]", "cluster a:7000, [::1]:6379"),
        ("redis+sentinel://user:s3cr3t@a,b:5/mymaster/1", "mymaster, by Sentinel a:26379, b:5"),
    ],
)
def test_people_are_told_where_it_is_without_the_password(address: str, place: str) -> None:
    assert SharedRedis(shared_settings(address)).place == place


def test_a_key_that_only_opens_needs_one_that_seals_and_the_same_length() -> None:
    with pytest.raises(SettingsError, match="KEYS_OLD needs DOGUBAKO_REQUEST_STATE_KEY"):
        Sources.only({"request_state_keys_old": KEY.replace(",", "")}).load()
    with pytest.raises(SettingsError, match="KEYS_OLD: each must have at least 32 characters"):
        load(request_state_keys_old=f"{'x' * 32}, short")
    assert len(load(request_state_keys_old=f"{'x' * 32}, {'y' * 32}").request_state_keys_old) == 2


def test_config_shows_it_without_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    variables = {"DOGUBAKO_SHARED": "redis://user:s3cr3t-of-redis@host", "DOGUBAKO_REQUEST_STATE_KEY": KEY}
    shown = CliRunner().invoke(app, ["config", "--json"], env=variables)

    assert shown.exit_code == 0 and "s3cr3t" not in shown.output
    assert "host" in json.loads(shown.output)["dogubako"]["shared"]


def test_an_address_with_an_option_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_SHARED: not a valid redis:// address"):
        SharedRedis(shared_settings("redis://:s3cr3t@localhost/0?socket_timeout=soon"))


def test_a_sandbox_is_not_served_by_workers_that_share_nothing(tmp_path: Path) -> None:
    box = shed_in(tmp_path, port=0)
    box.packs["shed"].sandbox = object()  # type: ignore[assignment]

    with pytest.raises(SettingsError, match="The sandbox keeps what tools change in one process"):
        serve(box, workers=2)
