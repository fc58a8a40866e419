"""Do sixty tasks of a project manager on a real Redmine, and check every answer by SQL.

python scripts/redmine_tasks.py     writes scripts/redmine_tasks.json, which `make docs` puts into docs/redmine.md
"""

import asyncio
import json
import sqlite3
import sys
from base64 import b64decode
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolResult
from dogubako.contract.picture_size import picture_size
from dogubako.settings import Sources
from scripts.real_redmine import running_redmine
from scripts.redmine_install import SEED_JA
from scripts.redmine_task_list import TASKS, Task
from tests.packs.through import Through
from tests.real_tokenizers import claude_tokens

RECORD: Final = Path(__file__).with_suffix(".json")
ISSUES: Final = 331
IN_VERSION: Final = 66
_COPIED: Final = range(17, 57)


class CountingTransport(httpx2.AsyncHTTPTransport):
    """Counts requests, without those that only ask who we are."""

    requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += request.url.path != "/users/current.json"
        return await super().handle_async_request(request)


def enlarge(database: Path) -> None:
    """Copy issues until there are 331, 69 of them open in version 1.0."""
    with closing(sqlite3.connect(database, timeout=30)) as opened, opened:
        columns = [row[1] for row in opened.execute("PRAGMA table_info(issues)") if row[1] != "id"]
        copied = ", ".join(columns)
        while (count := opened.execute("SELECT COUNT(*) FROM issues").fetchone()[0]) < ISSUES:
            source = _COPIED[count % len(_COPIED)]
            made = opened.execute(
                f"INSERT INTO issues ({copied}) SELECT {copied} FROM issues WHERE id = {source}"
            ).lastrowid
            opened.execute(
                "UPDATE issues SET root_id = id, lft = 1, rgt = 2, subject = subject || ' (' || id || ')' WHERE id = ?",
                (made,),
            )
        copies = "SELECT id FROM issues WHERE id > 56 AND tracker_id < 4 AND status_id < 5 ORDER BY id LIMIT ?"
        opened.execute(f"UPDATE issues SET fixed_version_id = 1 WHERE id IN ({copies})", (IN_VERSION,))


async def done(box: Toolbox, wire: CountingTransport, database: Path, task: Task) -> dict[str, Any]:
    """Do one task: the calls, then the same by SQL."""
    answers: list[ET.Element] = []
    tokens, before = 0, wire.requests
    for call in task.calls:
        tool, arguments = call(answers) if callable(call) else call
        result = await box.call(tool, arguments)
        tokens += cost(result)
        if result.is_error:
            return {"task": task.words, "right": False, "why": str(result.content[0]["text"])}
        answers.append(ET.fromstring(_as_xml(str(result.content[0]["text"]))))
    told, wanted = normal(task.told(answers)), normal(asked(database, task.sql))
    row = {"task": task.words, "tools": _tools(task), "calls": len(task.calls), "requests": wire.requests - before}
    return {
        **row,
        "tokens": tokens,
        "right": told == wanted,
        **({} if told == wanted else {"why": f"{told} is not {wanted}"}),
    }


def _as_xml(answer: str) -> str:
    return answer if answer.startswith("<?xml") else f"<text>{answer.replace('&', '&amp;').replace('<', '&lt;')}</text>"


def _tools(task: Task) -> str:
    return next(call[0] for call in task.calls if not callable(call))


def cost(result: ToolResult) -> int:
    """Tokens of texts by Claude's tokenizer, and of pictures by their pixels."""
    tokens = 0
    for block in result.content:
        if block["type"] == "text":
            tokens += claude_tokens(str(block["text"]))
        elif (size := picture_size(b64decode(str(block["data"])))) is not None:
            tokens += size.tokens
    return tokens


def asked(database: Path, sql: str) -> Any:
    today = datetime.now(ZoneInfo("Asia/Tokyo")).date().isoformat()
    with closing(sqlite3.connect(database, timeout=30)) as opened:
        rows = opened.execute(sql, {"today": today} if ":today" in sql else {}).fetchall()
    if rows and len(rows[0]) == 2:
        return dict(rows)
    if len(rows) == 1:
        return rows[0][0] if len(rows[0]) == 1 else list(rows[0])
    return [row[0] for row in rows]


def normal(value: Any) -> Any:
    """Numbers as numbers, one row as its value, so that XML and SQL can be compared."""
    if isinstance(value, dict):
        return {str(key): normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return normal(value[0]) if len(value) == 1 else [normal(item) for item in value]
    try:
        return round(float(value), 2)
    except (TypeError, ValueError):
        return str(value).replace("\r\n", "\n")


async def all_of_them(url: str, key: str, database: Path) -> list[dict[str, Any]]:
    wire = CountingTransport()
    with TemporaryDirectory() as folder:
        environ = {"REDMINE_URL": url, "REDMINE_API_KEY": key, "DOGUBAKO_PACKS": "redmine", "DOGUBAKO_DATA_DIR": folder}
        box = build(Sources(environ=environ, env_file=None))
        box.packs["redmine"].sandbox = Through(settings={}, app=dict, wire=wire)
        async with box.running():
            return [await done(box, wire, database, task) for task in TASKS]


def main() -> int:
    with running_redmine(world=SEED_JA) as redmine:
        enlarge(redmine.instance.database)
        rows = asyncio.run(all_of_them(redmine.url, redmine.keys["sato.taro"], redmine.instance.database))
    for row in rows:
        print("ok   " if row["right"] else "WRONG", json.dumps(row, ensure_ascii=False))
    right = sum(row["right"] for row in rows)
    print(f"{right} of {len(rows)} right by SQL")
    if right == len(rows):
        RECORD.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
