"""Base classes of the tools, and arguments that many of them share."""

import re
from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dogubako.contract.errors import DogubakoError, NotFoundError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Content, Deferred, example_call
from dogubako.contract.tool import ArgsT, BaseTool, ToolArgs
from dogubako.packs.redmine.answers import Answers
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.models import PROJECT, JsonObject, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.writes import Outcome

_NUMBERED = re.compile(r"\s*#(\d{1,9})\s*", re.ASCII)
ProjectId = Annotated[IdOrName, Field(description="Project: id, identifier or name.")]
Day = Annotated[str, Field(min_length=1, description="A day: '2026-11-15', '2026/11/15', 'today' or '昨日'.")]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Offset = Annotated[int, Field(ge=0, le=10_000_000, description="How many to leave out before the first.")]


class RecordArgs(ToolArgs):
    id: int = Field(ge=1, description="The record's id.")

    @field_validator("id", mode="before")
    @classmethod
    def _without_hash(cls, value: Any) -> Any:
        """People write an issue as `#325`."""
        numbered = _NUMBERED.fullmatch(value) if isinstance(value, str) else None
        return int(numbered[1]) if numbered else value


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


class RedmineTool(BaseTool[ArgsT, RedmineClient]):
    """A tool for one kind of record. `act` is its action, as in `Kind.needs`."""

    kind: ClassVar[Kind]
    act: ClassVar[str] = "show"

    async def execute(self, args: ArgsT) -> Content | Deferred:
        argument = "id" if self.kind is PROJECT else "project_id"
        try:
            return await self.work(args)
        except NotFoundError:
            if self.kind.module is not None and getattr(args, argument, None) is not None:
                await self.client.access.check_module(self.kind, await self._place_of(getattr(args, argument)))
            raise
        except RedmineRefused as refusal:
            if refusal.explained:
                raise
            project = await self._place_of(getattr(args, argument, None))
            raise await self.client.access.explained(refusal, self.kind, self.act, project) from refusal

    async def _place_of(self, value: IdOrName | None) -> IdOrName | None:
        """An id or identifier: Redmine does not find a project by name."""
        if value is None or isinstance(value, int) or value.islower():
            return value
        try:
            return await self.client.names.project(value)
        except DogubakoError:
            return value

    @abstractmethod
    async def work(self, args: ArgsT) -> Content | Deferred:
        """Do the work. Redmine's refusals are raised."""

    @property
    def answers(self) -> Answers:
        return self.client.answers


class ReadingTool(RedmineTool[ArgsT]):
    """A tool that only reads."""

    effect = Effect.READ


class WritingTool(RedmineTool[ArgsT]):
    """A tool that writes and reads the result back."""

    effect = Effect.WRITE


class DeletingTool(RedmineTool[ArgsT]):
    """A tool that deletes, after a confirmation."""

    effect = Effect.DESTROY
    act = "delete"


def sent_arguments(args: ToolArgs, *without: str) -> JsonObject:
    """The arguments that the caller sent, explicit nulls included."""
    return args.model_dump(exclude_unset=True, exclude=set(without), by_alias=True)


def changes(args: ToolArgs) -> JsonObject:
    """The changes of an update; an empty update is an error."""
    arguments = sent_arguments(args, "id")
    if not arguments:
        fields = ", ".join(name for name in type(args).model_fields if name != "id")
        raise ValidationError.of("id", f"Nothing to change: name at least one of {fields}")
    return arguments


def with_unrequested(shown: JsonObject, outcome: Outcome) -> JsonObject:
    """The record, with the changes that were not requested."""
    return {**shown, "also_changed": outcome.also_changed} if outcome.also_changed else shown


def next_page(name: str, args: ToolArgs) -> Any:
    """A function that writes the same call with another offset."""
    arguments = {key: value for key, value in sent_arguments(args, "offset").items() if value is not None}
    return lambda offset: example_call(name, **arguments, offset=offset)
