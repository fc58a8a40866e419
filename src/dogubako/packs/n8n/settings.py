"""Where n8n is, and the key to it."""

from pathlib import Path

from pydantic import SecretStr, field_validator

from dogubako.contract.setting import PackSettings, setting
from dogubako.outbound.address import checked_address, checked_ca_bundle, checked_key


class N8nSettings(PackSettings):
    """Settings of the n8n pack."""

    url: str | None = setting(None, "N8N_URL", "Address of n8n, for example https://n8n.example.com")
    api_key: SecretStr | None = setting(None, "N8N_API_KEY", "Key of n8n's public API.")
    ca_bundle: Path | None = setting(None, "N8N_CA_BUNDLE", "File with the CA of n8n's certificate, if it is your own.")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        address = checked_address(value, "https://n8n.example.com")
        # People copy the address of the API as often as that of the editor.
        return address.removesuffix("/api/v1") if address else None

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
