"""Parsing without worker processes, for tests that are about the content of pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from dogubako.packs.web.pack import WebPack
from dogubako.packs.web.parsing.messages import Reply, Request
from dogubako.packs.web.parsing.parser import Parser
from dogubako.packs.web.parsing.worker import perform


class InProcess:
    """Performs each request at once, in the process of the test."""

    async def run(self, request: Request, body: bytes | bytearray, seconds: float) -> Reply:
        return perform(request, bytes(body))


@asynccontextmanager
async def in_process() -> AsyncIterator[InProcess]:
    yield InProcess()


PARSER: Final = Parser(InProcess())
WEB_IN_PROCESS: Final = WebPack(in_process)
