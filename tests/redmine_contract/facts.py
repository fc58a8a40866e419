"""What we know about Redmine 5.0, sentence by sentence. Every sentence has a case that would fail if it were wrong."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import pytest

Case = TypeVar("Case", bound=Callable[..., Any])

REFUSALS: Final[Mapping[str, str]] = {
    "empty-refusals": "Refusals with 401, 403, 404, 406, 409 and 412 have no body, although their type is JSON.",
    "no-key": "Without a key, 401 where a login is needed.",
    "wrong-key": "With a wrong key, 401 where a login is needed.",
    "locked-key": "With the key of a locked user, 401 where a login is needed.",
    "public-wrong-key": "On a page that everybody may read, a wrong key is answered as no key: 200.",
    "missing-before-login": "A missing record is 404 before a login is asked for; what only administrators do is not.",
    "missing-permission": "Without the permission, 403.",
    "archived": "In an archived project everything is refused to everybody, with 403.",
    "closed-write": "A change of something in a closed project is refused with 403.",
    "closed-create": "A new issue for a closed project is 422, and no word tells that the project is closed.",
    "rest-off": "While the API is switched off, every key is a stranger's; 403 stands for 401, public pages are shown.",
    "missing-record": "What is not there is 404.",
    "validation": "What is not valid is 422 with sentences.",
    "stale-lock": "An old lock version is 422 with no sentences.",
    "version-in-use": "To delete a version that is in use is 422 without a body.",
    "malformed-json": "A body that is no JSON is 400.",
    "no-object": "A text where an object belongs is 500.",
    "wrong-content-type": "A body of another content type is not read, and its fields are missing.",
    "upload-content-type": "An upload has to be an octet stream; another type is 406.",
    "long-query": "A query of more than 10 KB is 400 without a body.",
}

LISTS: Final[Mapping[str, str]] = {
    "clamped-limit": "A limit above 100 is 100; one below 1 or without a number is 25.",
    "huge-offset": "An offset beyond what the database can count is 500, without a body for issues.",
    "unknown-filter": "An unknown filter is ignored.",
    "unknown-cf": "A filter by a custom field that is unknown, or not of issues, is ignored.",
    "invisible-cf": "A filter by a custom field that one may not see is ignored.",
    "unusable-cf": "A filter by a custom field that is not made for it is ignored.",
    "unknown-include": "An unknown include is ignored.",
    "unknown-sort": "An unknown sort is ignored.",
    "bad-date": "A bad date in a filter of issues is 422.",
    "ignored-dates": "A bad date in a filter of time entries is ignored.",
    "all-filters-dropped": "One bad value makes lists of projects and time entries forget all filters.",
    "open-only": "Issues are listed while they are open only, also when they are asked for by id.",
    "or-values": "Values are joined by a bar.",
    "subprojects": "A project stands for its subprojects too, unless it is told otherwise.",
    "query-alone": "Beside a saved query other filters are ignored, but the project is not.",
    "closed-projects": "Lists leave out closed projects; archived ones cannot be listed at all.",
    "locked-users": "Lists leave out locked users; an empty status is all of them, a star is nobody.",
    "admin-lists": "Lists of users, groups and custom fields are for administrators.",
    "sort-remembered": "A cookie makes Redmine remember the order of users.",
}

ISSUES: Final[Mapping[str, str]] = {
    "ignored-status": "A status that the workflow does not allow is ignored with 204.",
    "ignored-fields": "Fields that one may not set are ignored with 204.",
    "ignored-move": "A move to a project that one may not see is ignored with 204.",
    "ignored-status-name": "A status by name is ignored with 204.",
    "allowed-statuses": "Which statuses are allowed is told with the issue, on request.",
    "dropped-on-create": "A new issue loses what one may not set, with 201.",
    "move-drops": "A move takes away category and version of the old project.",
    "private-notes": "A private note of somebody without the permission becomes public.",
    "private-notes-filtered": "Private notes are shown to those only who may see them.",
    "note-watcher": "A note makes its writer a watcher, where the role permits it.",
    "unassign-null": "Null leaves the assignee.",
    "unassign-empty": "An empty text takes the assignee away.",
    "others-null": "Null empties category, version, parent and dates.",
    "copy-keeps-category": "A copy keeps its category, which is refused where the other project has none of it.",
    "derived": "Dates, priority and progress of a parent come from its children.",
    "child-journal": "A new child is written into the history of its parent.",
    "delete-parent": "With a parent, its children and their time entries are deleted.",
    "id-given-again": "The id of the newest issue is given again after its deletion.",
}

AROUND_ISSUES: Final[Mapping[str, str]] = {
    "unknown-watcher": "An unknown watcher is accepted with 204 and forgotten.",
    "missing-watcher": "To remove a watcher who does not exist is 404.",
    "relations-included": "Relations are shown with the issue to those who are refused the list of them.",
    "related-issues": "What cannot be related is 422: itself, twice, another project, what one may not see.",
    "category-heir": "The issues of a deleted category get the one that is named, or none.",
    "categories-for-some": "The list of categories is for those who manage them; the project shows them to everybody.",
    "custom-values": "Values of custom fields are texts, several are lists, users are ids; hidden ones are left out.",
}

PROJECTS: Final[Mapping[str, str]] = {
    "inherited-members": "Members of the parent are members with inherited roles.",
    "missing-parent": "A parent project that is not there is 500.",
    "ignored-project-fields": "Identifier and status of a project are ignored with 204.",
    "delete-project": "With a project its subprojects and issues are deleted; an archived one can be deleted too.",
    "roles-removed": "A membership with unknown roles only is 422, and has lost all its roles.",
    "memberships": "Nobody and twice the same are no members.",
    "group-members": "The users of a group are members by it, and cannot be taken out alone.",
    "shared-versions": "A version that is shared is listed in the projects below.",
    "developers-manage-versions": "Developers manage versions, reporters do not.",
    "ignored-sharing": "A sharing that one may not give is ignored.",
    "version-list": "Versions are listed whole, whatever the limit.",
}

TIME: Final[Mapping[str, str]] = {
    "time-entries": "Too many hours, no activity and an unknown issue are 422.",
    "project-by-identifier": "Time is logged on a project by its id, not by its identifier.",
    "own-time-fixed": "Developers may not correct their own time.",
}

PEOPLE: Final[Mapping[str, str]] = {
    "delete-user": "What a deleted user wrote stays, as by Anonymous.",
    "last-administrator": "The last administrator cannot delete the own account: 422 without a body.",
    "locked-hidden": "A locked user is not found by others.",
    "hidden-mail": "The own mail may be missing in the own record, and is in the account.",
    "groups-for-all": "A group is shown to everybody who knows its id.",
}

KNOWLEDGE: Final[Mapping[str, str]] = {
    "stale-wiki": "A page is saved on its newest version only; any other is 409.",
    "same-text": "The same text makes no new version, and its comment is lost.",
    "wiki-parent": "The parent of a page is ignored without the permission to rename.",
    "wiki-no-parent": "A parent that is not there, or the page itself, is 422 with no sentences.",
    "wiki-titles": "Titles are found with blanks or underscores, in large or small letters.",
    "protected-page": "The sidebar is protected from the beginning.",
    "wiki-children-stay": "The children of a deleted page stay.",
    "wiki-rename": "An old title of a renamed page leads elsewhere.",
    "token-once": "A token attaches one file once; a used or unknown one is 422.",
    "upload-limit": "A file of more than 5 MB is 422; the limit is a setting.",
    "unused-upload": "A file that is not attached is shown to its author only.",
    "download-accept": "A refused download is empty where JSON is asked for; else strangers are sent to a login.",
    "no-id-told": "News and files are made with 204, without their id.",
    "one-letter": "A search for one letter has no total.",
    "han-character": "One Han character is a word.",
    "zero-means-yes": "Every switch of the search means yes unless it is empty.",
    "private-found-by-some": "What one may not see is not found.",
}

TEXTS: Final[Mapping[str, str]] = {
    "json-keeps-controls": "JSON keeps control characters.",
    "xml-replaces-controls": "Redmine's XML replaces control characters.",
    "crlf": "The lines of a description come back with CRLF.",
    "dates": "Days are YYYY-MM-DD, moments are UTC.",
    "languages": "Sentences of refusals follow the language of the user, or else Accept-Language.",
    "parallel-writes": "With one thread, writes at the same time are all done.",
}

RECORDS: Final[Mapping[str, str]] = {
    "strangers-and-time": "A stranger's change of time is 403, a stranger's deletion of it 401.",
    "impossible-parent": "A project below itself or below its child is 422.",
    "parent-by-identifier": "A parent project by its identifier is 500.",
    "project-as-text": "A text where a project belongs is read as nothing: 422.",
    "states-again": "A project may be archived by POST, and opened again although it is open.",
    "archived-states": "An archived project is neither closed nor opened: 403; archived and unarchived it can be.",
    "nothing-said": "A membership or a user without a word is 500.",
    "membership-of-one": "The user of a membership is ignored in its change.",
    "many-members": "Several members are made at once; the first is told.",
    "odd-members": "Locked users and the built-in groups can be members.",
    "version-states": "A version of an unknown state is 422.",
    "version-record": "A version tells its hours only alone; an unknown sharing is ignored.",
    "project-record": "A project tells its homepage only alone; without a description it has null.",
    "long-comment": "A comment of more than 1024 characters is 422.",
    "invisible-issue": "Time on an issue that one may not see is 422.",
    "hours": "Hours are read as 1h30 and 1:15 too, and none at all is allowed.",
    "anonymous-stays": "The anonymous user is not found by those who would delete it.",
    "user-record": "Administrators are told more of a user; one without a password is possible.",
    "own-account": "Everybody may change their own name, and not login, rights or state.",
    "wiki-without-text": "A page without text is 422.",
    "empty-page": "A new page without a word is made, and is not found.",
    "file-without-token": "A file with an unknown token, or without one, is 404.",
    "upload-names": "Names of files are cleaned, and too long ones 422; a charset behind the type is allowed.",
    "upload-permission": "A file is taken from everybody with a key.",
    "attachment-renamed": "A file may be renamed by those who may edit what it belongs to.",
    "download-headers": "A download names its file.",
    "locations": "A new record is told where it is, without a format; a page by its path; a change has no type at all.",
}

ORDERS: Final[Mapping[str, str]] = {
    "project-filters": "Projects are filtered by name, parent and being public, and sorted.",
    "time-sorted": "Time is listed newest first; an unknown sort, and that by id, is oldest first.",
    "time-filters": "Of several issues the first counts, a version leaves out time without an issue.",
    "users-sorted": "Users of an unknown order come by id.",
    "roles-to-give": "Roles are listed that can be given; the built-in ones are shown alone.",
    "built-in-groups": "The built-in groups are listed on request.",
    "queries-by-name": "Queries are listed by name.",
    "search-scope": "One's own projects may be none; in a project no projects are found; project_id is ignored.",
    "five-words": "Five words count.",
}

SECRETS: Final[Mapping[str, str]] = {
    "key-of-others": "Administrators are given everybody's key with the user.",
    "own-key": "Everybody is given their own key with their own record.",
}

FACTS: Final[Mapping[str, str]] = {
    **REFUSALS,
    **LISTS,
    **ISSUES,
    **AROUND_ISSUES,
    **PROJECTS,
    **TIME,
    **PEOPLE,
    **KNOWLEDGE,
    **TEXTS,
    **RECORDS,
    **ORDERS,
    **SECRETS,
}


def proves(*facts: str) -> Callable[[Case], Case]:
    """Name the facts that a test would notice to be wrong."""
    mark = _proving(facts)

    def marked(case: Case) -> Case:
        return mark(case)  # type: ignore[no-any-return]

    return marked


def fact(name: str, *values: Any) -> Any:
    """One row of a table, and the fact that it would notice to be wrong."""
    return pytest.param(*values, id=name, marks=_proving((name,)))


def _proving(facts: tuple[str, ...]) -> pytest.MarkDecorator:
    unknown = [fact for fact in facts if fact not in FACTS]
    if unknown or not facts:
        raise ValueError(f"no such facts: {unknown}")
    return pytest.mark.proves(*facts)
