"""Settings of the n8n pack: URL, key, logins of webhooks and node types."""

import base64
from pathlib import Path

from pydantic import SecretStr, field_validator

from dogubako.contract.credentials import CredentialMode
from dogubako.contract.pack import PackSettings, setting, tables
from dogubako.outbound.service_settings import ServiceSettings


class WebhookLogin(PackSettings):
    """Secrets for webhooks that ask for a login: user and password, a header with its value, or a bearer token."""

    user: str | None = None
    password: SecretStr | None = None
    header: str | None = None
    value: SecretStr | None = None
    token: SecretStr | None = None

    def headers(self) -> dict[str, str]:
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token.get_secret_value()}"}
        if self.header is not None and self.value is not None:
            return {self.header: self.value.get_secret_value()}
        password = self.password.get_secret_value() if self.password is not None else ""
        login = base64.b64encode(f"{self.user or ''}:{password}".encode()).decode()
        return {"Authorization": f"Basic {login}"}


class N8nSettings(ServiceSettings):
    """Settings of the n8n pack."""

    example = "https://n8n.example.com"

    url: str | None = setting(None, "N8N_URL", "Address of n8n, for example https://n8n.example.com")
    api_key: SecretStr | None = setting(None, "N8N_API_KEY", "Key of n8n's public API.")
    mcp_token: SecretStr | None = setting(
        None, "N8N_MCP_TOKEN", "Token of n8n's own MCP server, for node types and for runs without a webhook."
    )
    webhook_logins: dict[str, WebhookLogin] = tables(
        "Logins of webhooks, by name: user and password, header and value, or token."
    )
    node_types: Path | None = setting(
        None,
        "N8N_NODE_TYPES",
        "Folder of your own n8n installation, to read its node types from. They are read at run time.",
    )
    backup_days: int = setting(
        30,
        "N8N_BACKUP_DAYS",
        "Days for which all processes share backups of a workflow after its last change, with DOGUBAKO_SHARED.",
        ge=1,
        le=3650,
    )
    ca_bundle: Path | None = setting(None, "N8N_CA_BUNDLE", "File with the CA of n8n's certificate, if it is your own.")
    credentials: CredentialMode = setting(
        "shared",
        "N8N_CREDENTIALS",
        "Whose key is used: shared (N8N_API_KEY), own (each caller needs one), or own-or-shared.",
    )
    credential_header: str | None = setting(
        None, "N8N_CREDENTIAL_HEADER", "Request header in which callers send their own key, for example X-N8N-API-KEY."
    )

    @field_validator("credentials")
    @classmethod
    def _cannot_act_as_others(cls, value: CredentialMode) -> CredentialMode:
        if value == "switch-user":
            raise ValueError("n8n cannot act as another user; use own or own-or-shared")
        return value

    @field_validator("url")
    @classmethod
    def _without_the_api(cls, value: str | None) -> str | None:
        # People also copy the URL of the API instead of that of the editor.
        return value.removesuffix("/api/v1") if value else None
