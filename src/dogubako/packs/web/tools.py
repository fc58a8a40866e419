"""The tools of the web pack: search, and fetch a page."""

from typing import Literal

from pydantic import Field

from dogubako.contract.errors import NoResults
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Json, Markdown, Message, Text
from dogubako.contract.tool import BaseTool, NoArgs, ToolArgs
from dogubako.packs.web.connection import WebConnection
from dogubako.packs.web.formatters import instant_blocks, page_text, result_blocks
from dogubako.packs.web.models import Query
from dogubako.packs.web.pages.parts import LONG, PartWanted
from dogubako.packs.web.settings import ProviderName


class WebSearchArgs(ToolArgs):
    query: str = Field(description="What to search for.", examples=["python 3.14 release notes"])
    max_results: int = Field(10, ge=1, le=30, description="How many results at most.")
    page: int = Field(1, ge=1, le=20, description="Which page of results, from 1.")
    region: str | None = Field(None, description="Country and language, for example us-en or jp-jp; all without it.")
    safesearch: Literal["strict", "moderate", "off"] = Field("moderate", description="How much is filtered out.")
    time_range: Literal["day", "week", "month", "year"] | None = Field(None, description="Only results this young.")
    site: str | None = Field(None, description="Only results from this site.", examples=["docs.python.org"])
    exclude_sites: tuple[str, ...] = Field((), max_length=10, description="No results from these sites.")
    provider: ProviderName | None = Field(None, description="One search engine, without fall-back.")


class WebSearch(BaseTool[WebSearchArgs, WebConnection]):
    """Search the web: titles, addresses and snippets. Says plainly when the search was blocked."""

    name = "web_search"
    effect = Effect.READ
    tags = ("search",)
    # Searches wait for their slot, and thirty results are three requests.
    timeout = 60_000
    examples = (ToolExample(description="A plain search", parameters={"query": "sqlite json functions"}),)
    keywords = {
        "en": "google something; look it up online; find on the internet; "
        "news, weather, recipe, price, shop, sports result; latest information about a topic; "
        "articles about it; who won the match; latest version of a program; "
        "find news about something; search online; google how to do something; "
        "reviews of a product; cheap flights",
        "ja": "ネット 調べる ググる 検索 ニュース 天気 値段 最新 情報 インターネット レシピ 探す 話題 ウェブ "
        "オンライン 評判 航空券 安い",
    }

    async def execute(self, args: WebSearchArgs) -> Markdown:
        query = Query(
            text=args.query,
            count=args.max_results,
            page=args.page,
            region=args.region,
            safesearch=args.safesearch,
            time_range=args.time_range,
            site=args.site,
            exclude_sites=args.exclude_sites,
        )
        client = await self.client.opened()
        found = await client.searching.search(query, args.provider)
        if not found.hits:
            raise NoResults(hint=" ".join(found.notes) or None)
        return Markdown(blocks=result_blocks(query, found), count=len(found.hits))


class InstantAnswerArgs(ToolArgs):
    query: str = Field(description="A name, a word or a question.", examples=["Ada Lovelace"])


class InstantAnswerTool(BaseTool[InstantAnswerArgs, WebConnection]):
    """Look up a fact: an abstract with its source, an answer, a definition, related topics."""

    name = "instant_answer"
    effect = Effect.READ
    tags = ("search",)
    keywords = {
        "en": "who was a person; what is a thing; meaning of a word; definition; "
        "capital, height, population, date of birth; quick fact; how tall is a mountain; "
        "how old is somebody; explain a term in a sentence; who is this famous person; "
        "capital of a country",
        "ja": "とは 何 誰 意味 定義 首都 事実 どこ いつ 言葉 簡単に 人物 高さ 調べる 百科 どんな人",
    }

    async def execute(self, args: InstantAnswerArgs) -> Markdown | Text:
        client = await self.client.opened()
        answer = await client.searching.instant_answer(args.query)
        if answer.empty:
            return Text(text="No instant answer available for this query.", count=0)
        return Markdown(blocks=instant_blocks(answer), count=1)


class SearchHealth(BaseTool[NoArgs, WebConnection]):
    """See which search engines answer now, and why others do not."""

    name = "search_health"
    effect = Effect.READ
    tags = ("search",)
    keywords = {
        "en": "is the web search broken or down; why are there no search results; "
        "blocked search engines; engine status; why does the web search find nothing",
        "ja": "検索 動かない 壊れた 落ちている 結果が出ない 調子 検索エンジン 動いている 使えない 状態",
    }

    async def execute(self, args: NoArgs) -> Json:
        client = await self.client.opened()
        states = await client.searching.health()
        good = sum(1 for one in states if one["ok"])
        message = Message(
            en=f"{good} of {len(states)} search engines answer", ja=f"検索エンジン {good}/{len(states)} が応答"
        )
        return Json(data={"providers": states}, message=message, count=good)


class FetchPageArgs(ToolArgs):
    url: str = Field(min_length=1, max_length=2_000, description="Address of the page, http or https.")
    start_index: int = Field(0, ge=0, description="How many characters to leave out at the beginning.")
    max_length: int = Field(LONG, ge=100, le=200_000, description="How many characters at most.")
    section: str | None = Field(None, description="Only the section with this headline.")
    headings_only: bool = Field(False, description="Only the headlines, to see what there is.")
    format: Literal["markdown", "text", "html"] = Field("markdown", description="How the page is written down.")


class FetchPage(BaseTool[FetchPageArgs, WebConnection]):
    """Read a public web page or PDF: its readable part as Markdown, page by page. Private addresses are refused."""

    name = "fetch_page"
    effect = Effect.READ
    tags = ("pages",)
    timeout = 60_000
    examples = (ToolExample(description="A page", parameters={"url": "https://example.com/"}),)
    keywords = {
        "en": "read a website; open a link or url; get the text of an article, blog or pdf online; "
        "summarise a web page; what does the site say",
        "ja": "サイト リンク 先 読む 開く 記事 要約 ページ 内容 ホームページ URL 書いてある 取得",
    }

    async def execute(self, args: FetchPageArgs) -> Text:
        wanted = PartWanted(
            url=args.url,
            start=args.start_index,
            length=args.max_length,
            section=args.section,
            headings_only=args.headings_only,
            format=args.format,
        )
        client = await self.client.opened()
        url, part = await client.page(wanted)
        return Text(text=page_text(part, url, wanted))


TOOLS = (
    WebSearch,
    InstantAnswerTool,
    SearchHealth,
    FetchPage,
)
