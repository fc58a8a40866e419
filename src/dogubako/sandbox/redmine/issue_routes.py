"""Every endpoint about issues, their watchers, relations and categories."""

from typing import Final

from dogubako.sandbox.redmine import issue_categories as categories
from dogubako.sandbox.redmine import issue_endpoints as issues
from dogubako.sandbox.redmine import relations, watchers
from dogubako.sandbox.redmine.issue_list import list_issues
from dogubako.sandbox.redmine.routing import Place

ISSUE_ROUTES: Final[tuple[Place, ...]] = (
    ("GET", "/issues", list_issues),
    ("POST", "/issues", issues.create_issue),
    ("DELETE", "/issues", issues.delete_issues),
    ("GET", "/projects/{project_id}/issues", list_issues),
    ("POST", "/projects/{project_id}/issues", issues.create_issue),
    ("GET", "/issues/{id}", issues.show_issue),
    ("PUT", "/issues/{id}", issues.update_issue),
    ("DELETE", "/issues/{id}", issues.delete_issue),
    ("POST", "/issues/{issue_id}/watchers", watchers.add_watcher),
    ("DELETE", "/issues/{issue_id}/watchers/{user_id}", watchers.remove_watcher),
    ("GET", "/issues/{issue_id}/relations", relations.list_relations),
    ("POST", "/issues/{issue_id}/relations", relations.create_relation),
    ("GET", "/relations/{id}", relations.show_relation),
    ("DELETE", "/relations/{id}", relations.delete_relation),
    ("GET", "/projects/{project_id}/issue_categories", categories.list_categories),
    ("POST", "/projects/{project_id}/issue_categories", categories.create_category),
    ("GET", "/issue_categories/{id}", categories.show_category),
    ("PUT", "/issue_categories/{id}", categories.update_category),
    ("DELETE", "/issue_categories/{id}", categories.delete_category),
)
