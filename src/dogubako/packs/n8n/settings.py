"""Where n8n is, and the key to it."""

from pathlib import Path

from pydantic import SecretStr, field_validator

from dogubako.contract.setting import setting
from dogubako.outbound.address import ServiceSettings


class N8nSettings(ServiceSettings):
    """Settings of the n8n pack."""

    example = "https://n8n.example.com"

    url: str | None = setting(None, "N8N_URL", "Address of n8n, for example https://n8n.example.com")
    api_key: SecretStr | None = setting(None, "N8N_API_KEY", "Key of n8n's public API.")
    ca_bundle: Path | None = setting(None, "N8N_CA_BUNDLE", "File with the CA of n8n's certificate, if it is your own.")

    @field_validator("url")
    @classmethod
    def _without_the_api(cls, value: str | None) -> str | None:
        # People copy the address of the API as often as that of the editor.
        return value.removesuffix("/api/v1") if value else None
