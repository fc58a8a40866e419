"""A canary in the settings: whatever spills it, it is seen in no answer and in no log, by no door."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.testing import parse_call

from . import messages
from .canary_pack import FAILURES, SUCCESSES
from .pipe import Pipe, speaking
from .processes import HERE, PATIENCE, Command, run, serving, tool_words
from .waiting import until

_PACK = HERE / "canary_pack.py"
# Characters that JSON, XML, URLs and shells each write in their own way.
SECRET = 'Zq7"ü&<k4nari>/+=%x'
_SETTINGS = {"CANARY_KEY": SECRET, "LOG_LEVEL": "trace"}
# Pieces of it, and of the secrets of others that an upstream service may repeat.
_TRACES = ("Zq7", "k4nari", "Zr8")
HOW = [*FAILURES, *SUCCESSES]
_ONLY_IN_THE_LOG = ("exception", "exception group", "cause", "query")


def silent(text: str | bytes) -> bool:
    said = text.decode(errors="replace") if isinstance(text, bytes) else text
    return not any(trace in said for trace in _TRACES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    with serving(_PACK, folder=tmp_path_factory.mktemp("serve"), settings=_SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def web(server: Command) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url(), timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="module", params=[False, True], ids=["2025", "2026"])
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    folder = tmp_path_factory.mktemp("stdio")
    with speaking(_PACK, folder=folder, modern=request.param, settings=_SETTINGS) as pipe:
        if not request.param:
            pipe.open(capabilities={"elicitation": {}})
        yield pipe


def _session(web: httpx2.Client) -> str:
    opening = messages.request("initialize", messages.initialize(capabilities={"elicitation": {}}))
    return str(web.post("/mcp", json=opening, headers=messages.legacy_headers()).headers["mcp-session-id"])


async def _logs_are_silent(command: Command, marker: str) -> bool:
    """Both logs, once they are known to have got this far: one is written after the other."""
    command.stderr.first(lambda line: marker.encode() in line)
    await until(lambda: marker in command.log_file, "the file log has got this far")
    return silent(command.stderr.text()) and silent(command.log_file)


@pytest.mark.parametrize("tool", ["spill", "spill_plainly"])
async def test_http_doors_and_their_logs_keep_the_secret(server: Command, web: httpx2.Client, tool: str) -> None:
    session = _session(web)
    for how in HOW:
        arguments = {"how": how}
        modern = messages.request("tools/call", messages.call(tool, arguments, modern=True))
        legacy = messages.request("tools/call", messages.call(tool, arguments, modern=False))
        answers = [
            web.post("/v1/tools/call", json={"name": tool, "parameters": arguments}),
            web.post("/mcp", json=modern, headers=messages.modern_headers("tools/call", tool)),
            web.post("/mcp", json=legacy, headers=messages.legacy_headers(session)),
        ]
        for answer in answers:
            assert silent(answer.content), f"{how}: {answer.text[:500]}"
            assert "***" in answer.text or how in _ONLY_IN_THE_LOG

    assert await _logs_are_silent(server, "Spilling *** by mixed")


@pytest.mark.parametrize("tool", ["spill", "spill_plainly"])
async def test_stdio_and_its_logs_keep_the_secret(pipe: Pipe, tool: str) -> None:
    for how in HOW:
        pipe.call(tool, {"how": how})

    assert silent(pipe.command.stdout.text())
    assert await _logs_are_silent(pipe.command, "Spilling *** by mixed")


@pytest.mark.parametrize("how", ["long text", "one long line"])
def test_reading_on_in_a_cut_answer_keeps_the_secret(web: httpx2.Client, how: str) -> None:
    name, arguments, pages = "spill", {"how": how}, 0
    while name:
        text = web.post("/v1/tools/call", json={"name": name, "parameters": arguments}).json()["result"]
        assert silent(text), text[:200]
        pages += 1
        following = re.search(r"Next: (read_more\(.*\))\]$", text)
        name, arguments = parse_call(following[1]) if following and pages < 20 else ("", {})

    assert 1 < pages < 20


@pytest.mark.parametrize(
    ("how", "path"), [("text", ""), ("markdown", ""), ("data", "key"), ("data", "nested.0.deep"), ("xml", "c")]
)
def test_whoever_begins_in_the_middle_of_the_secret_sees_nothing_of_it(web: httpx2.Client, how: str, path: str) -> None:
    for offset in range(1, 30):
        where = {"tool": "spill", "arguments": {"how": how}, "offset": offset} | ({"path": path} if path else {})
        answer = web.post("/v1/tools/call", json={"name": "read_more", "parameters": where})
        # What is masked is shorter than the secret; behind its end there is nothing to read.
        assert answer.status_code == 200 or "there is nothing more" in answer.json()["error"]
        assert answer.status_code == 200 or offset > 1
        assert silent(answer.content), answer.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "words"),
    [
        pytest.param("upstream message", [], id="a failure, plain"),
        pytest.param("exception", ["--json"], id="a failure as JSON"),
        pytest.param("data", ["--json"], id="an answer as JSON"),
    ],
)
def test_the_command_line_keeps_the_secret(how: str, words: list[str], tmp_path: Path) -> None:
    called = run(
        "tools", "call", "spill", f"how={how}", *tool_words(_PACK), *words, folder=tmp_path, settings=_SETTINGS
    )

    assert called.returncode == (0 if how == "data" else 1)
    assert silent(called.stdout) and silent(called.stderr) and called.stdout + called.stderr
    assert silent((tmp_path / "logs" / "dogubako.log").read_text())


@pytest.mark.slow
def test_settings_are_shown_without_their_secrets(tmp_path: Path) -> None:
    settings = {**_SETTINGS, "DOGUBAKO_REQUEST_STATE_KEY": "Zq7" * 20}
    table = run("config", *tool_words(_PACK), folder=tmp_path, settings=settings)
    document = run("config", "--json", *tool_words(_PACK), folder=tmp_path, settings=settings)

    assert silent(table.stdout + table.stderr) and silent(document.stdout + document.stderr)
    assert json.loads(document.stdout)["canary"] == {"key": "***"}
    assert json.loads(document.stdout)["dogubako"]["request_state_key"] == "***"


@pytest.mark.parametrize("way", ["log", "progress", "ask"])
def test_what_a_tool_tells_the_client_meanwhile_keeps_the_secret(web: httpx2.Client, way: str) -> None:
    token = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
    can: dict[str, Any] = {"elicitation": {"form": {}}}
    params = messages.call("chat", {"way": way}, modern=True, meta=token, capabilities=can)
    body = messages.request("tools/call", params)
    answer = web.post("/mcp", json=body, headers=messages.modern_headers("tools/call", "chat"))

    assert "the key" in answer.text
    assert silent(answer.content), answer.text


def test_resources_and_prompts_keep_the_secret(web: httpx2.Client) -> None:
    for method, name, params in (
        ("resources/read", "canary://key", {"uri": "canary://key"}),
        ("prompts/get", "use_key", {"name": "use_key"}),
    ):
        body = messages.request(method, {**params, "_meta": messages.envelope()})
        answer = web.post("/mcp", json=body, headers=messages.modern_headers(method, name))
        assert answer.status_code == 200 and "***" in answer.text
        assert silent(answer.content)


def test_the_stack_is_in_the_log_and_the_reference_in_both(server: Command, web: httpx2.Client) -> None:
    answer = web.post("/v1/tools/call", json={"name": "spill", "parameters": {"how": "exception"}}).json()
    [logged] = [line for line in server.log_lines if line.get("error_id") == answer["errorId"] and "stack" in line]

    assert logged["event"] == "[spill] Error" and logged["level"] == "ERROR"
    assert "Traceback" in logged["stack"] and "RuntimeError: connection with key=***" in logged["stack"]
    assert "_spill" in logged["stack"] and "canary_pack.py" in logged["stack"]
    assert "Traceback" not in json.dumps(answer) and "RuntimeError" not in json.dumps(answer)
    assert answer["error"] == "Tool execution failed: spill"
