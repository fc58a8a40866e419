"""Searching for nodes: what words mean, which nodes come first, and what two sources find together."""

from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest

import dogubako_sandbox
from dogubako.packs.n8n.nodes.descriptions import Summary
from dogubako.packs.n8n.nodes.index import downloaded, downloaded_index
from dogubako.packs.n8n.nodes.ranking import ranked
from dogubako.packs.n8n.nodes.wishes import terms_of

from .wired import bench

NODE_TYPES: Final = Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types"
BASE: Final = "n8n-nodes-base."
TOKEN: Final = "mcp-token-nobody-sees"
FOUND: Final = """## "sheet"

- n8n-nodes-base.googleAds
  Display Name: Google Ads
  Description: Use the Google Ads API
- n8n-nodes-base.googleSheets
  Display Name: Google Sheets
  Description: Read, update and write data to Google Sheets
- n8n-nodes-base.googleSheetsTool
  Display Name: Google Sheets Tool
- n8n-nodes-acme.sheetPress
  Display Name: Sheet Press
  Description: Presses sheets

---

## Verified community nodes (not installed on this instance)

## "sheet"

- n8n-nodes-other.sheets
  Display Name: Sheets
"""


def found_over_mcp(asked: list[list[str]]) -> Any:
    def answer(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/mcp-server/http":
            return None
        call = msgspec.json.decode(request.content)["params"]
        asked.append(call["arguments"]["queries"])
        result = {"content": [], "structuredContent": {"results": FOUND}}
        message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})
        return httpx2.Response(200, content=message, headers={"content-type": "application/json"})

    return answer


def node(name: str, **more: Any) -> Summary:
    return Summary(type=BASE + name, **more)


@pytest.mark.parametrize(
    ("wish", "meant"),
    [
        pytest.param("get told when another workflow fails", "errortrigger", id="several words"),
        pytest.param("call the workflow", "executeworkflow", id="a word that says nothing between them"),
        pytest.param("Zeilen in eine Datenbank schreiben", "postgres", id="German"),
        pytest.param("Duplikate", "removeduplicates", id="any ending"),
        pytest.param("täglich", "scheduletrigger", id="without accents"),
        pytest.param("毎日決まった時間に実行する", "scheduletrigger", id="Japanese"),
        pytest.param("JSONをCSVに変換する", "converttofile", id="two scripts"),
        pytest.param("ファイルを解凍", "compression", id="half-width letters are no others"),
        pytest.param("hoja de cálculo", "googlesheets", id="Spanish"),
        pytest.param("tous les jours", "scheduletrigger", id="French"),
    ],
)
def test_everyday_words_mean_nodes(wish: str, meant: str) -> None:
    assert meant in [name for term in terms_of(wish) for name in term.meant]


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert [term.written for term in terms_of("please send it to the printer 8")] == ["send", "printer"]
    assert [term.written for term in terms_of("the")] == ["the"]
    assert terms_of("이것") != []


def test_a_name_that_begins_like_a_foreign_word_stays() -> None:
    known = [node("sendGrid", title="SendGrid"), node("emailSend", title="Send Email")]

    assert ranked(known, "sendgrid", 2)[0].summary.type == BASE + "sendGrid"


def test_hidden_nodes_and_variants_for_agents_come_last() -> None:
    hidden = [node("readPDF", title="Read PDF", hidden=True), node("pdf", hidden=True)]
    known = [*hidden, node("pdfTool", title="PDF Tool"), node("extractFromFile", aliases=["PDF"])]

    def first(wish: str) -> str:
        return ranked(known, wish, 9)[0].summary.type.removeprefix(BASE)

    assert [first(wish) for wish in ("pdf file", "read pdf", "pdf")] == ["extractFromFile"] * 3
    assert first("readPDF") == "readPDF"
    assert first("pdfTool") == "pdfTool"


def test_a_word_that_begins_longer_expressions_keeps_its_own_meaning() -> None:
    # `Datei speichern` is an expression, and `datei*` a word of its own.
    assert [term.words for term in terms_of("Datei")] == [("datei", "file")]


async def test_a_search_over_the_instance_asks_for_each_word_and_chooses_itself(tmp_path: Path) -> None:
    asked: list[list[str]] = []
    async with bench(tmp_path, found_over_mcp(asked), N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("search_nodes", query="append row to google sheet")

    names = [one["type"] for one in found["nodes"]]
    assert {"append row to google sheet", "google sheet", "googlesheets", "row"} <= set(asked[0])
    assert names[0] == BASE + "googleSheets"
    assert names.index(BASE + "googleSheetsTool") == len(names) - 1
    assert "n8n-nodes-other.sheets" not in names


async def test_node_types_answer_and_the_instance_adds_its_community_nodes(tmp_path: Path) -> None:
    settings = {"N8N_MCP_TOKEN": TOKEN, "N8N_NODE_TYPES": str(NODE_TYPES)}
    async with bench(tmp_path, found_over_mcp([]), **settings) as n8n:
        found = await n8n.data("search_nodes", query="http or sheet")

    names = [one["type"] for one in found["nodes"]]
    assert BASE + "httpRequest" in names
    assert "n8n-nodes-acme.sheetPress" in names
    assert BASE + "googleAds" not in names
    assert found["source"].endswith(", and community nodes from n8n's own MCP endpoint")


async def test_a_failing_instance_leaves_the_node_types(tmp_path: Path) -> None:
    def failing(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(500) if request.url.path == "/mcp-server/http" else None

    settings = {"N8N_MCP_TOKEN": TOKEN, "N8N_NODE_TYPES": str(NODE_TYPES)}
    async with bench(tmp_path, failing, **settings) as n8n:
        found = await n8n.data("search_nodes", query="http")

    assert found["nodes"][0]["type"] == BASE + "httpRequest"
    assert "MCP" not in found["source"]


@pytest.mark.parametrize("query", ["wxyzzy blorf", "ぬぬぬぬ", "qwertz uiopü asdf http"])
async def test_a_wish_that_is_not_understood_says_so(tmp_path: Path, query: str) -> None:
    async with bench(tmp_path, N8N_NODE_TYPES=str(NODE_TYPES)) as n8n:
        found = await n8n.data("search_nodes", query=query)

    assert "use a few English words" in found["hint"]


def test_an_older_download_is_still_read(tmp_path: Path) -> None:
    older = downloaded(tmp_path, "2.41.1", 1)
    older.touch()

    assert downloaded_index(tmp_path, "2.41.1") == older
    assert downloaded_index(tmp_path, "2.41.2") is None
