"""The audit log with filters, and its export as CSV and JSON."""

import csv
import io

import msgspec
from starlette.responses import Response

from dogubako.contract.offload import offload
from dogubako.gate.audit import AuditLine
from dogubako.gate.audit_query import AuditFilter, AuditPage, last_lines
from dogubako.transports.console.page import Visit, page, secured
from dogubako.transports.console.views import Views

_SHOWN = 200
_EXPORTED = 100_000
_COLUMNS = ("time", "caller", "door", "tool", "arguments", "hash", "code", "ms", "callId", "via", "pack")
# Spreadsheets take a cell that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


async def index(views: Views, visit: Visit) -> Response:
    """The last lines that fit."""
    wanted = _wanted(visit)
    found = await _lines(views, wanted, _SHOWN)
    audit = views.inside.audit
    return await page(
        visit,
        "audit.html",
        active="audit",
        wanted=wanted,
        found=found,
        path=audit.path if audit is not None else None,
        most=_SHOWN,
        auth=views.inside.settings.auth,
    )


async def as_csv(views: Views, visit: Visit) -> Response:
    found = await _lines(views, _wanted(visit), _EXPORTED)
    return _file(await offload(_csv, found.lines), "text/csv; charset=utf-8", "audit.csv")


async def as_json(views: Views, visit: Visit) -> Response:
    found = await _lines(views, _wanted(visit), _EXPORTED)
    return _file(await offload(msgspec.json.encode, found.lines), "application/json", "audit.json")


async def _lines(views: Views, wanted: AuditFilter, most: int) -> AuditPage:
    if views.inside.audit is None:
        return AuditPage(lines=[], damaged=0, complete=True)
    views.inside.audit.flush()
    return await offload(last_lines, views.inside.audit.path, wanted, most)


def _wanted(visit: Visit) -> AuditFilter:
    query = visit.query
    return AuditFilter(
        since=query.get("since", "")[:30],
        caller=query.get("caller") or None,
        tool=query.get("tool") or None,
        code=query.get("code") or None,
    )


def _csv(lines: list[AuditLine]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for line in lines:
        cells = (line.time, line.caller, line.door, line.tool, " ".join(line.arguments), line.hash, line.code, line.ms,
                 line.call_id, line.via or "", line.pack or "")  # fmt: skip
        writer.writerow([f"'{one}" if isinstance(one, str) and one.startswith(_FORMULA) else one for one in cells])
    return file.getvalue().encode()


def _file(content: bytes, kind: str, name: str) -> Response:
    return secured(
        Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
    )
