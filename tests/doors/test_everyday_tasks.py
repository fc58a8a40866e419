"""An agent that sees only the finders does everyday tasks. It does not know the right tool: it takes the first one.

It knows what the task says (a number, a word to look for) and gives a tool what that tool asks for. Whether the task is
done is told by the answer alone. If it is not, the agent may search once more, in other words.
"""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED
from dogubako.settings import Sources
from dogubako.transports.mcp import lists

FINDERS: Final = {"search_tools", "describe_tool", "call_tool", "read_more"}


class Task(NamedTuple):
    """What somebody wants, the same in other words, what the task tells, and what the answer shows when it is done."""

    wish: str
    again: str
    done: str
    facts: Mapping[str, Any] = MappingProxyType({})


RUN: Final = {"id": "23"}
TICKET: Final = {"id": 1, "issue_id": 1}

TASKS: Final = (
    Task("what went wrong overnight", "list the runs that failed", '"status":"error"', {"status": "error"}),
    Task("give me the short version of run 23", "summary of execution 23", '"id":"23"', RUN),
    Task("why did run 23 blow up", "find the cause of a failed execution", '"failure":', RUN),
    Task("what automations do we have", "list the workflows", '"workflows":'),
    Task("which labels exist for the flows", "list tags of workflows", '"tags":'),
    Task("which logins are stored in n8n", "list credentials", '"credentials":'),
    Task("what's still on my plate", "list open tickets", "<issues "),
    Task("tell me all about ticket 1", "show an issue", "<journals|<description>", TICKET),
    Task(
        "tell them on ticket 1 that I looked at it",
        "comment on an issue",
        "Issue 1 was changed",
        {**TICKET, "notes": "Looked at it."},
    ),
    Task("what projects are there in the company", "list projects", "<projects "),
    Task("how many hours did we put in", "list logged time", "<time_entries "),
    Task("who am I logged in as", "show the current user", "<login>"),
    Task("what kinds of tickets can I file", "list trackers", "<trackers"),
    Task("what states can a ticket be in", "list issue statuses", "<issue_statuses"),
    Task("what may a reporter do", "list roles", "<roles"),
    Task("anything new announced lately", "list news", "<news "),
    Task(
        "did anybody ever write about the checkout", "search the tracker for a word", "(?i)checkout", {"q": "checkout"}
    ),
    Task("google something for me", "search the web", "https?://", {"query": "dogubako"}),
    Task("why doesn't web search give me anything", "state of the search engines", "search engines answer"),
    Task("what releases are planned for the shop", "list versions of a project", "<versions ", {"project_id": 1}),
    Task("夜中に何かエラー出た？", "失敗した実行の一覧", '"status":"error"', {"status": "error"}),
    Task("実行23はなんで止まったの", "失敗した実行の原因を調べて", '"failure":', RUN),
    Task("どんなボットが動いてる？", "ワークフローの一覧", '"workflows":'),
    Task("自分の残り仕事は何", "チケットの一覧", "<issues "),
    Task("1番のことを全部教えて", "チケットを読む", "<journals|<description>", TICKET),
    Task(
        "1番にひとこと書き込んで",
        "チケットにコメントする",
        "Issue 1 was changed",
        {**TICKET, "notes": "確認しました。"},
    ),
    Task("うちの会社にはどんなプロジェクトがある", "プロジェクトの一覧", "<projects "),
    Task("先週何時間働いた？", "作業時間の一覧", "<time_entries "),
    Task("最近のお知らせはある？", "ニュースの一覧", "<news "),
    Task("ネットで評判を調べて", "ウェブ検索", "https?://", {"query": "道具箱"}),
)


def text_of(result: Any) -> str:
    return "\n".join(str(one.get("text", "")) for one in result.content)


async def tried(box: Toolbox, words: str, task: Task) -> tuple[str, bool]:
    """Search, take the first tool, give it what it asks for; the tool, and whether the task is done."""
    found = text_of(await box.call("search_tools", {"query": words}))
    names = re.findall(r"^(\w+)\(", found, re.MULTILINE)
    if found.startswith("Nothing here") or not names:
        return "nothing", False
    described = json.loads(text_of(await box.call("describe_tool", {"name": names[0]})))["data"]
    asked_for = described["inputSchema"].get("properties", {})
    arguments = {name: value for name, value in task.facts.items() if name in asked_for}
    answer = await box.call("call_tool", {"name": names[0], "arguments": arguments})
    return names[0], not answer.is_error and re.search(task.done, text_of(answer)) is not None


async def test_everyday_tasks_take_at_most_one_search_more_than_necessary() -> None:
    sources = Sources(overrides={"sandbox": True, "discovery": "search"}, environ={}, env_file=None)
    failed, again = [], []
    async with build(sources).running() as box:
        assert {one["name"] for one in lists.tools(box, TRUSTED)["tools"]} == FINDERS
        for task in TASKS:
            first, done = await tried(box, task.wish, task)
            if done:
                continue
            again.append(f"{task.wish}: {first}")
            second, done = await tried(box, task.again, task)
            if not done:
                failed.append(f"{task.wish}: {first}, then {second}")

    assert len(TASKS) == 30
    assert not failed, "\n".join(failed)
    # Most need no second search.
    assert len(again) <= 5, "\n".join(again)
