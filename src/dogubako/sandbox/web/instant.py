"""Instant answers: a few subjects, and the placeholder for all others."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

_EMPTY: Final[Mapping[str, Any]] = {
    "Abstract": "",
    "AbstractSource": "",
    "AbstractText": "",
    "AbstractURL": "",
    "Answer": "",
    "AnswerType": "",
    "Definition": "",
    "DefinitionSource": "",
    "DefinitionURL": "",
    "Entity": "",
    "Heading": "",
    "Image": "",
    "ImageHeight": 0,
    "ImageIsLogo": 0,
    "ImageWidth": 0,
    "Infobox": "",
    "Redirect": "",
    "RelatedTopics": [],
    "Results": [],
    "Type": "",
    "meta": {"id": "just_another_test", "name": "Just Another Test", "status": None},
}


def _topic(text: str, path: str) -> dict[str, Any]:
    return {
        "FirstURL": f"https://encyclopedia.sandbox.invalid/{path}",
        "Icon": {"Height": "", "URL": "", "Width": ""},
        "Result": "",
        "Text": text,
    }


_TOOLBOX: Final = {
    "Heading": "Toolbox",
    "AbstractText": "A toolbox is a box with a handle in which tools are kept, carried and found again.",
    "AbstractSource": "Encyclopedia of the Sandbox",
    "AbstractURL": "https://encyclopedia.sandbox.invalid/toolbox",
    "Entity": "thing",
    "Type": "A",
    "Infobox": {
        "content": [
            {"data_type": "string", "label": "Japanese", "value": "道具箱", "wiki_order": 0},
            {"data_type": "number", "label": "Handles", "value": 1, "wiki_order": 1},
            {"data_type": "time", "label": "First described", "value": {"text": "in the year 12"}, "wiki_order": 2},
        ],
        "meta": [],
    },
    "RelatedTopics": [
        _topic("Workbench - A strong table for work by hand.", "workbench"),
        {"Name": "Tools", "Topics": [_topic("Plane - It makes wood smooth.", "plane")]},
        {"Name": "Empty group", "Topics": []},
    ],
}

_SUBJECTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "toolbox": _TOOLBOX,
    "2 + 2": {"Answer": {"from": "calculator", "result": "4"}, "AnswerType": "calc", "Type": "E"},
    "define plane": {
        "Heading": "Plane",
        "Definition": "plane: a tool with a blade that takes thin shavings off wood.",
        "DefinitionSource": "Dictionary of the Sandbox",
        "DefinitionURL": "https://encyclopedia.sandbox.invalid/plane",
        "Type": "D",
    },
}


async def instant_answer(request: Request) -> Response:
    """JSON under a content type that does not say so, as the real one."""
    query = " ".join(request.query_params.get("q", "").lower().split())
    if query == "broken page":
        return Response("<html>not JSON</html>", media_type="application/x-javascript")
    return Response(json.dumps({**_EMPTY, **_SUBJECTS.get(query, {})}), media_type="application/x-javascript")
