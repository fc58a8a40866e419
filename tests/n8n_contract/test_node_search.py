"""Nodes are found by everyday words of several languages, whatever the source of the node types is."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from dogubako.packs.n8n.nodes.index import index_of, installed_packages
from dogubako.packs.n8n.nodes.wishes import named_nodes
from tests.n8n_contract.node_wishes import DAILY, FRESH, UNSEEN
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place
from tests.n8n_contract.real_side import Server

WISHES = [pytest.param(DAILY, id="daily"), pytest.param(FRESH, id="fresh"), pytest.param(UNSEEN, id="unseen")]
DEPRECATED = {"readPDF", "readBinaryFile", "spreadsheetFile", "itemLists", "htmlExtract"}


async def first_five(place: Place, wish: str) -> list[str]:
    found = await place.call("search_nodes", query=wish, limit=5)
    return [one["type"].rpartition(".")[2] for one in found["nodes"]]


async def missed(place: Place, wishes: Mapping[str, str]) -> dict[str, list[str]]:
    found = {wish: await first_five(place, wish) for wish in wishes}
    return {wish: names for wish, names in found.items() if not set(wishes[wish].split()) & set(names)}


@only_where_there_is("all-node-types")
@pytest.mark.parametrize("wishes", WISHES)
async def test_a_wish_finds_a_node_that_fulfils_it(place: Place, wishes: Mapping[str, str]) -> None:
    assert await missed(place, wishes) == {}


@only_where_there_is("all-node-types")
@pytest.mark.parametrize("wishes", WISHES)
async def test_a_wish_is_fulfilled_by_the_instances_own_search_too(mcp_place: Place, wishes: Mapping[str, str]) -> None:
    assert await missed(mcp_place, wishes) == {}


@only_where_there_is("all-node-types")
@pytest.mark.parametrize("wish", ["read a pdf", "read csv", "split list", "parse html"])
async def test_what_n8n_hides_is_not_offered_before_the_others(place: Place, wish: str) -> None:
    assert not DEPRECATED & set(await first_five(place, wish))


@only_where_there_is("all-node-types")
async def test_a_hidden_node_is_found_by_its_name_and_marked(place: Place) -> None:
    found = await place.call("search_nodes", query="readPDF")

    assert (found["nodes"][0]["type"], found["nodes"][0]["deprecated"]) == ("n8n-nodes-base.readPDF", True)


@only_where_there_is("all-node-types")
async def test_every_node_that_the_words_name_exists(
    place: Place, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue("server")
    index = index_of(installed_packages(Path(server.installation)), tmp_path)
    shown = {one.type.rpartition(".")[2].lower() for one in index.summaries() if not one.hidden}

    assert named_nodes() - shown == set()
