"""Where Redmine is, the key to it, and how its answers look."""

from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from dogubako.contract.setting import setting
from dogubako.outbound.address import ServiceSettings

AnswerFormat = Literal["xml", "json"]


class RedmineSettings(ServiceSettings):
    """Settings of the Redmine pack."""

    example = "https://redmine.example.com"

    url: str | None = setting(None, "REDMINE_URL", "Address of Redmine, for example https://redmine.example.com")
    api_key: SecretStr | None = setting(None, "REDMINE_API_KEY", "A user's API key, from the page My account.")
    ca_bundle: Path | None = setting(
        None, "REDMINE_CA_BUNDLE", "File with the CA of Redmine's certificate, if it is your own."
    )
    format: AnswerFormat = setting("xml", "REDMINE_FORMAT", "How answers are written: xml or json.")
