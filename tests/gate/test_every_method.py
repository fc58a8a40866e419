"""Every MCP method in both eras × everybody who may come: the exact outcome."""

from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client

from .callers import KINDS, REFUSED, Keyring, Kind
from .methods import ERAS, METHODS, Era, unknown
from .seen import body_of, refusal
from .speaking import Speaker, outcome


@pytest.mark.usefixtures("web")
async def test_every_method_of_the_server_is_in_the_matrix(door: HttpApp) -> None:
    # The SDK answers `initialize` itself, before it looks into its table.
    assert {*door.mcp.door.server._request_handlers, "initialize"} == set(METHODS)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", METHODS)
async def test_no_method_answers_who_does_not_belong(web: Client, keyring: Keyring, method: str, era: Era) -> None:
    case, answers = METHODS[method], {}
    for which in REFUSED:
        visit = await Speaker(web, keyring.refusal(which).headers, era).ask(method, case.params, case.name)
        answers[which] = (visit.status, body_of(visit), visit.headers["www-authenticate"])

    assert answers == {which: _refused(keyring, which) for which in REFUSED}


def _refused(keyring: Keyring, which: str) -> tuple[int, Any, str]:
    said = keyring.refusal(which)
    return 401, refusal(said.error, "AUTHENTICATION_ERROR", said.hint), 'Bearer realm="dogubako"'


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", METHODS)
async def test_every_method_gives_what_the_scope_gives(
    web: Client, keyring: Keyring, method: str, era: Era, kind: Kind
) -> None:
    case = METHODS[method]
    speaker = await Speaker(web, keyring.header(kind), era).open()
    expected = case.answers(kind) if era in case.eras else unknown(method)

    assert await _said(speaker, method) == expected


async def _said(speaker: Speaker, method: str) -> Any:
    case = METHODS[method]
    if method == "subscriptions/listen" and speaker.era in case.eras:
        first = await speaker.listen(case.params or {})
        opened = first.get("method") == "notifications/subscriptions/acknowledged"
        return "listening" if opened else outcome(first)
    return outcome((await speaker.ask(method, case.params, case.name)).response)


@pytest.mark.parametrize("message", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff" * 100], ids=str)
async def test_nobody_reads_a_message_before_its_sender_is_known(web: Client, message: bytes) -> None:
    visit = await web.request("POST", "/mcp", headers=messages.legacy_headers(), body=message)

    assert (visit.status, visit.json["code"]) == (401, "AUTHENTICATION_ERROR")
