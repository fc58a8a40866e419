"""The kinds of Redmine's records, with their names, paths and permissions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JsonObject = dict[str, Any]

# Redmine's numbers for the state of a project.
ACTIVE: Final = 1
CLOSED: Final = 5
ARCHIVED: Final = 9
PROJECT_STATES: Final = {ACTIVE: "active", CLOSED: "closed", ARCHIVED: "archived"}
USER_STATES: Final = {1: "active", 2: "registered", 3: "locked"}

# Used where Redmine requires an administrator instead of a permission.
ADMINISTRATOR: Final = "administrator"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Kind:
    """One kind of record: its label, Redmine's spelling, and the permission for each action."""

    noun: str
    one: str
    many: str
    needs: Mapping[str, str] = field(default_factory=dict)
    finder: str | None = None
    # Projects can switch the module off; then all of its actions are refused.
    module: str | None = None

    @property
    def label(self) -> str:
        return self.noun[0].upper() + self.noun[1:]


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """One page of a list."""

    rows: list[JsonObject]
    total: int
    offset: int
    limit: int

    @property
    def end(self) -> int:
        return self.offset + len(self.rows)


ISSUE = Kind(
    noun="issue",
    module="issue_tracking",
    one="issue",
    many="issues",
    needs={
        "list": "view_issues",
        "show": "view_issues",
        "create": "add_issues",
        "copy": "copy_issues",
        "update": "edit_issues",
        "delete": "delete_issues",
        "add_watcher": "add_issue_watchers",
        "remove_watcher": "delete_issue_watchers",
    },
    finder="list_issues or search_redmine can find it; closed ones need status_id: '*'.",
)
RELATION = Kind(
    noun="relation",
    module="issue_tracking",
    one="relation",
    many="relations",
    needs={"list": "view_issues", "create": "manage_issue_relations", "delete": "manage_issue_relations"},
    finder="list_issue_relations has the ids.",
)
CATEGORY = Kind(
    noun="category",
    module="issue_tracking",
    one="issue_category",
    many="issue_categories",
    needs={
        "list": "view_issues",
        "create": "manage_categories",
        "update": "manage_categories",
        "delete": "manage_categories",
    },
    finder="list_issue_categories has the ids.",
)
PROJECT = Kind(
    noun="project",
    one="project",
    many="projects",
    needs={
        "create": "add_project",
        "update": "edit_project",
        "delete": "delete_project",
        "close": "close_project",
        "reopen": "close_project",
        "archive": ADMINISTRATOR,
        "unarchive": ADMINISTRATOR,
    },
    finder="list_projects has the ids and identifiers.",
)
MEMBERSHIP = Kind(
    noun="membership",
    one="membership",
    many="memberships",
    needs={
        "create": "manage_members",
        "update": "manage_members",
        "delete": "manage_members",
    },
    finder="list_memberships has the ids.",
)
VERSION = Kind(
    noun="version",
    one="version",
    many="versions",
    needs={
        "list": "view_issues",
        "show": "view_issues",
        "create": "manage_versions",
        "update": "manage_versions",
        "delete": "manage_versions",
    },
    finder="list_versions has the ids.",
)
TIME_ENTRY = Kind(
    noun="time entry",
    module="time_tracking",
    one="time_entry",
    many="time_entries",
    needs={
        "list": "view_time_entries",
        "show": "view_time_entries",
        "create": "log_time",
        "update": "edit_time_entries",
        "delete": "edit_time_entries",
    },
    finder="list_time_entries has the ids.",
)
USER = Kind(
    noun="user",
    one="user",
    many="users",
    needs={"list": ADMINISTRATOR, "create": ADMINISTRATOR, "update": ADMINISTRATOR, "delete": ADMINISTRATOR},
    finder="list_users has the ids; list_memberships shows those of a project.",
)
GROUP = Kind(noun="group", one="group", many="groups", needs={"list": ADMINISTRATOR}, finder="list_groups has the ids.")
WIKI_PAGE = Kind(
    noun="wiki page",
    module="wiki",
    one="wiki_page",
    many="wiki_pages",
    needs={
        "list": "view_wiki_pages",
        "show": "view_wiki_pages",
        "save": "edit_wiki_pages",
        "delete": "delete_wiki_pages",
    },
    finder="list_wiki_pages has the titles.",
)
NEWS = Kind(
    noun="news",
    one="news_item",
    many="news",
    needs={
        "list": "view_news",
        "show": "view_news",
        "create": "manage_news",
        "update": "manage_news",
        "delete": "manage_news",
    },
    finder="list_news has the ids.",
    module="news",
)
FILE = Kind(
    noun="file", one="file", many="files", needs={"list": "view_files", "create": "manage_files"}, module="files"
)
ATTACHMENT = Kind(
    noun="attachment", one="attachment", many="attachments", finder="show_issue lists the attachments of an issue."
)
NOTE = Kind(
    noun="note",
    one="journal",
    many="journals",
    needs={"update": "edit_issue_notes", "delete": "edit_issue_notes"},
    finder="show_issue has the ids of the notes.",
    module="issue_tracking",
)
SEARCH_RESULT = Kind(noun="result", one="result", many="results")
STATUS = Kind(noun="status", one="issue_status", many="issue_statuses", finder="list_issue_statuses has the ids.")
TRACKER = Kind(noun="tracker", one="tracker", many="trackers", finder="list_trackers has the ids.")
PRIORITY = Kind(noun="priority", one="issue_priority", many="issue_priorities", finder="list_priorities has the ids.")
ACTIVITY = Kind(
    noun="activity",
    one="time_entry_activity",
    many="time_entry_activities",
    finder="list_time_entry_activities has the ids.",
)
ROLE = Kind(noun="role", one="role", many="roles", finder="list_roles has the ids.")
QUERY = Kind(noun="query", one="query", many="queries", finder="list_queries has the ids.")
CUSTOM_FIELD = Kind(
    noun="custom field",
    one="custom_field",
    many="custom_fields",
    needs={"list": ADMINISTRATOR},
    finder="list_custom_fields has the ids.",
)
