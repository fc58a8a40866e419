"""Resources, prompts and completions lie, and clients send hostile addresses: every answer is valid, fits and helps."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import mcp_types
import pytest

from dogubako.response.tokens import count_tokens
from tests.doors import messages

from .conftest import Tally
from .lying_catalog import CASES
from .server import Target, target

pytestmark = pytest.mark.attack

_SECRET: Final = "n8n-key-4711-nobody-may-see"
_SETTINGS: Final = {"N8N_API_KEY": _SECRET, "N8N_URL": "http://127.0.0.1:9"}
_BUDGET: Final = 25_000
_HOSTILE: Final = {
    "many ways to match": "lie://many/" + "-" * 1_900 + "/",
    "many ways to match, with dots": "lie://many/" + "-." * 900 + "/",
    "too long": "lie://read/" + "a" * 1_000_000,
    "half characters": "lie://read/\ud800",
    "zero byte": "lie://read/%00",
    "a path": "lie://read/..%2f..%2fetc%2fpasswd",
    "no scheme": "etc/passwd",
    "nothing": "",
    "controls": "lie://read/\x1b[31m\n",
    "secret": f"lie://read/{_SECRET}",
}
_RESULTS: Final[dict[str, Any]] = {
    "resources/read": mcp_types.ReadResourceResult,
    "prompts/get": mcp_types.GetPromptResult,
    "completion/complete": mcp_types.CompleteResult,
}


def _ask(aim: Target, method: str, name: str, params: dict[str, Any]) -> tuple[int, Any]:
    body = json.dumps(messages.request(method, {**params, "_meta": messages.envelope()}))
    # A name with characters that no header may have is not mirrored in one.
    named = name if name.isascii() and name.isprintable() and len(name) < 1_000 else None
    headers = messages.modern_headers(method, named) if named is not None else messages.modern_headers(method)
    answer = aim.http.post("/mcp", content=body, headers=headers)
    try:
        return answer.status_code, messages.response_in(answer.headers["content-type"], answer.content)
    except ValueError:
        return answer.status_code, None


def _check(aim: Target, tally: Tally, method: str, name: str, params: dict[str, Any], what: str) -> None:
    ask = partial(_ask, aim, method, name, params)
    status, response = ask()
    said = json.dumps(response, ensure_ascii=False)
    tally.check(isinstance(response, dict) and ("result" in response or "error" in response), f"{what}: {said:.200}")
    tally.check(status < 500, f"{what}: {status} {said:.200}")
    tally.check(_SECRET not in said, f"{what}: the secret is in the answer")
    tally.check("Traceback" not in said and "/src/" not in said, f"{what}: {said:.300}")
    tokens = sum(map(count_tokens, _texts(response)))
    tally.check(tokens <= _BUDGET, f"{what}: {tokens:,} tokens")
    if isinstance(response, dict) and "result" in response:
        tally.check(_is_valid(method, response["result"]), f"{what}: not a valid result: {said:.200}")
    aim.check_loop(tally, what, ask)


def _texts(value: Any) -> Iterator[str]:
    """All texts of an answer, as a model reads them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _is_valid(method: str, result: Any) -> bool:
    try:
        _RESULTS[method].model_validate(result)
    except ValueError:
        return False
    return True


def test_a_lying_catalog(tmp_path: Path, tally: Tally) -> None:
    with target(Path(__file__).with_name("lying_catalog.py"), folder=tmp_path, words=(), settings=_SETTINGS) as aim:
        aim.heartbeat()
        for how in CASES["read"]:
            uri = f"lie://read/{quote(how)}"
            _check(aim, tally, "resources/read", uri, {"uri": uri}, f"read {how}")
        for how in CASES["prompt"]:
            params = {"name": "lie", "arguments": {"how": how}}
            _check(aim, tally, "prompts/get", "lie", params, f"prompt {how}")
        for how in CASES["complete"]:
            reference = {"type": "ref/prompt", "name": "lie"}
            params = {"ref": reference, "argument": {"name": "how", "value": how}}
            _check(aim, tally, "completion/complete", "lie", params, f"complete {how}")
        for what, uri in _HOSTILE.items():
            _check(aim, tally, "resources/read", uri, {"uri": uri}, what)
        tally.check(aim.call("heartbeat").status_code == 200, "the server is still there")
