"""Every tool of the n8n pack, topic by topic."""

from dogubako.packs.n8n.tools.administration import TOOLS as ADMINISTRATION
from dogubako.packs.n8n.tools.backups import TOOLS as BACKUPS
from dogubako.packs.n8n.tools.copies import TOOLS as COPIES
from dogubako.packs.n8n.tools.data_tables import TOOLS as DATA_TABLES
from dogubako.packs.n8n.tools.diagnosis import TOOLS as DIAGNOSIS
from dogubako.packs.n8n.tools.edit_workflow import TOOLS as EDIT_WORKFLOW
from dogubako.packs.n8n.tools.execution_changes import TOOLS as EXECUTION_CHANGES
from dogubako.packs.n8n.tools.executions import TOOLS as EXECUTIONS
from dogubako.packs.n8n.tools.lookups import TOOLS as LOOKUPS
from dogubako.packs.n8n.tools.nodes import TOOLS as NODES
from dogubako.packs.n8n.tools.run_workflow import TOOLS as RUN_WORKFLOW
from dogubako.packs.n8n.tools.versions import TOOLS as VERSIONS
from dogubako.packs.n8n.tools.workflow_changes import TOOLS as WORKFLOW_CHANGES
from dogubako.packs.n8n.tools.workflows import TOOLS as WORKFLOWS

TOOLS = (
    *EXECUTIONS,
    *DIAGNOSIS,
    *RUN_WORKFLOW,
    *EXECUTION_CHANGES,
    *WORKFLOWS,
    *EDIT_WORKFLOW,
    *WORKFLOW_CHANGES,
    *VERSIONS,
    *BACKUPS,
    *COPIES,
    *LOOKUPS,
    *NODES,
    *DATA_TABLES,
    *ADMINISTRATION,
)
