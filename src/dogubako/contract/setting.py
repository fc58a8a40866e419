"""One setting: its default, the environment variable that sets it, and a line that explains it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class PackSettings(BaseModel):
    """Base of a pack's settings. In `dogubako.toml` they stand in a table of the pack's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoSettings(PackSettings):
    """For packs that need nothing."""


def setting(default: Any, env: str, description: str, **constraints: Any) -> Any:
    """A field of a settings model. Nothing is a setting that has no variable and no description."""
    return Field(default, description=description, json_schema_extra={"env": env}, **constraints)


def env_name(model: type[BaseModel], field: str) -> str:
    """The environment variable of a field."""
    extra = model.model_fields[field].json_schema_extra
    if not isinstance(extra, dict) or "env" not in extra:
        raise TypeError(f"{model.__name__}.{field} must be made with setting(…)")
    return str(extra["env"])


def secrets_of(model: BaseModel) -> list[str]:
    """Every secret value in a settings model, for masking."""
    values = (getattr(model, name) for name in type(model).model_fields)
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
