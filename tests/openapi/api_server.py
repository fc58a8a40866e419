"""A small HTTP API with a description of its own, for tests: pets, with paging, errors, pictures and a token."""

import base64
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class PetApi:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.bodies: list[bytes] = []
        self.tokens = 0
        # The forms and Authorization headers of token requests, the status of the next ones, and how long tokens count.
        self.forms: list[dict[str, Any]] = []
        self.token_status = 200
        self.lifetime: int | None = 3600
        self.wants_basic = False
        # What the issuer says of itself (OpenID Connect Discovery).
        self.issuer: Any = {}
        self.document = _document()
        # What the name server answers, in turns; the last answer stays.
        self.addresses: dict[str, list[str]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        answers = self.addresses.get(host, ["127.0.0.1"])
        return [answers.pop(0) if len(answers) > 1 else answers[0]]

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/openapi.json", self._describe),
                Route("/.well-known/openid-configuration", self._discover),
                Route("/token", self._token, methods=["POST"]),
                Route("/v1/{rest:path}", self._answer, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
            ]
        )

    async def _describe(self, request: Request) -> Response:
        return JSONResponse(self.document)

    async def _discover(self, request: Request) -> Response:
        return JSONResponse(self.issuer)

    async def _token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.forms.append({**form, "authorization": request.headers.get("authorization", "")})
        if self.wants_basic and "authorization" not in request.headers:
            return JSONResponse({"error": "invalid_client"}, status_code=401)
        if self.token_status != 200:
            return JSONResponse({"error": "invalid_grant"}, status_code=self.token_status)
        self.tokens += 1
        refresh = {} if form["grant_type"] == "client_credentials" else {"refresh_token": f"refresh-{self.tokens}"}
        ends = {} if self.lifetime is None else {"expires_in": self.lifetime}
        return JSONResponse({"access_token": f"token-{self.tokens}", **refresh, **ends})

    async def _answer(self, request: Request) -> Response:
        self.requests.append(request)
        self.bodies.append(await request.body())
        answers: dict[str, Any] = {
            "picture": lambda: Response(PIXEL, media_type="image/png"),
            "text": lambda: PlainTextResponse(
                "日本語のテキスト".encode("shift_jis"), media_type="text/plain; charset=shift_jis"
            ),
            "nothing": lambda: Response(status_code=204),
            "refuse": lambda: JSONResponse({"error": {"message": "age must be positive"}}, status_code=422),
            "secret": lambda: JSONResponse({"seen": request.headers.get("authorization")}),
            "busy": lambda: JSONResponse({}, status_code=429, headers={"Retry-After": "7"}),
            "broken": lambda: Response(b"{", media_type="application/json"),
            "moved": lambda: Response(status_code=302, headers={"Location": "http://127.0.0.1:1/"}),
        }
        last = request.path_params["rest"].rpartition("/")[2]
        if last in answers:
            made: Response = answers[last]()
            return made
        if last == "gone":
            return JSONResponse({"detail": "no such pet"}, status_code=404)
        if last == "mine" and request.headers.get("authorization") != f"Bearer token-{self.tokens}":
            return JSONResponse({}, status_code=401)
        if last == "mine":
            return JSONResponse({"you": "佐藤", "seen": request.headers["authorization"]})
        if last == "expired" and request.headers.get("authorization") == "Bearer token-1":
            return JSONResponse({}, status_code=401)
        return self._pets(request)

    def _pets(self, request: Request) -> Response:
        page = int(request.query_params.get("page", "1"))
        pets = [{"id": number, "name": f"Pet {number}", "owner": {"name": "佐藤"}} for number in range(page, page + 2)]
        links = {"Link": f'<https://pets.example.com/v1/pets?page={page + 1}>; rel="next"'} if page < 3 else {}
        return JSONResponse({"items": pets, "total": 6}, headers=links)


def _document() -> dict[str, Any]:
    def get(name: str, **others: Any) -> dict[str, Any]:
        return {"get": {"operationId": name, "summary": f"Get {name}", **others}}

    pet = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    }
    page = {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}
    pet_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1", "description": "Pets of a small town."},
        "servers": [{"url": "/v1"}],
        "security": [{"key": []}],
        "paths": {
            "/pets": {
                "get": {"operationId": "list_pets", "summary": "List all pets", "parameters": [page]},
                "post": {
                    "operationId": "add_pet",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": pet}}},
                },
            },
            "/pets/{id}": {
                "get": {"operationId": "get_pet", "parameters": [pet_id]},
                "delete": {"operationId": "delete_pet", "parameters": [pet_id]},
            },
            **{f"/{name}": get(name) for name in ("picture", "text", "nothing", "refuse", "busy", "broken", "moved")},
            "/secret": get("secret", security=[{"bearer": []}]),
            "/expired": get("expired", security=[{"oauth": []}]),
            "/mine": get("mine", security=[{"person": []}]),
        },
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Pets-Key"},
                "bearer": {"type": "http", "scheme": "bearer"},
                "person": {
                    "type": "oauth2",
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": "http://pets.test/authorize?kind=pets",
                            "tokenUrl": "/token",
                            "scopes": {"pets:read": "Read", "pets:write": "Write"},
                        }
                    },
                },
                "oauth": {
                    "type": "oauth2",
                    "flows": {"clientCredentials": {"tokenUrl": "http://pets.test/token", "scopes": {"read": "Read"}}},
                },
            }
        },
    }
