"""Sign-in through the authorization server: send the browser there, and take it back.

All cookies are `SameSite=Strict`, so a browser that comes from another site brings none. It gets a small page that
loads the same address again, from this site.
"""

import time
from typing import Final
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from dogubako.contract.errors import AuthenticationError
from dogubako.gate.code_flow import CALLBACK_PATH, AuthorizationCodeFlow, SignInRequest
from dogubako.transports.console.page import Visit, cookie_of, page, redirect, safe_path
from dogubako.transports.console.session import PATH, PendingSignIn, Session, Sessions
from dogubako.transports.http.request import header

START_PATH: Final = f"{PATH}/sign-in/start"
COOKIE: Final = "dogubako_sign_in"
# How long a person may take at the authorization server.
_SECONDS: Final = 600
# Marks the second load, for browsers that do not say where a request comes from.
_AGAIN: Final = "again"


class IssuerSignIn:
    """The two routes of the authorization code flow."""

    def __init__(self, flow: AuthorizationCodeFlow, sessions: Sessions) -> None:
        self._flow = flow
        self._sessions = sessions
        self.issuer = flow.issuer
        self.encrypted = flow.redirect_uri.startswith("https:")

    def start_address(self, back: str) -> str:
        """The link of the sign-in page. At the address to which the browser comes back: cookies belong to a host."""
        return f"{self._flow.origin}{START_PATH}?{urlencode({'back': back})}"

    async def start(self, visit: Visit) -> Response:
        request = SignInRequest.new()
        address = await self._flow.start(request)
        pending = PendingSignIn(
            request=request, back=safe_path(visit.query.get("back", "")), until=time.time() + _SECONDS
        )
        response = redirect(address)
        self._set_cookie(response, self._sessions.seal(pending), _SECONDS)
        return response

    async def finish(self, visit: Visit) -> tuple[Session, str]:
        """The session of whoever comes back, and the page that was wanted. AuthenticationError if it is forged."""
        pending = self._sessions.open_pending(visit.request.cookies.get(COOKIE))
        if pending is None:
            raise AuthenticationError(
                "No sign-in was begun in this browser, or it took too long.", hint="Sign in again."
            )
        token = await self._flow.access_token(pending.request, visit.query)
        return await self._sessions.sign_in(token), pending.back

    def forget(self, response: Response) -> None:
        """A sign-in counts once."""
        self._set_cookie(response, "", 0)

    def _set_cookie(self, response: Response, value: str, seconds: int) -> None:
        response.set_cookie(
            COOKIE,
            value,
            max_age=seconds,
            path=CALLBACK_PATH,
            httponly=True,
            samesite="strict",
            secure=self.encrypted,
        )


def came_without_cookies(request: Request) -> bool:
    """Whether a link of another site led here, so that the browser kept our cookies back."""
    if request.method != "GET" or _AGAIN in request.query_params:
        return False
    if request.url.path == CALLBACK_PATH:
        return COOKIE not in request.cookies
    return header(request.scope, b"sec-fetch-site") == b"cross-site" and cookie_of(request) is None


async def load_again(visit: Visit) -> Response:
    """A page that loads the same address once more."""
    address = quote(visit.request.scope["path"])
    if query := visit.request.scope["query_string"].decode("latin-1"):
        address = f"{address}?{query}"
    if visit.request.url.path == CALLBACK_PATH:
        address = f"{address}{'&' if query else '?'}{_AGAIN}=1"
    return await page(visit, "load_again.html", address=address)
