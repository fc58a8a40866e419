"""What an authorization server answers is believed only if it is a proper answer, and not a flood."""

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dogubako.contract.errors import DogubakoError
from dogubako.gate.oauth import TokenAuthentication

from .authorization_server import AuthorizationServer
from .token_gate import taking_tokens

_UNANSWERED = "Access tokens cannot be checked: the authorization server does not answer."
_REFUSED = "The access token is not valid."


async def verdict(gate: TokenAuthentication, token: str) -> str:
    """Who gets in, or why nobody does."""
    try:
        return (await gate.authenticate([(b"authorization", f"Bearer {token}".encode())])).name
    except DogubakoError as error:
        return error.message


class _Odd(AuthorizationServer):
    """Shows its keys with this status, and with so much beside them."""

    def __init__(self, *, status: int = 200, padding: int = 0) -> None:
        super().__init__()
        self._status, self._padding = status, padding

    async def _show_keys(self, request: Request) -> Response:
        document: dict[str, Any] = {**self.jwks(), "padding": "x" * self._padding}
        return JSONResponse(document, status_code=self._status)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        pytest.param(_Odd(), "somebody", id="as it should be"),
        pytest.param(_Odd(status=404), _UNANSWERED, id="not found"),
        pytest.param(_Odd(status=500), _UNANSWERED, id="broken"),
        pytest.param(_Odd(padding=900_000), "somebody", id="large"),
        pytest.param(_Odd(padding=1_100_000), _UNANSWERED, id="a flood"),
    ],
)
async def test_keys_are_taken_from_a_good_answer_of_a_sensible_size(server: _Odd, said: str) -> None:
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == said


async def test_where_there_are_several_keys_a_token_names_its_own() -> None:
    server = AuthorizationServer()
    server.add("second")
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token()) == "somebody"
        assert await verdict(gate, server.token(kid=None)) == _REFUSED
