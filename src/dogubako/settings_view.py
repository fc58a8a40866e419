"""The settings in force, secrets masked, and where each comes from."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, SecretStr

from dogubako.contract.pack import env_name, has_tables
from dogubako.contract.redaction import MASK, Redactor
from dogubako.settings import Settings, Sources

SettingSource = Literal["command line", "environment", ".env", "file", "default", "sandbox"]


class ShownSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as people read it."""

    section: str
    variable: str
    value: str
    meaning: str
    source: SettingSource


def masked_value(value: Any) -> Any:
    """The value with its secrets masked, as a plain value."""
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, dict):
        return {key: masked_value(nested) for key, nested in value.items()}
    if isinstance(value, BaseModel):
        return {name: masked_value(one) for name, one in value}
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    # A URL may hold a password.
    return value if isinstance(value, int | float | bool | None) else Redactor().mask_all(str(value))


def shown_settings(
    section: str, model: BaseModel, sources: Sources, *, sandboxed: bool = False
) -> Iterator[ShownSetting]:
    """One row per setting. `section` is the table of the file that holds them; empty for the server's own."""
    for name, value in model:
        field = type(model).model_fields[name]
        if field.exclude:
            continue
        variable = _variable(type(model), name)
        yield ShownSetting(
            section=section,
            variable=variable,
            value=as_written(value),
            meaning=str(field.description or ""),
            source="sandbox" if sandboxed else _source(section, model, name, variable, sources),
        )


def as_written(value: Any) -> str:
    """The value as a file or a variable has it; empty where nothing is set."""
    if value in (None, "", (), {}):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(masked_value(value))


def _variable(model: type[BaseModel], name: str) -> str:
    """The environment variable, or the key of a table that no variable sets."""
    if has_tables(model, name):
        return f"[{name}]"
    is_in_a_table = isinstance(getattr(model, "table", None), str) and model.table  # type: ignore[attr-defined]
    return name if is_in_a_table else env_name(model, name)


def _source(section: str, model: BaseModel, name: str, variable: str, sources: Sources) -> SettingSource:
    if isinstance(model, Settings) and name in sources.overrides:
        return "command line"
    if variable in sources.environ:
        return ".env" if variable in sources.dotenv else "environment"
    table: Any = sources.file
    for part in section.split(".") if section else ():
        table = table.get(part, {})
    return "file" if name in table else "default"
