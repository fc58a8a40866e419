"""What surrounds workflows: tags, credentials, the version, and what our key may do."""

import re
from base64 import b64decode
from typing import Any, Final

import msgspec

from dogubako.contract.errors import ApiError
from dogubako.outbound.http import Asked
from dogubako.packs.n8n.api.service import N8nService, missing, place

_MOST_PER_PAGE: Final = 250
_MOST_PAGES: Final = 20
_REPORTING = re.compile(rb'name="n8n:config:sentry" content="([A-Za-z0-9+/=]+)"')


class LookupsApi:
    """Small lists, read whole."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def tags(self) -> list[dict[str, Any]]:
        return await self._all("tags", Asked(operation="list tags"))

    async def create_tag(self, name: str) -> dict[str, Any]:
        asked = Asked(operation="create tag", resource_type="Tag", resource_id=name)
        answer = await self._service.ask("POST", place("tags"), asked, json={"name": name})
        return await self._service.object_in(answer, asked, "id")

    async def credentials(self) -> list[dict[str, Any]]:
        """Names and types; n8n hands out no secrets, and neither do we."""
        return await self._all("credentials", Asked(operation="list credentials"))

    async def credential_schema(self, kind: str) -> dict[str, Any]:
        asked = Asked(operation="get credential schema", resource_type="Credential type", resource_id=kind)
        try:
            answer = await self._service.ask("GET", place("credentials", "schema", kind), asked)
        except ApiError as error:
            if error.status_code == 404:
                raise missing(asked, "list_credentials shows types that are in use.") from error
            raise
        return await self._service.object_in(answer, asked)

    async def version(self) -> str | None:
        """The API does not tell it; the editor's page does, in what it hands to its error reporting."""
        asked = Asked(operation="check the version")
        try:
            answer = await self._service.knock("GET", "/", asked, json=None, seconds=10)
        except ApiError:
            # A login page may stand before the editor, and the API work all the same.
            return None
        for encoded in _REPORTING.findall(answer.body):
            try:
                release = str(msgspec.json.decode(b64decode(encoded)).get("release"))
            except (ValueError, AttributeError):
                continue
            if release.startswith("n8n@"):
                return release.removeprefix("n8n@")
        return None

    async def scopes(self) -> set[str] | None:
        """What our key may do, where this version tells it."""
        try:
            answer = await self._service.get(place("discover"), Asked(operation="check the API key"))
        except ApiError as error:
            if error.status_code == 404:
                return None
            raise
        found = answer.get("data", {}).get("scopes") if isinstance(answer, dict) else None
        return set(found) if isinstance(found, list) else None

    async def _all(self, what: str, asked: Asked) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._service.page(place(what), asked, limit=_MOST_PER_PAGE, cursor=cursor)
            found += page["data"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found
