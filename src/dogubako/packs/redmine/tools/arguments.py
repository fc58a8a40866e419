"""Arguments that many tools share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dogubako.contract.tool import ToolArgs

_DAY = r"^\d{4}-\d{2}-\d{2}$"

IdOrName = int | str
ProjectId = Annotated[IdOrName, Field(description="Project: id, identifier or name.")]
Day = Annotated[str, Field(pattern=_DAY, description="A day, for example '2026-11-15'.")]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Offset = Annotated[int, Field(ge=0, le=10_000_000, description="How many to leave out before the first.")]


class RecordArgs(ToolArgs):
    id: int = Field(ge=1, description="The record's id.")


class CustomFieldValue(BaseModel):
    """A custom field, by id or by name, and its value."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: int | None = Field(None, description="Id of the custom field; or give its name.")
    name: str | None = Field(None, description="Name of the custom field; or give its id.")
    value: str | int | float | bool | list[str | int] | None = Field(
        description="The value; several for a field that takes several; empty or null to clear it."
    )

    @model_validator(mode="after")
    def _is_named(self) -> "CustomFieldValue":
        if (self.id is None) == (self.name is None):
            raise ValueError("give either the id or the name of the custom field")
        return self

    @property
    def which(self) -> IdOrName:
        return self.id if self.id is not None else self.name or ""


CustomFieldValues = Annotated[
    list[CustomFieldValue], Field(description="Custom fields: [{'name': 'Customer', 'value': 'ACME'}].")
]


class Upload(BaseModel):
    """A file that upload_attachment has sent already."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    token: str = Field(min_length=1, description="Token of upload_attachment.")
    filename: str | None = Field(None, description="Name of the file.")
    description: str | None = Field(None, description="What the file is.")
    content_type: str | None = Field(None, description="Its type, for example 'image/png'.")

    def as_sent(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


Uploads = Annotated[list[Upload], Field(description="Files to attach, as upload_attachment returned them.")]
