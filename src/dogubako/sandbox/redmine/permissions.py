"""What a role may be given, and in which module of a project it counts."""

from typing import Final

MODULES: Final = {
    "issue_tracking": (
        "view_issues add_issues edit_issues edit_own_issues copy_issues manage_issue_relations manage_subtasks "
        "set_issues_private set_own_issues_private add_issue_notes edit_issue_notes edit_own_issue_notes "
        "view_private_notes set_notes_private delete_issues view_issue_watchers add_issue_watchers "
        "delete_issue_watchers import_issues manage_categories"
    ),
    "time_tracking": (
        "view_time_entries log_time edit_time_entries edit_own_time_entries manage_project_activities "
        "log_time_for_other_users import_time_entries"
    ),
    "news": "view_news manage_news comment_news",
    "documents": "view_documents add_documents edit_documents delete_documents",
    "files": "view_files manage_files",
    "wiki": (
        "view_wiki_pages view_wiki_edits export_wiki_pages edit_wiki_pages rename_wiki_pages delete_wiki_pages "
        "delete_wiki_pages_attachments view_wiki_page_watchers add_wiki_page_watchers delete_wiki_page_watchers "
        "protect_wiki_pages manage_wiki"
    ),
    "repository": "view_changesets browse_repository commit_access manage_related_issues manage_repository",
    "boards": (
        "view_messages add_messages edit_messages edit_own_messages delete_messages delete_own_messages "
        "view_message_watchers add_message_watchers delete_message_watchers manage_boards"
    ),
    "calendar": "view_calendar",
    "gantt": "view_gantt",
}
MODULE_OF: Final = {name: module for module, names in MODULES.items() for name in names.split()}

# Everybody who sees a project has these; no role lists them.
PUBLIC: Final = frozenset({"view_project", "search_project", "view_members"})

# These count in a closed project too.
_READING_WITHOUT_VIEW: Final = {"search_project", "close_project", "delete_project", "export_wiki_pages"}
READING: Final = frozenset(
    {name for name in MODULE_OF if name.startswith("view_")} | PUBLIC | _READING_WITHOUT_VIEW | {"browse_repository"}
)
