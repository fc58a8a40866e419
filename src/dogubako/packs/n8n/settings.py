"""Where n8n is, and the key to it."""

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, field_validator

from dogubako.contract.setting import PackSettings, setting


class N8nSettings(PackSettings):
    """Settings of the n8n pack."""

    url: str | None = setting(None, "N8N_URL", "Address of n8n, for example https://n8n.example.com")
    api_key: SecretStr | None = setting(None, "N8N_API_KEY", "Key of n8n's public API.")
    ca_bundle: Path | None = setting(None, "N8N_CA_BUNDLE", "File with the CA of n8n's certificate, if it is your own.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        given = (value or "").strip()
        if not given:
            return None
        if not _is_address(given):
            raise ValueError("must be an address like https://n8n.example.com")
        parts = urlsplit(given)
        if parts.username or parts.password:
            raise ValueError("must not hold a user name or password")
        # People copy the address of the API as often as that of the editor.
        return given.rstrip("/").removesuffix("/api/v1")

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        given = value.get_secret_value().strip() if value else ""
        if any(not "!" <= character <= "~" for character in given):
            raise ValueError("must consist of plain characters, without spaces")
        return SecretStr(given) if given else None

    @field_validator("ca_bundle")
    @classmethod
    def _is_there(cls, value: Path | None) -> Path | None:
        if value is None:
            return None
        if not value.is_file():
            raise ValueError("there is no such file")
        try:
            ssl.create_default_context(cafile=value)
        except OSError:
            raise ValueError("there is no certificate in it that can be read") from None
        return value

    @property
    def address(self) -> str:
        return self.url or ""

    @property
    def key(self) -> str:
        return self.api_key.get_secret_value() if self.api_key else ""


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port != 0
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or any(character.isspace() for character in text))
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain and port_is_fine
