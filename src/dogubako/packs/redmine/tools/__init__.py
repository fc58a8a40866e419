"""Every tool of the Redmine pack, topic by topic."""

from dogubako.packs.redmine.tools.attachments import TOOLS as ATTACHMENTS
from dogubako.packs.redmine.tools.issue_categories import TOOLS as CATEGORIES
from dogubako.packs.redmine.tools.issue_changes import TOOLS as ISSUE_CHANGES
from dogubako.packs.redmine.tools.issue_relations import TOOLS as RELATIONS
from dogubako.packs.redmine.tools.issue_update import TOOLS as ISSUE_UPDATE
from dogubako.packs.redmine.tools.issue_watchers import TOOLS as WATCHERS
from dogubako.packs.redmine.tools.issues import TOOLS as ISSUES
from dogubako.packs.redmine.tools.knowledge import TOOLS as KNOWLEDGE
from dogubako.packs.redmine.tools.lookups import TOOLS as LOOKUPS
from dogubako.packs.redmine.tools.memberships import TOOLS as MEMBERSHIPS
from dogubako.packs.redmine.tools.project_states import TOOLS as PROJECT_STATES
from dogubako.packs.redmine.tools.projects import TOOLS as PROJECTS
from dogubako.packs.redmine.tools.time_entries import TOOLS as TIME_ENTRIES
from dogubako.packs.redmine.tools.users import TOOLS as USERS
from dogubako.packs.redmine.tools.versions import TOOLS as VERSIONS
from dogubako.packs.redmine.tools.wiki import TOOLS as WIKI

TOOLS = (
    *ISSUES,
    *ISSUE_CHANGES,
    *ISSUE_UPDATE,
    *WATCHERS,
    *RELATIONS,
    *CATEGORIES,
    *PROJECTS,
    *PROJECT_STATES,
    *MEMBERSHIPS,
    *VERSIONS,
    *TIME_ENTRIES,
    *USERS,
    *WIKI,
    *KNOWLEDGE,
    *ATTACHMENTS,
    *LOOKUPS,
)
