"""Secrets planted everywhere: in settings, addresses, credentials and what services say. None is seen again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.doors import messages
from tests.doors.processes import PATIENCE, Command, run, serving
from tests.redis_server import free_port

from .echoing_service import echoing_service
from .sheds import key_in, recorded_in

# Each has a core that stays readable however it is written.
PLANTED: Final = {
    "N8N_API_KEY": "c4naryN8N/+=&x0123456789",
    "REDMINE_API_KEY": "c4naryRedmine0123456789",
    "BRAVE_API_KEY": "c4naryBrave.0123456789",
    "DOGUBAKO_REQUEST_STATE_KEY": "c4naryState" * 4,
}
# As it is, and as a header carries the user and password of an address.
TRACES: Final = ("c4nary", "YzRuYXJ5")


def betrayed(text: str) -> bool:
    return any(trace in text for trace in TRACES)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A server full of secrets, and the service behind it."""

    server: Command
    key: str
    sent: list[str]

    @property
    def everything_written(self) -> str:
        folder = self.server.folder
        log = self.server.log_file + (folder / "data" / "audit.jsonl").read_text()
        return log + self.server.stderr.text() + self.server.stdout.text()


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], list[str]]]:
    folder = tmp_path_factory.mktemp("planted")
    with echoing_service() as (address, sent):
        yield (
            folder,
            {
                **PLANTED,
                "N8N_URL": f"http://{address}/n8n",
                "REDMINE_URL": f"http://{address}/redmine",
                "SEARXNG_URL": f"http://c4naryUserInfo:c4naryUserInfo@{address}/searx",
                "WEB_PROVIDERS": "searxng",
                "RATE_LIMIT_STORAGE": f"redis://:c4naryRates@127.0.0.1:{free_port()}/0",
                "RATE_LIMIT_MAX": "100000",
                "DOGUBAKO_CACHE": f"redis://:c4naryCache@127.0.0.1:{free_port()}/0",
                "DOGUBAKO_AUTH": "keys",
                "DOGUBAKO_DATA_DIR": str(folder / "data"),
                "LOG_LEVEL": "trace",
            },
            sent,
        )


@pytest.fixture(scope="module")
def planted(settings: tuple[Path, dict[str, str], list[str]]) -> Iterator[Planted]:
    folder, said, sent = settings
    key = key_in(folder / "data", "ann", "admin")
    with serving(folder=folder, settings=said) as server:
        # One call, so that there is something in the audit log, whichever of the tests comes first.
        body = {"name": "search_tools", "parameters": {"query": "rakes"}}
        httpx2.post(f"{server.url()}/v1/tools/call", json=body, headers={"x-api-key": key}, timeout=PATIENCE)
        recorded_in(folder / "data", lines=1)
        yield Planted(server=server, key=key, sent=sent)


@pytest.fixture(scope="module")
def web(planted: Planted) -> Iterator[httpx2.Client]:
    headers = {"x-api-key": planted.key}
    with httpx2.Client(base_url=planted.server.url(), timeout=PATIENCE, headers=headers) as client:
        yield client


CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("list_workflows", {}),
    ("get_execution", {"id": "17"}),
    ("delete_workflow", {"id": "abc", "confirm": True}),
    ("list_issues", {}),
    ("show_issue", {"id": 8}),
    ("create_issue", {"project_id": "webshop", "subject": "s"}),
    ("web_search", {"query": "rakes"}),
    ("fetch_page", {"url": "http://bob:hidden@127.0.0.1/x?token=abcdefgh"}),
)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_service_that_repeats_everything_betrays_nothing(
    planted: Planted, web: httpx2.Client, name: str, arguments: dict[str, Any]
) -> None:
    # Tried again after a pause, a service would say nothing new.
    once = {"retry": 0}
    modern = messages.request("tools/call", messages.call(name, arguments, modern=True, options=once))
    # Every kind of answer that the service has comes by each door; searches are paced, so a few must do.
    for _ in range(2 if name == "web_search" else 11):
        before = len(planted.sent)
        rest = web.post("/v1/tools/call", json={"name": name, "parameters": arguments, "options": once})
        between = len(planted.sent)
        mcp = web.post("/mcp", json=modern, headers=messages.modern_headers("tools/call", name))
        assert not betrayed(rest.text + str(rest.headers)), rest.text
        assert not betrayed(mcp.text + str(mcp.headers)), mcp.text
        # An address that nobody may fetch is the only thing that never gets as far as the service.
        reached = before < between < len(planted.sent)
        assert reached is (name != "fetch_page"), (rest.text, mcp.text)
    assert not betrayed(planted.everything_written)


def test_the_keys_did_reach_their_services(planted: Planted, web: httpx2.Client) -> None:
    """Else the tests above would look for something that was never there."""
    for name, arguments in (("list_workflows", {}), ("list_issues", {}), ("web_search", {"query": "spades"})):
        web.post("/v1/tools/call", json={"name": name, "parameters": arguments, "options": {"retry": 0}})
    sent = "\n".join(planted.sent)

    assert "c4naryN8N" in sent and "c4naryRedmine" in sent and "Basic YzRuYXJ5" in sent


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/healthz", "/readyz", "/v1/tools", "/nowhere"])
def test_no_page_shows_a_secret(planted: Planted, web: httpx2.Client, path: str) -> None:
    for headers in ({}, {"x-api-key": "c4nary-of-a-stranger"}):
        answer = web.get(path, headers=headers)
        assert answer.content and not betrayed(answer.text + str(answer.headers))
    assert not betrayed(planted.everything_written)


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "tools/list"])
def test_no_list_shows_a_secret(planted: Planted, web: httpx2.Client, method: str) -> None:
    body = messages.request(method, {"_meta": messages.envelope()})
    answer = web.post("/mcp", json=body, headers=messages.modern_headers(method))

    assert answer.status_code == 200 and not betrayed(answer.text)


def credentials() -> Iterator[Any]:
    own, token = "dgb_0123abcd_" + "c4nary" * 8, "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjNG5hcnkifQ.c4nary-signature"
    for secret in (own, token):
        kind = "key" if secret == own else "token"
        yield pytest.param("GET", "/v1/tools", {"x-api-key": secret}, id=f"{kind} in its header")
        yield pytest.param("GET", "/v1/tools", {"authorization": f"Bearer {secret}"}, id=f"{kind} as bearer")
        yield pytest.param("GET", "/v1/tools", {"authorization": f"Basic {secret}"}, id=f"{kind} in another scheme")
        yield pytest.param("GET", "/v1/tools", {"cookie": f"key={secret}"}, id=f"{kind} in a cookie")
        yield pytest.param("GET", f"/v1/tools?api_key={secret}", {}, id=f"{kind} in a query")
        yield pytest.param("GET", f"/v1/tools?{secret}=1", {}, id=f"{kind} as a parameter's name")
        yield pytest.param("GET", f"/{secret}/x", {}, id=f"{kind} in a path")
        yield pytest.param("GET", f"/v1/tools/{secret}", {}, id=f"{kind} as a tool's name")
        yield pytest.param("BREW", f"/v1/tools/{secret}", {}, id=f"{kind} in a path with another method")
        yield pytest.param("POST", f"/tools/call?key={secret}", {}, id=f"{kind} in a redirected query")
        yield pytest.param("GET", "/v1/tools", {"host": secret}, id=f"{kind} as the host")
        yield pytest.param("GET", "/v1/tools", {"origin": f"http://{secret}"}, id=f"{kind} as the origin")


@pytest.mark.parametrize(("method", "path", "headers"), list(credentials()))
def test_a_credential_in_the_wrong_place_is_not_written_down(
    planted: Planted, web: httpx2.Client, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = web.request(method, path, headers=headers, follow_redirects=False)

    assert answer.status_code in (200, 307, 400, 401, 403, 404, 405)
    assert not betrayed(planted.everything_written)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("search_tools", {"query": "dgb_0123abcd_" + "c4nary" * 8}, id="a value"),
        pytest.param("search_tools", {"dgb_0123abcd_" + "c4nary" * 8: 1}, id="an argument's name"),
        pytest.param("dgb_0123abcd_" + "c4nary" * 8, {}, id="a tool's name"),
    ],
)
def test_a_credential_in_a_call_is_not_written_down(
    planted: Planted, web: httpx2.Client, name: str, arguments: dict[str, Any]
) -> None:
    answer = web.post("/v1/tools/call", json={"name": name, "parameters": arguments})

    assert answer.status_code in (200, 400, 404)
    assert not betrayed(planted.everything_written)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["config"], id="settings"),
        pytest.param(["config", "--json"], id="settings as JSON"),
        pytest.param(["doctor"], id="doctor"),
        pytest.param(["keys", "list", "--json"], id="keys"),
        pytest.param(["audit", "tail", "--json"], id="audit"),
        pytest.param(["tools", "call", "list_workflows"], id="a call"),
        pytest.param(["tools", "call", "list_issues", "--json"], id="a call as JSON"),
    ],
)
@pytest.mark.usefixtures("planted")
def test_no_command_shows_a_secret(settings: tuple[Path, dict[str, str], list[str]], words: list[str]) -> None:
    folder, said, _ = settings
    # There are keys and audit lines: the server of the tests above has written some.
    said_so = run(*words, folder=folder, settings=said)

    assert said_so.stdout + said_so.stderr
    assert not betrayed(said_so.stdout + said_so.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("DOGUBAKO_REQUEST_STATE_KEY", "c4nary", id="too short"),
        pytest.param("RATE_LIMIT_STORAGE", "redis://:c4nary@host:port", id="no port"),
        pytest.param("DOGUBAKO_CACHE", "redis://:c4nary@host:port", id="no port of the cache"),
        pytest.param("RATE_LIMIT_STORAGE", "memcached://c4nary", id="another kind"),
        pytest.param("N8N_API_KEY", "c4nary\nkey", id="not for a header"),
        pytest.param("REDMINE_URL", "ftp://ann:c4nary@host", id="another scheme"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not(tmp_path: Path, name: str, value: str) -> None:
    others = {"RATE_LIMIT_MAX": "5", "N8N_URL": "http://127.0.0.1:1", "REDMINE_API_KEY": "x" * 20}
    said = run("config", folder=tmp_path, settings={**others, name: value})

    assert said.returncode == 2 and name in said.stderr
    assert not betrayed(said.stdout + said.stderr)


@pytest.mark.slow
def test_a_key_is_shown_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    where = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    made = run("keys", "create", "--name", "ann", "--scope", "read", "--json", folder=tmp_path, settings=where)
    secret = next(value for value in json.loads(made.stdout).values() if str(value).startswith("dgb_"))
    listed = run("keys", "list", "--json", folder=tmp_path, settings=where)
    kept = "".join(path.read_text() for path in (tmp_path / "data").iterdir() if path.is_file())

    # The secret itself may hold an underscore.
    assert secret.split("_", 2)[-1] not in listed.stdout + kept + "".join(
        path.read_text() for path in (tmp_path / "logs").glob("*")
    )
