"""Clients that we did not write understand us: the official SDK's and FastMCP's, over stdio and HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox

from .answers import from_result
from .clients import CLIENTS, Client, connected
from .processes import HERE, WORKBENCH, serving
from .waiting import says, until

_TOOLS = (WORKBENCH, HERE / "odd_tools.py")

_SAME_EVERYWHERE: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "道具箱 🧰 \u0001"}),
    ("big", {"items": 3}),
    ("picture", {}),
    ("fail", {"kind": "API_ERROR"}),
    ("fail", {"kind": "unexpected"}),
    ("echo", {"txt": 1}),
    ("ecco", {}),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(*_TOOLS, folder=tmp_path_factory.mktemp("serve")) as command:
        yield command.url()


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_foreign_client_lists_calls_asks_and_hears_of_progress(
    kind: Client, url: str, box: Toolbox, tmp_path: Path
) -> None:
    async with connected(kind, url=url, tools=_TOOLS, folder=tmp_path) as client:
        names = await client.names()
        answers = [await client.call(name, arguments) for name, arguments in _SAME_EVERYWHERE]
        said = await client.call("ask", {"question": "Which colour?"})
        await client.call("slow", {"seconds": 0.2})
        # Clients hand on what they hear meanwhile beside the answer.
        await until(lambda: client.heard.progress[-1:] == [(2, 2, "done")], "the last progress is heard")

    assert {"ask", "big", "echo", "fail", "picture", "slow"} <= set(names)
    assert (said.text, client.heard.questions) == ("green", ["Which colour?"])
    assert len(client.heard.progress) >= 2
    for (name, arguments), answer in zip(_SAME_EVERYWHERE, answers, strict=True):
        assert answer.comparable() == from_result(await box.call(name, arguments)).comparable()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sdk-stdio-2025", "sdk-http-2025", "sdk-http-2026", "fastmcp-http"])
async def test_a_foreign_client_that_gives_up_stops_the_tool(kind: Client, url: str, tmp_path: Path) -> None:
    async with connected(kind, url=url, tools=_TOOLS, folder=tmp_path) as client:
        for tool in ("linger", "linger_talking"):
            marker = tmp_path / tool
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call, tool, {"marker": str(marker)})
                await says(marker, "started")
                tasks.cancel_scope.cancel()
            await says(marker, "cancelled")

        assert (await client.call("echo", {"text": "still here"})).text == "still here"
