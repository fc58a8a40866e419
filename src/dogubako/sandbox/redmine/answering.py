"""Answers as Redmine writes them: its JSON escapes what a web page could trip over, and most refusals are empty."""

import json
from typing import Any, Final

from starlette.responses import Response

from dogubako.sandbox.redmine.asking import Answer

_JSON: Final = "application/json; charset=utf-8"
_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_NO_PAGE: Final = "<!DOCTYPE html>\n<html>\n<head><title>Redmine 404 error</title></head>\n<body></body>\n</html>\n"
_REASONS: Final = {400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}


def written(answer: Any) -> Response:
    """The response to an endpoint's answer; a plain object is a 200."""
    if not isinstance(answer, Answer):
        return _json(200, answer)
    headers = dict(answer.headers)
    if answer.content is not None:
        return Response(answer.content, answer.status, headers)
    if answer.body is not None:
        response = _json(answer.status, answer.body)
        response.headers.update(headers)
        return response
    return empty(answer.status) if not headers else Response(status_code=answer.status, headers=headers)


def empty(status: int) -> Response:
    """No body; the type says JSON all the same, except where there is nothing by its nature."""
    if status == 204:
        return Response(status_code=204)
    headers = {"content-type": "application/json"}
    if status == 401:
        headers["www-authenticate"] = 'Basic realm="Redmine API"'
    return Response(status_code=status, headers=headers)


def refused(status: int, errors: list[str] | None) -> Response:
    return empty(status) if errors is None else _json(status, {"errors": errors})


def lost(status: int, accepts: str) -> Response:
    """What cannot be parsed or has no address: in JSON for those who ask for JSON, else a page for people."""
    if "application/json" in accepts:
        return broken(status)
    page = _NO_PAGE if status == 404 else ""
    return Response(page, status, {"content-type": "text/html; charset=utf-8"})


def broken(status: int) -> Response:
    """What the framework says when Redmine itself was never asked, or fell over."""
    return _json(status, {"status": status, "error": _REASONS[status]})


def _json(status: int, body: Any) -> Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return Response(text.encode("utf-8", "surrogatepass"), status, {"content-type": _JSON})
