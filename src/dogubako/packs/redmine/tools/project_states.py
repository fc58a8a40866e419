"""Close, reopen, archive and unarchive projects."""

from typing import Final, Literal

from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Message
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.errors import RedmineRefused, Undone
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.models import ACTIVE, ARCHIVED, CLOSED, PROJECT, PROJECT_STATES, Json
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.base import WritingTool
from dogubako.packs.redmine.tools.projects import ProjectRecordArgs

Turn = Literal["close", "reopen", "archive", "unarchive"]
_STATE_AFTER: Final = {"close": CLOSED, "reopen": ACTIVE, "archive": ARCHIVED, "unarchive": ACTIVE}


class _StateTool(WritingTool[ProjectRecordArgs]):
    """Turns a project into another state, and looks whether it is in it."""

    kind = PROJECT
    idempotent = True
    tags = ("projects",)

    async def turned(self, args: ProjectRecordArgs, turn: Turn) -> Answered:
        id_ = await self.client.names.project_or_archived(args.id, "id")
        asked = to(turn, PROJECT, id_)
        await self.client.writing.sent("PUT", place("projects", id_, turn), asked, PROJECT, turn, None, id_)
        now, wanted = await self._now(id_), _STATE_AFTER[turn]
        state = int(now.get("status", 0))
        if state != wanted:
            reason = f"the project is {PROJECT_STATES.get(state, 'not visible')} now"
            undone = [Undone(field="status", reason=reason)]
            await self.client.writing.check(PROJECT, "update", {}, {"id": id_}, undone)
        shown = {"id": now["id"], "status": {"id": state, "name": PROJECT_STATES[state]}}
        message = Message(en=f"Project {now['id']} is {PROJECT_STATES[state]}", ja="プロジェクトの状態を変更しました")
        return self.answers.record(PROJECT, shown, message=message)

    async def _now(self, id_: IdOrName) -> Json:
        """Redmine shows an archived project to nobody; 403 is the only sign of it."""
        try:
            return await self.client.records.show(PROJECT, id_)
        except RedmineRefused as refusal:
            if refusal.status_code == 403:
                return {"id": id_, "status": ARCHIVED}
            raise
        except NotFoundError:
            return {"id": id_}


class CloseProject(_StateTool):
    """Close a project: everything in it can be read, and nothing changed."""

    name = "close_project"
    act = "close"
    keywords = {"ja": "プロジェクト 終了"}

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "close")


class ReopenProject(_StateTool):
    """Open a closed project again."""

    name = "reopen_project"
    act = "reopen"
    keywords = {"ja": "プロジェクト 再開"}

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "reopen")


class ArchiveProject(_StateTool):
    """Archive a project with its subprojects: nobody can see them until they are unarchived."""

    name = "archive_project"
    act = "archive"
    keywords = {"ja": "プロジェクト アーカイブ"}

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "archive")


class UnarchiveProject(_StateTool):
    """Bring an archived project back."""

    name = "unarchive_project"
    act = "unarchive"
    keywords = {"ja": "プロジェクト アーカイブ解除"}

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "unarchive")


TOOLS = (CloseProject, ReopenProject, ArchiveProject, UnarchiveProject)
