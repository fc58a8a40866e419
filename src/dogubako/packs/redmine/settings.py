"""Where Redmine is, the key to it, and how its answers look."""

from pathlib import Path
from typing import Literal

from pydantic import SecretStr, field_validator

from dogubako.contract.setting import PackSettings, setting
from dogubako.outbound.address import checked_address, checked_ca_bundle, checked_key

AnswerFormat = Literal["xml", "json"]


class RedmineSettings(PackSettings):
    """Settings of the Redmine pack."""

    url: str | None = setting(None, "REDMINE_URL", "Address of Redmine, for example https://redmine.example.com")
    api_key: SecretStr | None = setting(None, "REDMINE_API_KEY", "A user's API key, from the page My account.")
    format: AnswerFormat = setting("xml", "REDMINE_FORMAT", "How answers are written: xml or json.")
    ca_bundle: Path | None = setting(
        None, "REDMINE_CA_BUNDLE", "File with the CA of Redmine's certificate, if it is your own."
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return checked_address(value, "https://redmine.example.com")

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        return checked_key(value)

    @field_validator("ca_bundle")
    @classmethod
    def _is_there(cls, value: Path | None) -> Path | None:
        return checked_ca_bundle(value)

    @property
    def address(self) -> str:
        return self.url or ""

    @property
    def key(self) -> str:
        return self.api_key.get_secret_value() if self.api_key else ""
