"""Who keeps a request open is looked at again and again, whatever happens while looking."""

from typing import Any

import anyio
import pytest

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import ApiError, AuthenticationError
from dogubako.gate.authentication import Headers, NoAuthentication
from dogubako.transports.mcp.auth import CredentialWatch
from tests.doors.processes import PATIENCE


class Gatekeeper(NoAuthentication):
    """Finds one thing after another when asked who is calling, and the last one from then on."""

    def __init__(self, *finds: Exception | None) -> None:
        self._finds = list(finds)
        self.looks = 0

    def authenticate_cached(self, headers: Headers) -> Caller:
        self.looks += 1
        found = self._finds.pop(0) if len(self._finds) > 1 else self._finds[0]
        if found is not None:
            raise found
        return TRUSTED


async def never(*_: object) -> Any:
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(ApiError("It does not answer.", unreachable=True), id="the authorization server does not answer"),
        pytest.param(RuntimeError("a mistake of ours"), id="a mistake of ours"),
    ],
)
async def test_one_look_that_fails_is_not_the_last(monkeypatch: pytest.MonkeyPatch, trouble: Exception) -> None:
    monkeypatch.setattr("dogubako.transports.mcp.auth.LOOK_AGAIN_SECONDS", 0.01)
    gatekeeper = Gatekeeper(None, trouble, None, AuthenticationError("The API key is revoked."))
    with pytest.raises(AuthenticationError, match="revoked"), anyio.fail_after(PATIENCE):
        async with CredentialWatch(gatekeeper, {"type": "http", "headers": []}, never, never) as welcome:
            assert await welcome.receive() == {"type": "http.disconnect"}

    assert gatekeeper.looks == 4
