"""All tools of the Redmine pack, by topic."""

from dogubako.packs.redmine.tools.activity import TOOLS as ACTIVITY
from dogubako.packs.redmine.tools.attachments import TOOLS as ATTACHMENTS
from dogubako.packs.redmine.tools.bulk_changes import TOOLS as BULK_CHANGES
from dogubako.packs.redmine.tools.charts import TOOLS as CHARTS
from dogubako.packs.redmine.tools.files import TOOLS as FILES
from dogubako.packs.redmine.tools.issue_categories import TOOLS as CATEGORIES
from dogubako.packs.redmine.tools.issue_changes import TOOLS as ISSUE_CHANGES
from dogubako.packs.redmine.tools.issue_links import TOOLS as ISSUE_LINKS
from dogubako.packs.redmine.tools.issues import TOOLS as ISSUES
from dogubako.packs.redmine.tools.knowledge import TOOLS as KNOWLEDGE
from dogubako.packs.redmine.tools.lookups import TOOLS as LOOKUPS
from dogubako.packs.redmine.tools.memberships import TOOLS as MEMBERSHIPS
from dogubako.packs.redmine.tools.news import TOOLS as NEWS
from dogubako.packs.redmine.tools.notes import TOOLS as NOTES
from dogubako.packs.redmine.tools.projects import TOOLS as PROJECTS
from dogubako.packs.redmine.tools.reports import TOOLS as REPORTS
from dogubako.packs.redmine.tools.time_entries import TOOLS as TIME_ENTRIES
from dogubako.packs.redmine.tools.users import TOOLS as USERS
from dogubako.packs.redmine.tools.version_report import TOOLS as VERSION_REPORT
from dogubako.packs.redmine.tools.versions import TOOLS as VERSIONS
from dogubako.packs.redmine.tools.wiki import TOOLS as WIKI

TOOLS = (
    *ISSUES,
    *ISSUE_CHANGES,
    *BULK_CHANGES,
    *ISSUE_LINKS,
    *NOTES,
    *CATEGORIES,
    *PROJECTS,
    *MEMBERSHIPS,
    *VERSIONS,
    *TIME_ENTRIES,
    *REPORTS,
    *VERSION_REPORT,
    *CHARTS,
    *ACTIVITY,
    *USERS,
    *WIKI,
    *KNOWLEDGE,
    *NEWS,
    *ATTACHMENTS,
    *FILES,
    *LOOKUPS,
)
