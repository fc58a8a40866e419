"""Issues and wiki pages as resources, with completion of their addresses."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.context import ToolContext
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Page
from dogubako.contract.resource import ResourceTemplate
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters.answers import Answers
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import ISSUE, PROJECT, WIKI_PAGE, Json, Kind
from dogubako.packs.redmine.tools.issues import journal_page, shown_issue

# A family of resources has one type for all settings, so the format of the tools' answers does not count here.
_IN_XML: Final = Answers("xml")
_SUGGESTIONS: Final = 50
_JOURNALS: Final = 20
_INCLUDE: Final = ("children", "attachments", "relations", "journals", "allowed_statuses")


async def _read_issue(context: ToolContext[Any], variables: Mapping[str, str]) -> str:
    client: RedmineClient = context.client
    issue = await client.records.show(ISSUE, variables["id"], _INCLUDE)
    shown = await shown_issue(client.lookups, issue, _JOURNALS, 0)
    return await _written(context, ISSUE, shown, journal_page(shown))


async def _read_page(context: ToolContext[Any], variables: Mapping[str, str]) -> str:
    client: RedmineClient = context.client
    path = place("projects", variables["id"], "wiki", variables["title"])
    page = await client.records.show(WIKI_PAGE, variables["title"], path=path)
    return await _written(context, WIKI_PAGE, view(page))


async def _issue_ids(context: ToolContext[Any], typed: str, _: Mapping[str, str]) -> list[str]:
    client: RedmineClient = context.client
    page = await client.records.page(ISSUE, sort="updated_on:desc", limit=_SUGGESTIONS)
    return [str(row["id"]) for row in page.rows if str(row["id"]).startswith(typed)]


async def _projects(context: ToolContext[Any], typed: str, _: Mapping[str, str]) -> list[str]:
    client: RedmineClient = context.client
    rows = await client.lookups.rows(PROJECT)
    return [row["identifier"] for row in rows if row["identifier"].startswith(typed)]


async def _titles(context: ToolContext[Any], typed: str, chosen: Mapping[str, str]) -> list[str]:
    client: RedmineClient = context.client
    if not chosen.get("id"):
        return []
    page = await client.records.page(WIKI_PAGE, place("projects", chosen["id"], "wiki", "index"))
    return [row["title"] for row in page.rows if row["title"].casefold().startswith(typed.casefold())]


async def _written(context: ToolContext[Any], kind: Kind, shown: Json, page: Page | None = None) -> str:
    """Cut between whole elements where it must be: cut like any text it would be no document any more."""

    def write() -> str:
        return str(context.responses.success(_IN_XML.record_now(kind, shown, page=page)).content[0]["text"])

    return await offload_if_large(shown, write)


RESOURCE_TEMPLATES = (
    ResourceTemplate(
        uri_template="redmine://issues/{id}",
        name="Redmine issue",
        description="An issue with its newest journals, children, relations and attachments.",
        mime_type="application/xml",
        read=_read_issue,
        completions={"id": _issue_ids},
    ),
    ResourceTemplate(
        uri_template="redmine://projects/{id}/wiki/{title}",
        name="Redmine wiki page",
        description="A page of a project's wiki.",
        mime_type="application/xml",
        read=_read_page,
        completions={"id": _projects, "title": _titles},
    ),
)
