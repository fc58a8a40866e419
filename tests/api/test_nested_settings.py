"""Nested tables: `[servers.NAME]` in the settings file, for packs and later for the server itself."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from dogubako import Pack
from dogubako.contract.pack import PackSettings, secrets_of, setting, tables
from dogubako.settings import SettingsError, Sources


class Shop(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str
    key: SecretStr | None = None


class ShopSettings(PackSettings):
    currency: str = setting("JPY", "SHOP_CURRENCY", "What prices are in.")
    branches: dict[str, Shop] = tables("One table per branch.")


class ShopPack(Pack[ShopSettings, None]):
    name = "shop"
    settings = ShopSettings


def loaded(folder: Path, text: str) -> ShopSettings:
    path = folder / "dogubako.toml"
    path.write_text(text, encoding="utf-8")
    settings = Sources(environ={"SHOP_CURRENCY": "EUR"}, env_file=None, config_file=path).load_instances(ShopPack())[""]
    assert isinstance(settings, ShopSettings)
    return settings


def test_each_table_is_one_entry_and_its_secrets_are_known(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        '[shop.branches."京都"]\nurl = "https://kyoto.example"\nkey = "kyoto-secret"\n'
        '[shop.branches.otaru]\nurl = "https://otaru.example"\n',
    )

    assert list(settings.branches) == ["京都", "otaru"]
    assert settings.currency == "EUR"
    assert secrets_of(settings) == ["kyoto-secret"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("[shop.branches.otaru]\n", r"branches\.otaru\.url: Field required", id="a missing key"),
        pytest.param('[shop.branches.otaru]\nurl = "x"\nurll = "y"\n', r"branches\.otaru\.urll: Extra", id="a typo"),
        pytest.param("[shop]\nbranches = 3\n", r"branches: Input should be a valid dict", id="no tables"),
    ],
)
def test_what_is_wrong_in_a_table_is_named_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        loaded(tmp_path, text)
