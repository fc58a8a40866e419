"""A browser without JavaScript: keeps cookies, fills forms, and looks at pages as a parser sees them."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from selectolax.lexbor import LexborHTMLParser

from dogubako.app import Toolbox
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened

Fields = Mapping[str, str] | Sequence[tuple[str, str]]


class Browser:
    """One visitor of the console."""

    def __init__(self, client: Client, language: str = "en") -> None:
        self._client = client
        self._language = language
        self.cookies: dict[str, str] = {}
        self.csrf = ""

    async def get(self, path: str, **headers: str) -> Visit:
        visit = await self._client.request("GET", path, headers=self._headers(headers))
        return self._seen(visit)

    async def post(self, path: str, fields: Fields = (), *, csrf: str | None = None, **headers: str) -> Visit:
        """Send a form with the token of the last page, or with another one."""
        pairs = [*(fields.items() if isinstance(fields, Mapping) else fields)]
        pairs.append(("csrf", self.csrf if csrf is None else csrf))
        sent = self._headers({"content-type": "application/x-www-form-urlencoded", **headers})
        visit = await self._client.request("POST", path, headers=sent, body=urlencode(pairs).encode())
        return self._seen(visit)

    async def sign_in(self, key: str) -> Visit:
        await self.get("/console/sign-in")
        return await self.post("/console/sign-in", {"key": key, "back": "/console"})

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        headers = {"accept": "text/html,*/*;q=0.8", "accept-language": self._language}
        if self.cookies:
            headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {**headers, **{name.replace("_", "-"): value for name, value in more.items()}}

    def _seen(self, visit: Visit) -> Visit:
        for name, value in visit.sent[0]["headers"]:
            if name == b"set-cookie":
                for key, morsel in SimpleCookie(value.decode()).items():
                    self.cookies[key] = morsel.value
        if token := re.search(rb'name="csrf" value="([0-9a-f]{64})"', visit.body):
            self.csrf = token[1].decode()
        return visit


@asynccontextmanager
async def browsing(box: Toolbox, language: str = "en") -> AsyncIterator[Browser]:
    """A browser in front of a running server."""
    async with opened(HttpApp(box)) as client:
        yield Browser(client, language)


def text_of(visit: Visit) -> str:
    """What a person reads in the main part of the page, in one line."""
    main = LexborHTMLParser(visit.body.decode()).css_first("main")
    assert main is not None
    return " ".join(main.text(separator=" ").split())


def dangers(page: str) -> list[str]:
    """Everything in a page that could run or fetch something that is not ours."""
    found = []
    for node in LexborHTMLParser(page).css("*"):
        tag, attributes = node.tag or "", node.attributes
        if tag in ("script", "link") and not (attributes.get("src") or attributes.get("href") or "").startswith(
            "/console/static/"
        ):
            found.append(f"<{tag}>")
        if tag in ("style", "iframe", "object", "embed", "base"):
            found.append(f"<{tag}>")
        for name, value in attributes.items():
            target = (value or "").strip().lower()
            if name.startswith("on") or name == "style":
                found.append(f"{tag} {name}")
            if name in ("href", "src", "action", "formaction") and target.startswith(("javascript:", "vbscript:")):
                found.append(f"{tag} {name}")
            if name == "src" and not target.startswith(("/console/static/", "data:image/")):
                found.append(f"{tag} src={target[:40]}")
    return found
