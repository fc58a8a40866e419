"""Stands for n8n in a process of its own, and has one large execution. Arguments: port, and `gzip` or `identity`."""

import gzip
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.large_execution import large_execution

# An execution that there is none of.
MISSING = "0"


def main(port: int, encoding: str) -> None:
    body = large_execution()
    packed = gzip.compress(body, compresslevel=6) if encoding == "gzip" else body
    headers = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": encoding}

    async def execution(request: Request) -> Response:
        if request.path_params["id"] == MISSING:
            return Response(b'{"message":"Not Found"}', 404, media_type="application/json")
        return Response(packed, headers=headers)

    app = Starlette(routes=[Route("/api/v1/executions/{id}", execution)])
    uvicorn.run(app, port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
