"""Memberships of users and groups in projects, and how roles are inherited: from groups and from parent projects."""

from typing import Any, Final

from dogubako_sandbox.redmine.records import Records
from dogubako_sandbox.redmine.request import DONE, ApiRequest, RefusedError, applying, created, refuse
from dogubako_sandbox.redmine.serializers import named, principal_name, shown_roles
from dogubako_sandbox.redmine.store import Row, Store, now_text, to_id, to_list

# A membership shows its member under the name of the kind of principal.
_KINDS: Final = {
    "User": "user",
    "Group": "group",
    "GroupAnonymous": "group_anonymous",
    "GroupNonMember": "group_non_member",
}


class Memberships(Records):
    one, many, table = "membership", "memberships", "members"
    view, manage = ("view_members", "manage_members"), ("manage_members",)

    def list_all(self, req: ApiRequest) -> Any:
        rows = req.store["members"].where(project_id=req.project_for(*self.view)["id"])
        return req.page_of("memberships", rows, lambda row: self.shown(req, row))

    def create(self, req: ApiRequest) -> Any:
        """Create a membership for each of `user_ids`; the answer shows the first of them."""
        project = req.project_for(*self.manage)
        body = req.body("membership", required=True)
        wanted = to_list(body["user_id"] if body.get("user_id") is not None else body.get("user_ids"))
        rows = [_create(req, project, to_id(each), _givable_roles(req.store, body)) for each in wanted]
        return created({"membership": self.shown(req, rows[0])}, f"{req.base_url}/memberships/{rows[0]['id']}")

    def update(self, req: ApiRequest) -> Any:
        """Remove roles that are not named at once, even when none is left and the answer is a refusal."""
        member = self.found(req, *self.manage)
        links = req.store["member_roles"].where(member_id=member["id"])
        if req.params.get("membership") is not None:
            wanted = _givable_roles(req.store, req.body("membership"))
            for role_id in [each for each in wanted if each not in {link["role_id"] for link in links}]:
                add_role(req.store, member, role_id)
            for link in links:
                if link["role_id"] not in wanted and not link.get("inherited_from"):
                    remove_role(req.store, link, keep_member=True)
        refuse([] if req.store["member_roles"].where(member_id=member["id"]) else ["Role cannot be empty"])
        return DONE

    def remove(self, req: ApiRequest, row: Row) -> None:
        """Refuse to delete a membership that comes from a group or from the parent project: 422, without a reason."""
        if any(link.get("inherited_from") for link in req.store["member_roles"].where(member_id=row["id"])):
            raise RefusedError(422)
        remove_member(req.store, row)

    def shown(self, req: ApiRequest, row: Row, *, alone: bool = False) -> Row:
        principal = req.store["users"].at(row["user_id"])
        return {
            "id": row["id"],
            "project": named(req.store.project_of(row)),
            _KINDS[principal["type"]]: {"id": principal["id"], "name": principal_name(req.store, principal)},
            "roles": shown_roles(req.store, row),
        }


def _givable_roles(store: Store, body: Row) -> list[int]:
    """Return the roles of a body without the built-in ones and those that do not exist."""
    wanted = body.get("role_ids")
    roles = [store["roles"].get(each) for each in wanted] if isinstance(wanted, list) else []
    return list(dict.fromkeys(role["id"] for role in roles if role and not role.get("builtin")))


def _create(req: ApiRequest, project: Row, principal_id: int, role_ids: list[int]) -> Row:
    principal = req.store["users"].get(principal_id)
    sentences = {
        "Principal cannot be blank": principal is None or principal["type"] not in _KINDS,
        "User has already been taken": req.store["members"].first(project_id=project["id"], user_id=principal_id),
        "Role cannot be empty": not role_ids,
    }
    refuse(applying(sentences))
    member = new_member(req.store, project["id"], principal_id)
    for role_id in role_ids:
        add_role(req.store, member, role_id)
    return member


def new_member(store: Store, project_id: int, principal_id: int) -> Row:
    return store["members"].add(project_id=project_id, user_id=principal_id, created_on=now_text())


def add_role(store: Store, member: Row, role_id: int, inherited_from: int | None = None) -> None:
    """Give a role to a member, and to all members who inherit it."""
    link = store["member_roles"].add(member_id=member["id"], role_id=role_id, inherited_from=inherited_from)
    if inherited_from is None:
        for user in store["groups_users"].where(group_id=member["user_id"]):
            _inherit(store, member["project_id"], user["user_id"], link)
    for child in store["projects"].where(parent_id=member["project_id"]):
        if child.get("inherit_members"):
            _inherit(store, child["id"], member["user_id"], link)


def _inherit(store: Store, project_id: int, principal_id: int, link: Row) -> None:
    member = store["members"].first(project_id=project_id, user_id=principal_id)
    add_role(store, member or new_member(store, project_id, principal_id), link["role_id"], link["id"])


def remove_role(store: Store, link: Row, *, keep_member: bool = False) -> None:
    """Take a role away, also from members who inherited it. A member without any role is removed."""
    store["member_roles"].remove(link)
    for heir in store["member_roles"].where(inherited_from=link["id"]):
        remove_role(store, heir)
    member = store["members"].get(link["member_id"])
    if member and not keep_member and not store["member_roles"].where(member_id=member["id"]):
        remove_member(store, member)


def remove_member(store: Store, member: Row) -> None:
    """Remove a member, who is no longer the default assignee of anything either."""
    for link in store["member_roles"].where(member_id=member["id"]):
        remove_role(store, link, keep_member=True)
    store["members"].remove(member)
    for category in store["issue_categories"].where(project_id=member["project_id"], assigned_to_id=member["user_id"]):
        category["assigned_to_id"] = None
    for project in store["projects"].where(id=member["project_id"], default_assigned_to_id=member["user_id"]):
        project["default_assigned_to_id"] = None


def inherit_from_parent(store: Store, project: Row) -> None:
    """Make a project's inherited roles those of its parent; none, if it does not inherit."""
    members = store["members"].ids("id", project_id=project["id"])
    links = [link for link in store["member_roles"] if link["member_id"] in members]
    own = {link["id"] for link in links}
    for link in links:
        if link.get("inherited_from") and link["inherited_from"] not in own:
            remove_role(store, link)
    if project.get("inherit_members") and project.get("parent_id"):
        for member in store["members"].where(project_id=project["parent_id"]):
            for link in store["member_roles"].where(member_id=member["id"]):
                _inherit(store, project["id"], member["user_id"], link)


MEMBERSHIPS: Final = Memberships()
