"""Our own description, taken at its word: whatever it allows is answered as it says, and whatever it forbids is not."""

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from starlette.types import ASGIApp, Receive, Scope, Send

from dogubako.transports.http.app import HttpApp
from tests.hypothesis_profiles import examples

from .sheds import key_in, shed_in

Case = schemathesis.Case[Any]

PROBES: Final = ("/healthz", "/readyz")

# So many requests for each route and method; without chance, so that what fails here fails everywhere.
_BOUNDED = settings(
    max_examples=examples(40),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def served(folder: Path, **settings: Any) -> ASGIApp:
    """The HTTP door for a client that opens and closes the server around every request."""
    door = HttpApp(shed_in(folder, audit=False, allowed_hosts=("testserver",), **settings))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
        else:
            await door(scope, receive, send)

    return app


# The tests are made from the description, so the server is there before they are.
_FOLDER: Final = Path(mkdtemp(prefix="dogubako-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
_KEY: Final = {"X-API-Key": key_in(_FOLDER, "ann", "admin")}
_open = schemathesis.openapi.from_asgi("/openapi.json", served(_FOLDER))
# Adding a server starts the program that the request names: nothing for requests that chance makes. Whether one is
# accepted depends on that program, and tests/gateway has those cases.
_guarded = schemathesis.openapi.from_asgi("/openapi.json", served(_FOLDER, auth="keys"), headers=_KEY).exclude(
    path="/v1/servers", method="POST"
)


@pytest.mark.slow
@_open.parametrize()
@_BOUNDED
def test_a_server_for_everybody_keeps_its_word(case: Case) -> None:
    case.call_and_validate()


@pytest.mark.slow
@_guarded.parametrize()
@_BOUNDED
def test_a_server_with_keys_keeps_its_word(case: Case) -> None:
    case.call_and_validate(headers=_KEY)


@pytest.mark.slow
@_guarded.parametrize()
@_BOUNDED
def test_a_server_with_keys_keeps_its_word_to_strangers(case: Case) -> None:
    answer = case.call_and_validate(headers={"X-API-Key": "dgb_00000000_" + "x" * 43})

    assert case.path in PROBES or answer.status_code == 401
    assert case.path not in PROBES or case.method != "GET" or answer.status_code == 200
