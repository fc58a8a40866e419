"""The smaller parts of the public API: data tables, credentials, tags, the security audit and insights."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dogubako.contract.errors import ApiError
from dogubako.outbound.http import Operation
from dogubako.packs.n8n.api.service import N8nService, missing, place

JsonObject = dict[str, Any]
_PER_PAGE: Final = 250
_MOST_PAGES: Final = 20


class AdministrationApi:
    """Data tables and what else an instance has beside workflows and executions."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def tables(self) -> list[JsonObject]:
        found: list[JsonObject] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            operation = Operation(name="list data tables")
            page = await self._service.page(place("data-tables"), operation, limit=_PER_PAGE, cursor=cursor)
            found += page["data"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    async def rows(self, table_id: str, **query: Any) -> JsonObject:
        operation = _operation("read data table", table_id)
        if query.get("filter") is not None:
            query["filter"] = _in_address(query["filter"])
        return await self._service.page(place("data-tables", table_id, "rows"), operation, **query)

    async def insert(self, table_id: str, rows: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
        body = {"data": list(rows), "returnType": "all"}
        return await self._written("POST", _operation("insert rows", table_id), body, "rows")

    async def change(self, table_id: str, how: str, body: Mapping[str, Any]) -> list[JsonObject]:
        """Update or upsert rows; the changed rows."""
        method = "PATCH" if how == "update" else "POST"
        return await self._written(
            method, _operation(f"{how} rows", table_id), {**body, "returnData": True}, "rows", how
        )

    async def delete_rows(self, table_id: str, condition: Any, *, dry_run: bool) -> list[JsonObject]:
        operation = _operation("delete rows", table_id)
        params = {"filter": _in_address(condition), "returnData": True, "dryRun": dry_run}
        path = place("data-tables", table_id, "rows", "delete")
        answer = await self._service.ask("DELETE", path, operation, params=params)
        return _rows(await self._service.decoded(answer, operation))

    async def create_credential(self, credential: Mapping[str, Any]) -> JsonObject:
        operation = Operation(name="create credential", resource_type="Credential")
        answer = await self._service.ask("POST", place("credentials"), operation, json=dict(credential))
        return await self._service.object_in(answer, operation, "id")

    async def test_credential(self, credential_id: str) -> JsonObject:
        operation = Operation(name="test credential", resource_type="Credential", resource_id=credential_id)
        path = place("credentials", credential_id, "test")
        try:
            answer = await self._service.ask("POST", path, operation, json={})
        except ApiError as error:
            if error.status_code == 404:
                raise missing(operation, "list_credentials has the ids.") from error
            raise
        return await self._service.object_in(answer, operation, "status")

    async def rename_tag(self, tag_id: str, name: str) -> JsonObject:
        operation = Operation(name="rename tag", resource_type="Tag", resource_id=tag_id)
        answer = await self._service.ask("PUT", place("tags", tag_id), operation, json={"name": name})
        return await self._service.object_in(answer, operation, "name")

    async def delete_tag(self, tag_id: str) -> None:
        operation = Operation(name="delete tag", resource_type="Tag", resource_id=tag_id)
        await self._service.ask("DELETE", place("tags", tag_id), operation)

    async def audit(self) -> JsonObject:
        operation = Operation(name="audit n8n")
        answer = await self._service.ask("POST", place("audit"), operation, json={})
        found = await self._service.decoded(answer, operation)
        # A fresh instance answers with an empty list.
        return found if isinstance(found, dict) else {}

    async def insights(self, **query: Any) -> JsonObject:
        found = await self._service.get(place("insights", "summary"), Operation(name="get insights"), **query)
        return found if isinstance(found, dict) else {}

    async def _written(self, method: str, operation: Operation, body: Any, *path: str) -> list[JsonObject]:
        target = place("data-tables", operation.resource_id or "", *path)
        answer = await self._service.ask(method, target, operation, json=body)
        return _rows(await self._service.decoded(answer, operation))


def _operation(name: str, table_id: str) -> Operation:
    return Operation(name=name, resource_type="Data table", resource_id=table_id)


def _rows(answer: Any) -> list[JsonObject]:
    return [one for one in answer if isinstance(one, dict)] if isinstance(answer, list) else []


def _in_address(condition: Any) -> str:
    """A filter as n8n takes it in an address: it refuses the plus sign that stands for a space there."""
    return msgspec.json.encode(condition).decode().replace(" ", "\\u0020")
