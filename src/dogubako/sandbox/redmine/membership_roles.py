"""How roles spread: from a group to its users, and from a project to the subprojects that inherit its members."""

from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.store import Row, Store


def new_member(store: Store, project_id: int, principal_id: int) -> Row:
    return store["members"].add(
        project_id=project_id, user_id=principal_id, created_on=now_text(), mail_notification=False
    )


def add_role(store: Store, member: Row, role_id: int, inherited_from: int | None = None) -> None:
    """Give a role, and give it on to everybody who inherits it."""
    link = store["member_roles"].add(member_id=member["id"], role_id=role_id)
    if inherited_from is None:
        for user in store["groups_users"].where(group_id=member["user_id"]):
            _inherit(store, member["project_id"], user["user_id"], link)
    else:
        link["inherited_from"] = inherited_from
    for child in store["projects"].where(parent_id=member["project_id"]):
        if child.get("inherit_members"):
            _inherit(store, child["id"], member["user_id"], link)


def _inherit(store: Store, project_id: int, principal_id: int, link: Row) -> None:
    member = store["members"].first(project_id=project_id, user_id=principal_id)
    add_role(store, member or new_member(store, project_id, principal_id), link["role_id"], link["id"])


def remove_role(store: Store, link: Row, *, keep_member: bool = False) -> None:
    """Take a role away, and from everybody who inherited it. A member without any role is no member."""
    store["member_roles"].remove(link)
    for heir in store["member_roles"].where(inherited_from=link["id"]):
        remove_role(store, heir)
    member = store["members"].get(link["member_id"])
    if member and not keep_member and not store["member_roles"].where(member_id=member["id"]):
        remove_member(store, member)


def remove_member(store: Store, member: Row) -> None:
    """Nothing is assigned to somebody by default who is no member any more."""
    for link in store["member_roles"].where(member_id=member["id"]):
        remove_role(store, link, keep_member=True)
    store["members"].remove(member)
    project_id, user_id = member["project_id"], member["user_id"]
    for category in store["issue_categories"].where(project_id=project_id, assigned_to_id=user_id):
        category["assigned_to_id"] = None
    project = store["projects"].get(project_id)
    if project and project.get("default_assigned_to_id") == user_id:
        project["default_assigned_to_id"] = None


def inherit_from_parent(store: Store, project: Row) -> None:
    """Make a project's inherited roles those of its parent now: none, if it does not inherit."""
    members = {member["id"] for member in store["members"].where(project_id=project["id"])}
    links = [link for link in store["member_roles"] if link["member_id"] in members]
    own = {link["id"] for link in links}
    for link in links:
        if link.get("inherited_from") and link["inherited_from"] not in own:
            remove_role(store, link)
    if project.get("inherit_members") and project.get("parent_id"):
        for member in store["members"].where(project_id=project["parent_id"]):
            for link in store["member_roles"].where(member_id=member["id"]):
                _inherit(store, project["id"], member["user_id"], link)


def join_group(store: Store, group_id: int, user_id: int) -> None:
    store["groups_users"].add(group_id=group_id, user_id=user_id)
    for member in store["members"].where(user_id=group_id):
        for link in store["member_roles"].where(member_id=member["id"]):
            _inherit(store, member["project_id"], user_id, link)


def leave_group(store: Store, group_id: int, user_id: int) -> None:
    store["groups_users"].remove_where(group_id=group_id, user_id=user_id)
    given = {
        link["id"]
        for member in store["members"].where(user_id=group_id)
        for link in store["member_roles"].where(member_id=member["id"])
    }
    for member in store["members"].where(user_id=user_id):
        for link in store["member_roles"].where(member_id=member["id"]):
            if link.get("inherited_from") in given:
                remove_role(store, link)
