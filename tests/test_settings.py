"""Settings: who wins, and what a mistake sounds like."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from dogubako import Pack
from dogubako.app import build
from dogubako.contract.pack import env_name, secrets_of
from dogubako.settings import Settings, SettingsError, Sources
from dogubako.tools import MissingSetting, PackSettings, setting


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the person who runs the tests."""
    monkeypatch.chdir(tmp_path)


def _sources(
    environ: dict[str, str] | None = None, overrides: dict[str, object] | None = None, toml: str | None = None
) -> Sources:
    if toml is not None:
        Path("dogubako.toml").write_text(toml, encoding="utf-8")
    return Sources(overrides=overrides, environ=environ or {})


def test_every_source_wins_over_the_ones_below_it() -> None:
    Path(".env").write_text("PORT=4002\n", encoding="utf-8")
    toml = "port = 4001\n"

    assert _sources().load().port == 4002
    assert _sources(toml=toml).load().port == 4002
    assert _sources({"PORT": "4003"}, toml=toml).load().port == 4003
    assert _sources({"PORT": "4003"}, {"port": 4004}, toml).load().port == 4004
    Path(".env").unlink()
    assert _sources(toml=toml).load().port == 4001
    Path("dogubako.toml").unlink()
    assert _sources().load().port == 3000


def test_lists_are_written_with_commas_or_as_lists() -> None:
    assert _sources({"CORS_ORIGIN": "https://a.example, https://b.example"}).load().cors_origin == (
        "https://a.example",
        "https://b.example",
    )
    assert _sources(toml='packs = ["n8n", "web"]\n').load().packs == ("n8n", "web")


@pytest.mark.parametrize(
    ("environ", "toml", "sentence"),
    [
        pytest.param(
            {"DOGUBAKO_REED_ONLY": "true"},
            None,
            "Unknown setting DOGUBAKO_REED_ONLY. Did you mean DOGUBAKO_READ_ONLY?",
            id="unknown variable",
        ),
        pytest.param(
            {}, "prot = 1\n", "dogubako.toml: unknown key 'prot'. Did you mean port?", id="unknown key in the file"
        ),
        pytest.param(
            {"PORT": "many"},
            None,
            "Invalid setting: PORT: Input should be a valid integer, unable to parse string as an integer.",
            id="not a number",
        ),
        pytest.param(
            {"PORT": "70000"},
            None,
            "Invalid setting: PORT: Input should be less than or equal to 65535.",
            id="out of range",
        ),
        pytest.param(
            {}, 'log_level = "loud"\n', "Invalid setting: LOG_LEVEL: Input should be 'fatal', 'error'", id="not a level"
        ),
        pytest.param(
            {"DOGUBAKO_REQUEST_STATE_KEY": "short"},
            None,
            "Invalid setting: DOGUBAKO_REQUEST_STATE_KEY: must have at least 32 characters.",
            id="a short key",
        ),
        pytest.param(
            {"DOGUBAKO_AUTH": "oauth"},
            None,
            "Invalid setting: DOGUBAKO_AUTH=oauth needs DOGUBAKO_OAUTH_ISSUER and DOGUBAKO_OAUTH_AUDIENCE.",
            id="a guard that does not know whom to trust",
        ),
        pytest.param({}, "port = = 1\n", "dogubako.toml: not valid TOML", id="a broken file"),
        pytest.param(
            {"DOGUBAKO_CACHE": "coffee"},
            None,
            "Invalid setting: DOGUBAKO_CACHE: String should match pattern",
            id="a word that contains a right one",
        ),
        pytest.param(
            {"PORT": "70000", "ENVIRONMENT": "testing"},
            None,
            "Invalid setting: PORT: Input should be less than or equal to 65535; ENVIRONMENT: Input should be",
            id="two mistakes at once",
        ),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_setting(
    environ: dict[str, str], toml: str | None, sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        _sources(environ, toml=toml).load()

    assert str(caught.value).startswith(sentence)
    assert "short" not in str(caught.value)


def test_a_mistake_in_the_env_file_is_named_as_well() -> None:
    Path(".env").write_text("DOGUBAKO_LNAG=ja\n", encoding="utf-8")

    with pytest.raises(SettingsError, match=r"Unknown setting DOGUBAKO_LNAG\. Did you mean DOGUBAKO_LANG\?"):
        _sources().load()


PROPOSALS = [
    pytest.param("DOGUBAKO_HOST", "Did you mean HOST?", id="a name of ours without the prefix"),
    pytest.param("DOGUBAKO_PORT", "Did you mean PORT?", id="a short one"),
    pytest.param("DOGUBAKO_LOG_LEVEL", "Did you mean LOG_LEVEL?", id="one of two words"),
    pytest.param("DOGUBAKO_RATE_LIMIT_MAXX", "Did you mean RATE_LIMIT_MAX?", id="misspelt, and without the prefix"),
    pytest.param("DOGUBAKO_ALOWED_HOSTS", "Did you mean DOGUBAKO_ALLOWED_HOSTS?", id="misspelt, with the prefix"),
    pytest.param("DOGUBAKO_N8N_URL", "If it is one of a pack, its name is N8N_URL.", id="one of a pack"),
    pytest.param("DOGUBAKO_COLOUR", "If it is one of a pack, its name is COLOUR.", id="nobody's"),
    pytest.param("DOGUBAKO_", "", id="no name"),
    pytest.param(
        "DOGUBAKO_ALLOW_UNAUTHENTICATED",
        "It is the flag --allow-unauthenticated of `dogubako serve`.",
        id="what has to be said every time",
    ),
    pytest.param("DOGUBAKO_WORKERS", "It is the flag --workers of `dogubako serve`.", id="another flag"),
]


@pytest.mark.parametrize(("variable", "proposal"), PROPOSALS)
def test_what_is_proposed_is_what_was_meant_or_nothing(variable: str, proposal: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _sources({variable: "1"}).load()

    assert str(caught.value) == f"Unknown setting {variable}. {proposal}".rstrip()


def test_a_password_inside_of_an_address_is_not_printed() -> None:
    command = [sys.executable, "-m", "dogubako", "config", "--json"]
    environ = {**os.environ, "DOGUBAKO_CACHE": "redis://:pa55word@127.0.0.1:6379/0"}

    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=60)

    assert "redis://***@127.0.0.1:6379/0" in said.stdout
    assert "pa55word" not in said.stdout + said.stderr


def test_a_settings_file_that_was_named_must_exist() -> None:
    with pytest.raises(SettingsError, match=r"Configuration file not found: nowhere\.toml"):
        Sources(environ={}, config_file=Path("nowhere.toml"))


def test_every_setting_has_a_variable_and_a_line_that_explains_it() -> None:
    variables = [env_name(Settings, name) for name in Settings.model_fields]

    assert len(set(variables)) == len(variables)
    assert not [name for name, field in Settings.model_fields.items() if not field.description]


class ShelfSettings(PackSettings):
    url: str | None = setting(None, "SHELF_URL", "Where the shelf is.")
    api_key: SecretStr | None = setting(None, "SHELF_API_KEY", "Its key.")


class ShelfPack(Pack[ShelfSettings, None]):
    name = "shelf"
    settings = ShelfSettings

    def unconfigured(self, settings: ShelfSettings) -> MissingSetting | None:
        return None if settings.url else MissingSetting(reason="No shelf is configured.", setting="SHELF_URL")


def test_a_pack_reads_its_variables_and_its_table() -> None:
    sources = _sources({"SHELF_API_KEY": "topsecret"}, toml='[shelf]\nurl = "http://127.0.0.1"\n')

    box = build(sources, packs=[ShelfPack()])

    settings = box.packs["shelf"].settings
    assert isinstance(settings, ShelfSettings)
    assert settings.url == "http://127.0.0.1"
    assert secrets_of(settings) == ["topsecret"]
    assert box.packs["shelf"].unconfigured is None
    assert box.redactor.mask_all("the key is topsecret!") == "the key is ***!"


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        pytest.param(
            "[shelf]\nulr = 1\n", "dogubako.toml: unknown key 'ulr'. Did you mean url?", id="unknown key of a pack"
        ),
        pytest.param(
            "[shelv]\n", r"dogubako.toml: unknown table '[shelv]'. Did you mean shelf?", id="table of no pack"
        ),
        pytest.param(
            "[shelf]\nurl = 5\n", "Invalid setting: SHELF_URL: Input should be a valid string.", id="bad value"
        ),
    ],
)
def test_a_mistake_in_a_packs_settings_is_named_too(toml: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        build(_sources(toml=toml), packs=[ShelfPack()])

    assert str(caught.value) == sentence


def test_a_field_without_a_variable_is_a_mistake_of_its_author() -> None:
    class Careless(PackSettings):
        url: str = ""

    with pytest.raises(TypeError, match=r"Careless\.url must be made with setting"):
        env_name(Careless, "url")
