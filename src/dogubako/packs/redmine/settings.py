"""Settings of the Redmine pack: URL, key and format of answers."""

from pathlib import Path
from typing import Final, Literal

from pydantic import SecretStr

from dogubako.contract.credentials import CredentialMode
from dogubako.contract.pack import setting, tables
from dogubako.outbound.service_settings import ServiceSettings

AnswerFormat = Literal["xml", "json"]

_EVERY_CALLER: Final = "*"


class RedmineSettings(ServiceSettings):
    """Settings of the Redmine pack."""

    example = "https://redmine.example.com"

    url: str | None = setting(None, "REDMINE_URL", "Address of Redmine, for example https://redmine.example.com")
    api_key: SecretStr | None = setting(None, "REDMINE_API_KEY", "A user's API key, from the page My account.")
    ca_bundle: Path | None = setting(
        None, "REDMINE_CA_BUNDLE", "File with the CA of Redmine's certificate, if it is your own."
    )
    credentials: CredentialMode = setting(
        "shared",
        "REDMINE_CREDENTIALS",
        "Whose key is used: shared (REDMINE_API_KEY), own (each caller needs one), own-or-shared, or switch-user "
        "(an administrator's key acts as each caller's login).",
    )
    credential_header: str | None = setting(
        None,
        "REDMINE_CREDENTIAL_HEADER",
        "Request header in which callers send their own key, for example X-Redmine-API-Key.",
    )
    logins: dict[str, str] = tables(
        "Redmine login of each caller, for switch-user: the name of its API key, or its OAuth subject. "
        '`"*" = "*"` means that they are the same.'
    )
    rules: str | None = setting(
        None, "REDMINE_RULES", "House rules for agents: markup, required fields, naming. They reach the model."
    )
    format: AnswerFormat = setting("xml", "REDMINE_FORMAT", "How answers are written: xml or json.")

    def login_of(self, caller: str) -> str:
        login = self.logins.get(caller, self.logins.get(_EVERY_CALLER, ""))
        return caller if login == _EVERY_CALLER else login
