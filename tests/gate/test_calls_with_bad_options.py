"""A call whose options cannot be read is refused, and recorded like every other call."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import opened
from tests.doors.pipe import speaking

from .methods import ERAS, Era
from .sheds import SHED, key_in, recorded_in, shed_in
from .speaking import Speaker, outcome

OPTIONS = [
    pytest.param({"timeout": "soon"}, "Invalid type for parameter options.timeout: expected integer", id="a word"),
    pytest.param({"retries": 1}, "Unknown parameter: options.retries (did you mean retry?)", id="an unknown one"),
    pytest.param("soon", "Invalid type for parameter options: expected object", id="no object"),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("options", "message"), OPTIONS)
async def test_over_http_it_is_refused_and_recorded(tmp_path: Path, era: Era, options: Any, message: str) -> None:
    key, marker = {"x-api-key": key_in(tmp_path, "ann", "admin")}, tmp_path / "marker"
    arguments = {"text": "a", "marker": str(marker)}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys"))) as client:
        speaker = await Speaker(client, key, era).open()
        params = messages.call("put", arguments, modern=era == "2026", options=options)
        answer = outcome((await speaker.ask("tools/call", params, "put")).response)

    assert (answer["isError"], answer["content"][0]["text"]) == (True, message)
    assert not marker.exists()
    [line] = recorded_in(tmp_path)
    told = (line["tool"], line["code"], line["caller"], line["door"], line["arguments"])
    assert told == ("put", "VALIDATION_ERROR", "ann", "http", ["marker", "text"])


@pytest.mark.slow
@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
def test_over_stdio_it_is_refused_and_recorded(tmp_path: Path, modern: bool) -> None:
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data"), "DOGUBAKO_AUDIT": "true"}
    with speaking(SHED, folder=tmp_path, modern=modern, settings=settings) as pipe:
        if not modern:
            pipe.open()
        answer = pipe.request("tools/call", messages.call("look", {"text": "a"}, modern=modern, options="soon"))

    assert answer["result"]["_meta"]["code"] == "VALIDATION_ERROR"
    [line] = recorded_in(tmp_path / "data")
    assert (line["tool"], line["code"], line["door"]) == ("look", "VALIDATION_ERROR", "stdio")


async def test_over_rest_it_is_refused_and_recorded(tmp_path: Path) -> None:
    key = {"x-api-key": key_in(tmp_path, "ann", "admin"), "content-type": "application/json"}
    body = {"name": "look", "parameters": {"text": "a"}, "options": {"timeout": "soon"}}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys"))) as client:
        visit = await client.request("POST", "/v1/tools/call", headers=key, body=body)

    assert (visit.status, visit.json["code"]) == (400, "VALIDATION_ERROR")
    [line] = recorded_in(tmp_path)
    assert (line["tool"], line["code"], line["caller"], line["door"]) == ("look", "VALIDATION_ERROR", "ann", "rest")
