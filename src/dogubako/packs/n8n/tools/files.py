"""Workflows from files, below the folders that an operator opened."""

from typing import Annotated

from pydantic import Field

from dogubako.contract.metadata import Effect
from dogubako.contract.output import Output
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.rewriting import Rewriting
from dogubako.packs.n8n.tools.workflow_changes import changed, created
from dogubako.packs.n8n.tools.workflows import WorkflowId

FilePath = Annotated[
    str, Field(min_length=1, description="A JSON file with an exported workflow, below a folder of DOGUBAKO_FILES.")
]


class CreateWorkflowFromFileArgs(ToolArgs):
    path: FilePath
    name: str | None = Field(None, min_length=1, description="Another name than the one in the file.")


class CreateWorkflowFromFile(BaseTool[CreateWorkflowFromFileArgs, N8nClient]):
    """Create a workflow from an exported JSON file."""

    name = "create_workflow_from_file"
    effect = Effect.WRITE
    tags = ("workflows", "files")
    keywords = {"ja": "ファイル 作成 インポート"}

    async def execute(self, args: CreateWorkflowFromFileArgs) -> Output:
        found = await self.client.files.read(args.path)
        name = args.name or found.get("name") or args.path
        return created(await Rewriting(self.client).create({**found, "name": name}))


class ReplaceWorkflowFromFileArgs(ToolArgs):
    id: WorkflowId
    path: FilePath


class ReplaceWorkflowFromFile(BaseTool[ReplaceWorkflowFromFileArgs, N8nClient]):
    """Replace a workflow's content with that of an exported JSON file. It is backed up first."""

    name = "replace_workflow_from_file"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows", "files")
    keywords = {"ja": "ファイル 置換 インポート"}

    async def execute(self, args: ReplaceWorkflowFromFileArgs) -> Output:
        found = await self.client.files.read(args.path)
        outcome = await Rewriting(self.client).replace(args.id, found, "before replace_workflow_from_file")
        return changed(outcome)


TOOLS = (CreateWorkflowFromFile, ReplaceWorkflowFromFile)
