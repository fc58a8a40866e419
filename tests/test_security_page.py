"""The numbers in docs/security.md are those of the code."""

from pathlib import Path

import pytest

from dogubako.contract import byte_budget
from dogubako.contract.pack import Pack
from dogubako.contract.storage import MOST_USED, MOST_USED_PER_OWNER
from dogubako.engine import answer_memory
from dogubako.gate import api_keys, audit, files, jwk, jwks
from dogubako.outbound import redis_cache
from dogubako.outbound.bounds import JSON_ANSWER, MEGABYTE
from dogubako.outbound.http import LONGEST_URL
from dogubako.outbound.parsing import protocol as parsing
from dogubako.packs.n8n.api import executions, workflows
from dogubako.packs.redmine import api as redmine
from dogubako.packs.web import search_http
from dogubako.packs.web.pages import fetch
from dogubako.packs.web.parsing import parser
from dogubako.transports.http import lingering_protocol, open_files, request, uvicorn_protocol
from dogubako.transports.mcp import protocol, question_state, sdk_internals, server
from dogubako.transports.mcp.protocol import DIGITS_PER_VALUE

PAGE = " ".join((Path(__file__).parent.parent / "docs" / "security.md").read_text(encoding="utf-8").split())
KB = 1024

SENTENCES = [
    f"stops working within {'a second' if api_keys._LOOK_AGAIN_SECONDS == 1 else '?'}",
    f"for {'a day' if jwks._BELIEVED_SECONDS == 86_400 else '?'} at most",
    f"every {'ten minutes' if jwks._KEPT_SECONDS == 600 else '?'}",
    f"{jwks._MOST_AT_ONCE:g} fetches at once and then one in {jwks._ONE_MORE_SECONDS:g} s",
    f"{jwks._MOST_PER_KEY} in {jwks._REMEMBERED_SECONDS:g} s for one key id",
    f"At most {jwk._MOST_KEYS:,} keys are read",
    f"expires after {'ten minutes' if question_state.STATE_SECONDS == 600 else '?'}",
    f"at most {MOST_USED_PER_OWNER:,} of one caller and {MOST_USED:,} in all",
    f"for {redis_cache.FIRST_PAUSE_SECONDS:g} to {redis_cache.LONGEST_PAUSE_SECONDS:g} s",
    f"at most {protocol.MAX_BODY_BYTES // MEGABYTE} MB and {protocol.MAX_BODY_VALUES:,} values",
    f"{DIGITS_PER_VALUE} digits are counted as one value",
    f"at most {protocol.MAX_PROTOCOL_VALUES:,} values beside the arguments",
    f"at most {LONGEST_URL // KB} KB together",
    f"at most {uvicorn_protocol.MOST_HEAD_BYTES // KB} KB and {uvicorn_protocol.MOST_HEADERS} headers",
    f"its URL {uvicorn_protocol.MOST_URL_BYTES // KB} KB",
    f"at most {'two' if parsing.MAX_WORKERS == 2 else '?'} worker processes",
    f"each with {parser.PAGE_SECONDS:g} s, {parsing.MAX_ADDRESS_SPACE // MEGABYTE // KB} GB",
    f"(at most {open_files._HIGHEST_SOFT_LIMIT:,}) and takes at most {open_files.MOST_CONNECTIONS:,}",
    f"below {open_files.MOST_CONNECTIONS + open_files._RESERVED:,}: {open_files._RESERVED} descriptors",
    f"at most once {'a minute' if uvicorn_protocol._TELL_AGAIN_SECONDS == 60 else '?'}",
    f"has {'five seconds' if lingering_protocol.HALF_CLOSED_SECONDS == 5 else '?'} to get its answer",
    f"have not read take at most {uvicorn_protocol.MOST_UNREAD_BYTES // MEGABYTE} MB in all",
    f"Bodies that arrive in pieces take at most {request.MOST_BODY_BYTES // MEGABYTE} MB in all",
    f"a body above {request._SMALL_BODY_BYTES // KB} KB take at most another {request.MOST_BODY_BYTES // MEGABYTE} MB",
    f"its places ({Pack.max_running} by default)",
    f"take at most {answer_memory.MOST_ANSWER_BYTES // MEGABYTE} MB while they are built",
    f"within {byte_budget.MAX_WAIT_SECONDS:g} s or is answered with",
    f"At most {JSON_ANSWER.most_bytes // MEGABYTE} MB, {JSON_ANSWER.most_values:,} values, "
    f"{JSON_ANSWER.most_containers:,} objects and lists and {JSON_ANSWER.most_fields:,} fields",
    f"at most {workflows.LARGEST_WORKFLOW.most_containers:,} objects and lists",
    f"may have {executions._LARGEST.most_bytes // MEGABYTE} MB and {executions._LARGEST.most_values:,} values",
    f"at most {search_http.MAX_PAGE_BYTES // MEGABYTE} MB, web pages {fetch.MAX_PAGE_BYTES // MEGABYTE} MB",
    f"files of Redmine {redmine.SHOWN_FILE.most_bytes // MEGABYTE} MB when shown and "
    f"{redmine.SAVED_FILE.most_bytes // MEGABYTE} MB when saved",
    f"At most {sdk_internals.MOST_SESSIONS:,} per process and {sdk_internals.MOST_SESSIONS_EACH} per caller",
    f"at most {sdk_internals.LONGEST_INITIALIZE // KB} KB and {sdk_internals.MOST_INITIALIZE_VALUES:,} values",
    f"at most {server._MOST_SUBSCRIPTIONS:,} subscriptions of {server._MOST_URI_CHARACTERS:,} characters",
    f"less than {files._ENOUGH_ROOM // 1_000_000} MB free",
    f"written within {audit._WAIT_SECONDS * 1000:g} ms",
    f"above {redis_cache.MOST_BYTES // MEGABYTE} MB is a miss",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_bound_of_the_page_is_that_of_the_code(sentence: str) -> None:
    assert sentence in PAGE
