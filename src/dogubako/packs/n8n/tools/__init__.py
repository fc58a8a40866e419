"""Every tool of the n8n pack, topic by topic."""

from dogubako.packs.n8n.tools.around import TOOLS as AROUND
from dogubako.packs.n8n.tools.backups import TOOLS as BACKUPS
from dogubako.packs.n8n.tools.execution_changes import TOOLS as EXECUTION_CHANGES
from dogubako.packs.n8n.tools.executions import TOOLS as EXECUTIONS
from dogubako.packs.n8n.tools.files import TOOLS as FILES
from dogubako.packs.n8n.tools.running import TOOLS as RUNNING
from dogubako.packs.n8n.tools.workflow_changes import TOOLS as WORKFLOW_CHANGES
from dogubako.packs.n8n.tools.workflows import TOOLS as WORKFLOWS

TOOLS = (
    *EXECUTIONS,
    *EXECUTION_CHANGES,
    *WORKFLOWS,
    *WORKFLOW_CHANGES,
    *FILES,
    *RUNNING,
    *BACKUPS,
    *AROUND,
)
