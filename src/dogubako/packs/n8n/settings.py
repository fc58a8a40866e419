"""Where n8n is, and the key to it."""

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
        parts = urlsplit(value or "http://none")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address like https://n8n.example.com")
        if parts.username or parts.password:
            raise ValueError("must not hold a user name or password")
        # People copy the address of the API as often as that of the editor.
        return value.rstrip("/").removesuffix("/api/v1") if value else None

    @field_validator("ca_bundle")
    @classmethod
    def _is_there(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError("there is no such file")
        return value

    @property
    def address(self) -> str:
        return self.url or ""

    @property
    def key(self) -> str:
        return self.api_key.get_secret_value() if self.api_key else ""
