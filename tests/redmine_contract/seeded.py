"""What is in a seeded Redmine, by the names that this suite uses. A case on the real side keeps it true."""

from collections.abc import Mapping
from typing import Final

KEYS: Final[Mapping[str, str]] = {
    "admin": "a" * 40,
    "reporter": "b" * 40,
    "dev": "c" * 40,
    "outsider": "d" * 40,
    "locked": "e" * 40,
    "manager": "f" * 40,
    "kim1": "1" * 40,
    "kim2": "2" * 40,
}
# Nobody has it.
WRONG_KEY: Final = "9" * 40

USERS: Final = {
    "admin": 1,
    "reporter": 5,
    "dev": 6,
    "outsider": 7,
    "locked": 8,
    "manager": 9,
    "kim1": 10,
    "kim2": 11,
}
GROUPS: Final = {"Support Team": 12}
PROJECTS: Final = {"webshop": 1, "webshop-app": 2, "internal": 3, "legacy": 4, "attic": 5, "bulk": 6}
MEMBERSHIPS: Final = {"manager": 1, "dev": 3, "reporter": 5, "kim1": 7, "kim2": 9}
CUSTOM_FIELDS: Final = {
    "Customer": 2,
    "Browser": 3,
    "Affected areas": 4,
    "Reviewer": 5,
    "Testers": 6,
    "Promised on": 7,
    "Story points": 8,
    "Contract value": 15,
    "Ref": 16,
    "Cost centre": 17,
    "Project Ref": 18,
    "Badge": 19,
    "Invoice": 20,
    "Release manager": 21,
}
VERSIONS: Final = {"1.0": 1, "2.0": 2, "Old tracker": 3}
CATEGORIES: Final = {"Checkout": 1, "Search": 2}
ATTACHMENTS: Final = {
    "naïve & 日本 _a_.txt": 2,
    "checkout.log": 3,
    "receipt.png": 4,
    "orders.zip": 5,
    "shop-1.0.zip": 6,
}
ISSUES: Final = {
    "umlauts": 1,
    "parent": 2,
    "child": 3,
    "second child": 4,
    "overdue": 5,
    "unassigned": 6,
    "injected": 7,
    "private": 8,
    "closed": 9,
    "blocking": 10,
    "blocked": 11,
    "following": 12,
    "in the app": 13,
    "app feature": 14,
    "nasty": 15,
    "control": 16,
    "in internal": 17,
    "in legacy": 18,
    "in attic": 19,
    "first of bulk": 20,
    "long history": 140,
}
RELATIONS: Final = {"relates": 1, "blocks": 2, "precedes": 3}
TIME_ENTRIES: Final = {"first": 1, "last": 40}
QUERIES: Final = {"Open bugs": 8, "Unassigned": 9, "My own": 10, "Due soon": 11}
TRACKERS: Final = {"Bug": 1, "Feature": 2, "Support": 3}
STATUSES: Final = {"New": 1, "In Progress": 2, "Resolved": 3, "Feedback": 4, "Closed": 5, "Rejected": 6}
PRIORITIES: Final = {"Low": 1, "Normal": 2, "High": 3, "Urgent": 4, "Immediate": 5}
ACTIVITIES: Final = {"Design": 8, "Development": 9}
ROLES: Final = {"Non member": 1, "Anonymous": 2, "Manager": 3, "Developer": 4, "Reporter": 5}

# As the seed tells them.
IDS: Final[Mapping[str, Mapping[str, int]]] = {
    "users": USERS,
    "groups": GROUPS,
    "projects": PROJECTS,
    "memberships": MEMBERSHIPS,
    "custom_fields": CUSTOM_FIELDS,
    "versions": VERSIONS,
    "issue_categories": CATEGORIES,
    "attachments": ATTACHMENTS,
    "issues": ISSUES,
    "relations": RELATIONS,
    "time_entries": TIME_ENTRIES,
    "queries": QUERIES,
    "trackers": TRACKERS,
    "statuses": STATUSES,
    "priorities": PRIORITIES,
    "activities": ACTIVITIES,
    "roles": ROLES,
}
