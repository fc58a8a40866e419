"""Search the web, ask for an instant answer, and see which engines answer."""

from typing import Literal

from pydantic import Field

from dogubako.contract.errors import NoResults
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Markdown, Message, Output, Text
from dogubako.contract.tool import BaseTool, NoArgs, ToolArgs
from dogubako.packs.web.client import WebClient
from dogubako.packs.web.formatters.results import instant_blocks, result_blocks
from dogubako.packs.web.models import Query
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


class WebSearch(BaseTool[WebSearchArgs, WebClient]):
    """Search the web: titles, addresses and snippets. Says plainly when the search was blocked."""

    name = "web_search"
    effect = Effect.READ
    tags = ("search",)
    # Searches wait for their turn, and thirty results are three requests.
    timeout = 60_000
    examples = (ToolExample(description="A plain search", parameters={"query": "sqlite json functions"}),)
    keywords = {"ja": "ウェブ 検索 インターネット 調べる"}

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
        found = await self.client.searching.search(query, args.provider)
        if not found.hits:
            raise NoResults(hint=" ".join(found.notes) or None)
        return Markdown(blocks=result_blocks(query, found), count=len(found.hits))


class InstantAnswerArgs(ToolArgs):
    query: str = Field(description="A name, a word or a question.", examples=["Ada Lovelace"])


class InstantAnswerTool(BaseTool[InstantAnswerArgs, WebClient]):
    """Look up a fact: an abstract with its source, an answer, a definition, related topics."""

    name = "instant_answer"
    effect = Effect.READ
    tags = ("search",)
    keywords = {"ja": "定義 事実 調べる 百科"}

    async def execute(self, args: InstantAnswerArgs) -> Markdown | Text:
        answer = await self.client.searching.instant_answer(args.query)
        if answer.empty:
            return Text(text="No instant answer available for this query.", count=0)
        return Markdown(blocks=instant_blocks(answer), count=1)


class SearchHealth(BaseTool[NoArgs, WebClient]):
    """See which search engines answer now, and why others do not."""

    name = "search_health"
    effect = Effect.READ
    tags = ("search",)
    keywords = {"ja": "検索 状態"}

    async def execute(self, args: NoArgs) -> Output:
        states = await self.client.searching.health()
        good = sum(1 for one in states if one["ok"])
        message = Message(
            en=f"{good} of {len(states)} search engines answer", ja=f"検索エンジン {good}/{len(states)} が応答"
        )
        return Output(data={"providers": states}, message=message, count=good)


TOOLS = (WebSearch, InstantAnswerTool, SearchHealth)
