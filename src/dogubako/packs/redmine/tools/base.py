"""What all tools of this pack share: the kind of record, and words for a refusal."""

from abc import abstractmethod
from typing import Any, ClassVar

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.contract.guidance import example_call
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Content, Deferred
from dogubako.contract.tool import ArgsT, BaseTool, ToolArgs
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters.answers import Answers
from dogubako.packs.redmine.models import PROJECT, Json, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.writing import Outcome


class RedmineTool(BaseTool[ArgsT, RedmineClient]):
    """A tool about one kind of record. `act` is what it does to it, as `Kind.needs` spells it."""

    kind: ClassVar[Kind]
    act: ClassVar[str] = "show"

    async def execute(self, args: ArgsT) -> Content | Deferred:
        try:
            return await self.work(args)
        except RedmineRefused as refusal:
            if refusal.explained:
                raise
            argument = "id" if self.kind is PROJECT else "project_id"
            project = await self._place_of(getattr(args, argument, None))
            raise await self.client.access.explained(refusal, self.kind, self.act, project) from refusal

    async def _place_of(self, given: IdOrName | None) -> IdOrName | None:
        """Redmine finds a project by id and identifier, not by name."""
        if given is None or isinstance(given, int) or given.islower():
            return given
        try:
            return await self.client.names.project(given)
        except DogubakoError:
            return given

    @abstractmethod
    async def work(self, args: ArgsT) -> Content | Deferred:
        """Do it, and let Redmine's refusals pass."""

    @property
    def answers(self) -> Answers:
        return self.client.answers


class ReadingTool(RedmineTool[ArgsT]):
    """Looks and changes nothing."""

    effect = Effect.READ


class WritingTool(RedmineTool[ArgsT]):
    """Changes something, and has read it back when it answers."""

    effect = Effect.WRITE


class DeletingTool(RedmineTool[ArgsT]):
    """Destroys something, once it was said that this is meant."""

    effect = Effect.DESTROY
    act = "delete"


def given(args: ToolArgs, *without: str) -> Json:
    """What the caller really said, explicit nulls included."""
    return args.model_dump(exclude_unset=True, exclude=set(without), by_alias=True)


def changes(args: ToolArgs) -> Json:
    """What an update is to change; nothing at all is a mistake."""
    said = given(args, "id")
    if not said:
        fields = ", ".join(name for name in type(args).model_fields if name != "id")
        raise ValidationError.of("id", f"Nothing to change: name at least one of {fields}")
    return said


def told(shown: Json, outcome: Outcome) -> Json:
    """The record, and what changed in it without being asked for."""
    return {**shown, "also_changed": outcome.also_changed} if outcome.also_changed else shown


def next_page(name: str, args: ToolArgs) -> Any:
    """Writes the same call again, from another offset on."""
    said = {key: value for key, value in given(args, "offset").items() if value is not None}
    return lambda offset: example_call(name, **said, offset=offset)
