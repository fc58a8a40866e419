"""One call of every tool that works against a fresh sandbox, for what has to hold for all of them."""

from typing import Any, Final

from dogubako_sandbox.redmine.store import Store

FREE_VERSION: Final = 4
WAITING_FILE: Final = "127.0f"

EVERY_CALL: Final[dict[str, dict[str, Any]]] = {
    "list_issues": {"limit": 5},
    "show_issue": {"id": 1, "include": ["watchers", "journals", "attachments", "changesets"]},
    "create_issue": {"project_id": "webshop", "tracker_id": "Bug", "subject": "New", "watcher_user_ids": ["dev"]},
    "copy_issue": {"id": 1, "subject": "Copied"},
    "delete_issue": {"id": 4, "confirm": True},
    "update_issue": {"id": 1, "notes": "Seen", "assigned_to_id": "dev"},
    "update_issues": {"ids": [1, 2], "changes": {"priority_id": "High"}},
    "add_issue_watcher": {"id": 1, "user_id": "dev"},
    "remove_issue_watcher": {"id": 2, "user_id": 9},
    "list_issue_relations": {"issue_id": 1},
    "create_issue_relation": {"issue_id": 2, "issue_to_id": 5},
    "delete_issue_relation": {"id": 1, "confirm": True},
    "update_issue_note": {"issue_id": 1, "id": 3, "notes": "Changed"},
    "delete_issue_note": {"issue_id": 1, "id": 3, "confirm": True},
    "list_issue_categories": {"project_id": "webshop"},
    "create_issue_category": {"project_id": "webshop", "name": "New", "assigned_to_id": "dev"},
    "update_issue_category": {"id": 1, "name": "Renamed"},
    "delete_issue_category": {"id": 1, "confirm": True},
    "list_projects": {"include": ["trackers", "enabled_modules"]},
    "show_project": {"id": "webshop"},
    "create_project": {"name": "Fresh", "identifier": "fresh"},
    "update_project": {"id": "webshop", "description": "Changed"},
    "delete_project": {"id": "bulk", "confirm": True},
    "close_project": {"id": "bulk"},
    "reopen_project": {"id": "legacy"},
    "archive_project": {"id": "bulk"},
    "unarchive_project": {"id": 5},
    "list_memberships": {"project_id": "webshop"},
    "create_membership": {"project_id": "bulk", "user_id": "dev", "role_ids": ["Developer"]},
    "update_membership": {"id": 3, "role_ids": ["Manager"]},
    "delete_membership": {"id": 3, "confirm": True},
    "list_versions": {"project_id": "webshop"},
    "show_version": {"id": 1},
    "create_version": {"project_id": "webshop", "name": "9.0"},
    "update_version": {"id": 1, "description": "Changed"},
    "delete_version": {"id": FREE_VERSION, "confirm": True},
    "list_time_entries": {"limit": 5},
    "show_time_entry": {"id": 1},
    "create_time_entry": {"issue_id": 1, "hours": 1.5, "activity_id": "Development", "user_id": "dev"},
    "update_time_entry": {"id": 1, "comments": "Changed"},
    "delete_time_entry": {"id": 1, "confirm": True},
    "list_time_entry_activities": {},
    "report_issues": {"group_by": ["status"]},
    "report_time": {"group_by": ["user"]},
    "report_versions": {"project_id": "webshop"},
    "draw_chart": {"chart": "gantt", "project_id": "webshop", "picture": False},
    "list_activity": {"project_id": "webshop", "from": "2026-08-01", "limit": 5},
    "show_release_notes": {"project_id": "webshop", "version_id": 1},
    "list_users": {"status": "*"},
    "show_user": {"id": "dev"},
    "show_current_user": {},
    "create_user": {"login": "new", "firstname": "N", "lastname": "New", "mail": "new@example.test"},
    "update_user": {"id": 6, "lastname": "Changed"},
    "delete_user": {"id": 6, "confirm": True},
    "list_groups": {},
    "show_group": {"id": 12},
    "list_wiki_pages": {"project_id": "webshop"},
    "show_wiki_page": {"project_id": "webshop", "title": "Wiki"},
    "save_wiki_page": {"project_id": "webshop", "title": "New", "text": "h1. New"},
    "delete_wiki_page": {"project_id": "webshop", "title": "Checkout", "confirm": True},
    "list_news": {},
    "create_news": {"project_id": "webshop", "title": "New", "description": "Text"},
    "update_news": {"id": 1, "title": "Changed"},
    "delete_news": {"id": 1, "confirm": True},
    "list_files": {"project_id": "webshop"},
    "search_redmine": {"q": "checkout"},
    "upload_attachment": {"text": "Hello", "filename": "hello.txt"},
    "show_attachment": {"id": 2},
    "add_file": {"project_id": "webshop", "upload": {"token": WAITING_FILE, "filename": "waiting.txt"}},
    "delete_attachment": {"id": 2, "confirm": True},
    "list_issue_statuses": {},
    "list_trackers": {},
    "list_priorities": {},
    "list_roles": {"permissions": True},
    "list_queries": {},
    "list_custom_fields": {},
}


def furnish(store: Store) -> None:
    """What some of these calls need and no fresh sandbox has."""
    made = {"created_on": "2026-09-01 11:00:00", "updated_on": "2026-09-01 11:00:00", "description": ""}
    added = store["versions"].add(project_id=1, name="Not in use", status="open", sharing="none", **made)
    assert added["id"] == FREE_VERSION
    id_, _, digest = WAITING_FILE.partition(".")
    store["attachments"].add(filename="x", filesize=0, digest=digest, author_id=1, data="", **made)["id"] = int(id_)
