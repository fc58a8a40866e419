"""Lines of an audit log, as the commands that read it would find them."""

from dogubako.gate.audit import AuditLine


def audit_line(tool: str, *, time: str = "2026-11-16T09:00:00.000Z", caller: str = "ann") -> bytes:
    return AuditLine(
        time=time, caller=caller, door="rest", tool=tool, arguments=[], hash="0", code="OK", ms=1.0, call_id="1"
    ).encoded()
