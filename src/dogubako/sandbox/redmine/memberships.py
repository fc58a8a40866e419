"""Memberships of users and groups in projects."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Ask, BrokenError, RefusedError, created, page_of, unprocessable
from dogubako.sandbox.redmine.membership_roles import add_role, new_member, remove_member, remove_role
from dogubako.sandbox.redmine.naming import named, principal_name
from dogubako.sandbox.redmine.shapes import shown_roles
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.visitor import role_has

# A membership says whose it is under the name of the kind of principal.
_KINDS = {"User": "user", "Group": "group", "GroupAnonymous": "group_anonymous", "GroupNonMember": "group_non_member"}


def list_memberships(ask: Ask) -> Any:
    project = ask.project()
    ask.need(project, "view_members", "manage_members")
    rows = ask.store["members"].where(project_id=project["id"])
    return page_of(ask, "memberships", rows, lambda row: _shown(ask, row))


def show_membership(ask: Ask) -> Any:
    member = ask.row("members")
    ask.need(_project(ask, member), "view_members", "manage_members")
    return {"membership": _shown(ask, member)}


def create_membership(ask: Ask) -> Any:
    """One for each of `user_ids`; the answer is the first of them."""
    project = ask.project()
    ask.need(project, "manage_members")
    if ask.params.get("membership") is None:
        raise BrokenError(500)
    body = ask.given("membership")
    managed = _managed_roles(ask, project)
    asked = body["user_id"] if body.get("user_id") is not None else body.get("user_ids")
    ids = asked if isinstance(asked, list) else [asked]
    roles = [each for each in _role_ids(body) if each in managed]
    made = [_created(ask, project, to_id(each), roles) for each in ids]
    return created({"membership": _shown(ask, made[0])}, f"{ask.base_url}/memberships/{made[0]['id']}")


def update_membership(ask: Ask) -> Any:
    """Roles that are not named go at once, even when none is left and the answer is a refusal."""
    member = ask.row("members")
    project = _project(ask, member)
    ask.need(project, "manage_members")
    if ask.params.get("membership") is not None:
        _set_roles(ask, member, project, _role_ids(ask.given("membership")))
    if not ask.store["member_roles"].where(member_id=member["id"]):
        raise unprocessable("Role cannot be empty")
    return DONE


def delete_membership(ask: Ask) -> Any:
    """One that comes from a group or from the parent project cannot be deleted: 422, and no word why."""
    member = ask.row("members")
    project = _project(ask, member)
    ask.need(project, "manage_members")
    links = ask.store["member_roles"].where(member_id=member["id"])
    managed = _managed_roles(ask, project)
    if any(link.get("inherited_from") or link["role_id"] not in managed for link in links):
        raise RefusedError(422)
    remove_member(ask.store, member)
    return DONE


def _project(ask: Ask, member: Row) -> Row:
    return ask.store["projects"].at(member["project_id"])


def _shown(ask: Ask, member: Row) -> dict[str, Any]:
    principal = ask.store["users"].at(member["user_id"])
    return {
        "id": member["id"],
        "project": named(_project(ask, member)),
        _KINDS[principal["type"]]: {"id": principal["id"], "name": principal_name(principal)},
        "roles": shown_roles(ask.store, member),
    }


def _role_ids(body: Row) -> list[int]:
    given = body.get("role_ids")
    return [to_id(each) for each in given] if isinstance(given, list) else []


def _managed_roles(ask: Ask, project: Row) -> set[int]:
    """The roles that the visitor may give: not the built-in ones, and perhaps only some of the others."""
    givable = {role["id"] for role in ask.store["roles"] if not role.get("builtin")}
    if ask.who.admin:
        return givable
    mine = [role for role in ask.who.roles_in(project) if role_has(role, "manage_members")]
    if any(role.get("all_roles_managed", True) for role in mine):
        return givable
    links = [link for role in mine for link in ask.store["roles_managed_roles"].where(role_id=role["id"])]
    return {link["managed_role_id"] for link in links}


def _created(ask: Ask, project: Row, principal_id: int, role_ids: list[int]) -> Row:
    store, sentences = ask.store, []
    principal = store["users"].get(principal_id)
    if principal is None or principal["type"] not in _KINDS:
        sentences.append("Principal cannot be blank")
    if store["members"].first(project_id=project["id"], user_id=principal_id):
        sentences.append("User has already been taken")
    if not role_ids:
        sentences.append("Role cannot be empty")
    if sentences:
        raise unprocessable(*sentences)
    member = new_member(store, project["id"], principal_id)
    for role_id in dict.fromkeys(role_ids):
        add_role(store, member, role_id)
    return member


def _set_roles(ask: Ask, member: Row, project: Row, asked: list[int]) -> None:
    """Only roles that the visitor may give are touched; inherited ones stay."""
    managed = _managed_roles(ask, project)
    links = ask.store["member_roles"].where(member_id=member["id"])
    kept = {link["role_id"] for link in links if link.get("inherited_from") or link["role_id"] not in managed}
    wanted = kept | (set(asked) & managed)
    has = {link["role_id"] for link in links}
    for role_id in dict.fromkeys(each for each in asked if each in wanted - has):
        add_role(ask.store, member, role_id)
    for link in links:
        if link["role_id"] not in wanted:
            remove_role(ask.store, link, keep_member=True)
