"""Read a page."""

from typing import Literal

from pydantic import Field

from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Text
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.web.client import WebClient
from dogubako.packs.web.formatters.page import page_text
from dogubako.packs.web.pages.parts import LONG, PartWanted


class FetchPageArgs(ToolArgs):
    url: str = Field(min_length=1, max_length=2_000, description="Address of the page, http or https.")
    start_index: int = Field(0, ge=0, description="How many characters to leave out at the beginning.")
    max_length: int = Field(LONG, ge=100, le=200_000, description="How many characters at most.")
    section: str | None = Field(None, description="Only the section with this headline.")
    headings_only: bool = Field(False, description="Only the headlines, to see what there is.")
    format: Literal["markdown", "text", "html"] = Field("markdown", description="How the page is written down.")


class FetchPage(BaseTool[FetchPageArgs, WebClient]):
    """Read a public web page or PDF: its readable part as Markdown, page by page. Private addresses are refused."""

    name = "fetch_page"
    effect = Effect.READ
    tags = ("pages",)
    timeout = 60_000
    examples = (ToolExample(description="A page", parameters={"url": "https://example.com/"}),)
    keywords = {"ja": "ページ 取得 読む URL"}

    async def execute(self, args: FetchPageArgs) -> Text:
        wanted = PartWanted(
            url=args.url,
            start=args.start_index,
            length=args.max_length,
            section=args.section,
            headings_only=args.headings_only,
            format=args.format,
        )
        url, part = await self.client.page(wanted)
        return Text(text=page_text(part, url, wanted))


TOOLS = (FetchPage,)
