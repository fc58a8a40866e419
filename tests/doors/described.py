"""A client that holds every REST answer against the OpenAPI description, and lets nothing pass that is not in it."""

import copy
import re
from typing import Any

import jsonschema_rs

from dogubako.transports.http.app import HttpApp

from .asgi import Client, Headers, Visit


class DescribedClient(Client):
    """Checks status and body of each answer of a described operation."""

    def __init__(self, door: HttpApp, description: dict[str, Any]) -> None:
        super().__init__(door)
        self._description = description
        self._components = {
            "schemas": {name: _strict(one) for name, one in description["components"]["schemas"].items()}
        }
        self.checked = 0

    async def request(self, method: str, path: str, *, headers: Headers = (), body: Any = b"", **more: Any) -> Visit:
        visit = await super().request(method, path, headers=headers, body=body, **more)
        operation = self._operation(method, path)
        if operation is not None:
            self._check(operation, visit)
        return visit

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        route = path.partition("?")[0]
        # Exact paths win over those with a blank, as they do in the server.
        for template in sorted(self._description["paths"], key=lambda one: "{" in one):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), route):
                found: dict[str, Any] | None = self._description["paths"][template].get(method.lower())
                return found
        return None

    def _check(self, operation: dict[str, Any], visit: Visit) -> None:
        answers = operation["responses"]
        assert str(visit.status) in answers, (
            f"{operation['operationId']} answered {visit.status}, which is not described"
        )
        assert visit.headers["content-type"] == "application/json"
        schema = answers[str(visit.status)]["content"]["application/json"]["schema"]
        jsonschema_rs.validator_for({**schema, "components": self._components}).validate(visit.json)
        self.checked += 1


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, closed: an answer with a field that is not described is wrong as well."""
    closed = copy.deepcopy(schema)
    if "properties" in closed:
        closed["additionalProperties"] = False
    return closed
