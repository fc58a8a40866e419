"""The core pack: find tools, describe them, call them by name, and continue a long answer."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from dogubako.contract.call import Resume, Task
from dogubako.contract.context import FoundTool, FoundTools
from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.contract.output import Guidance, Json, Message, Text, example_call
from dogubako.contract.pack import ToolPack
from dogubako.contract.tool import BaseTool, PassedOn, PassingTool, ToolArgs


class ReadMoreArgs(ToolArgs):
    tool: str = Field(min_length=1, description="The tool whose answer was cut.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="The arguments of that call.")
    path: str = Field("", description="Which part was cut, as the answer named it; empty for the answer itself.")
    offset: int = Field(0, ge=0, description="How many items, fields or characters of it to leave out.")


class ReadMore(PassingTool[ReadMoreArgs]):
    """Show what an answer left out. An answer that was cut names the exact call."""

    name = "read_more"
    # Only answers of reading tools can be continued.
    effect = Effect.READ
    target = "tool"
    keywords = {
        "en": "show the rest; continue the answer; next part; the answer was cut off or truncated; "
        "go on reading; more of it; go on where you stopped",
        "ja": "続き 残り 途中で切れた もっと見る 次の部分 全部 省略 続けて 表示しきれない",
    }

    def passed_on(self, args: ReadMoreArgs) -> PassedOn:
        if args.tool == self.name:
            raise ValidationError.of("tool", "Invalid value for parameter tool: it must be the tool that was cut")
        return PassedOn(args.tool, args.arguments, Resume(path=args.path, offset=args.offset))


_LONGEST_LINE: Final = 160
_MOST_SHOWN_PARAMETERS: Final = 6


class SearchToolsArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=2_000, description="What you want to do, in words.")
    category: str | None = Field(None, description="Only tools of this category, for example 'redmine'.")
    limit: int = Field(8, ge=1, le=50, description="How many at most.")


class SearchTools(BaseTool[SearchToolsArgs]):
    """Find tools for a task. Most tools of this server are not listed: search, then use call_tool."""

    name = "search_tools"
    effect = Effect.READ
    open_world = False
    keywords = {
        "en": "what can you do; which tools are there; find a function for this; abilities and features",
        "ja": "何ができる 道具 使える ツール 機能 探す 一覧 できること 検索",
    }

    async def execute(self, args: SearchToolsArgs) -> Text:
        found = await self.context.tools.search(args.query, category=args.category)
        if found.is_doubtful:
            return Text(text=_nothing_fits(found, self.context.tools.count()), count=0)
        shown = found.tools[: args.limit]
        lines = [*(_line(one) for one in shown), "", _how_to_go_on(shown, len(found.tools)), *_not_indexed(found)]
        return Text(text="\n".join(lines), count=len(shown))


class DescribeToolArgs(ToolArgs):
    name: str = Field(min_length=1, description="Name of the tool, as search_tools shows it.")


class DescribeTool(BaseTool[DescribeToolArgs]):
    """Show a tool's arguments and what it does, before call_tool."""

    name = "describe_tool"
    effect = Effect.READ
    open_world = False
    keywords = {
        "en": "how do I use a tool; what arguments does it take; inputs and parameters of a tool; help for a function",
        "ja": "使い方 引数 説明 ツール ヘルプ パラメータ 入力 必要な項目",
    }

    async def execute(self, args: DescribeToolArgs) -> Json:
        metadata = self.context.tools.describe(args.name)
        shown = {
            "name": metadata.name,
            "description": metadata.description,
            "annotations": metadata.annotations,
            "inputSchema": dict(metadata.input_schema),
        }
        example = metadata.examples[0].parameters if metadata.examples else {}
        call = example_call("call_tool", name=metadata.name, arguments=dict(example))
        return Json(
            data=shown,
            message=Message(en="Tool described", ja="ツールの説明"),
            guidance=Guidance(message="Call it like this.", example=call),
        )


class CallToolArgs(ToolArgs):
    name: str = Field(min_length=1, description="Name of the tool, as search_tools shows it.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Its arguments.")


class CallTool(PassingTool[CallToolArgs]):
    """Call any tool by name. A wrong argument is answered with the tool's schema."""

    name = "call_tool"
    keywords = {
        "en": "run a tool by its name; use a tool that is not listed; invoke a function",
        "ja": "ツール 実行 使う 名前で 呼ぶ 呼び出す 呼び出し",
    }

    def passed_on(self, args: CallToolArgs) -> PassedOn:
        if args.name == self.name:
            raise ValidationError.of("name", "Invalid value for parameter name: it must be another tool")
        return PassedOn(args.name, args.arguments)


class StartTask(PassingTool[CallToolArgs]):
    """Call a tool that takes long. It answers at once with the id of a task; task_result has the answer later."""

    name = "start_task"
    keywords = {
        "en": "run in the background; start a long job; do not wait for it; asynchronous call",
        "ja": "バックグラウンド 時間がかかる 非同期 待たずに 実行 開始 長い処理",
    }

    def passed_on(self, args: CallToolArgs) -> PassedOn:
        if args.name == self.name:
            raise ValidationError.of("name", "Invalid value for parameter name: it must be another tool")
        return PassedOn(args.name, args.arguments, as_task=True)


class TaskArgs(ToolArgs):
    id: str = Field(min_length=1, max_length=200, description="The task's id, as start_task answered it.")


class TaskStatus(BaseTool[TaskArgs]):
    """Show how far a task is: working, input_required, completed, failed or cancelled."""

    name = "task_status"
    effect = Effect.READ
    open_world = False
    keywords = {
        "en": "is the job done; progress of a background task; still running",
        "ja": "タスク 状態 進捗 終わった 実行中 どこまで",
    }

    async def execute(self, args: TaskArgs) -> Json:
        return _shown(await self.context.tools.tasks.get(args.id))


class TaskResultArgs(TaskArgs):
    wait: int = Field(20, ge=0, le=25, description="Seconds to wait at most, if it has not ended.")


class TaskResult(BaseTool[TaskResultArgs]):
    """Show what a task answered, as soon as it has ended. If it waits for the user, the user is asked first."""

    name = "task_result"
    effect = Effect.READ
    open_world = False
    talks = True
    keywords = {
        "en": "result of a background job; answer of a task; what came out",
        "ja": "タスク 結果 バックグラウンド 処理結果 答え",
    }

    async def execute(self, args: TaskResultArgs) -> Any:
        tasks = self.context.tools.tasks
        task = await tasks.wait(args.id, args.wait)
        if task.requests:
            await tasks.answer(task, await self.context.request(**task.requests))
            task = await tasks.wait(args.id, args.wait)
        if task.error is not None:
            raise task.error
        return _shown(task) if task.result is None else task.result


class CancelTask(BaseTool[TaskArgs]):
    """Cancel a task. One that has ended stays as it is."""

    name = "cancel_task"
    # Whoever may start a task may stop it: nothing else is changed.
    effect = Effect.READ
    open_world = False
    keywords = {
        "en": "stop a background job; abort a task",
        "ja": "タスク 中止 キャンセル 止める",
    }

    async def execute(self, args: TaskArgs) -> Json:
        await self.context.tools.tasks.cancel(args.id)
        return _shown(await self.context.tools.tasks.get(args.id))


def _shown(task: Task) -> Json:
    done = {} if task.progress is None else dict(zip(("done", "total"), task.progress, strict=True))
    guidance = None
    if not task.ended or task.result is not None:
        words = "The answer." if task.ended else "Not yet: ask again in a while."
        guidance = Guidance(message=words, example=example_call("task_result", id=task.id))
    return Json(
        data={**task.fields(), "tool": task.tool, **({"progress": done} if done else {})},
        message=Message(en=f"Task: {task.status}", ja=f"タスク: {task.status}"),
        guidance=guidance,
    )


def _nothing_fits(found: FoundTools, total: int) -> str:
    """The first line is the answer; what comes nearest is named as no more than that."""
    if not found.tools:
        return "\n".join(
            [f"Nothing here does that: none of {total} tools fits. Try other words.", *_not_indexed(found)]
        )
    nearest = [
        "Nothing here does that, as far as these words tell.",
        "Nearest, but probably not meant:",
        *(_line(one) for one in found.tools),
        "",
        "If you meant something else, say it in other words.",
    ]
    return "\n".join([*nearest, *_not_indexed(found)])


def _not_indexed(found: FoundTools) -> list[str]:
    """A server with very many tools answers before all of them are indexed."""
    return [f"{found.not_indexed} tools are still being indexed; ask again in a moment."] if found.not_indexed else []


def _line(match: FoundTool) -> str:
    """`create_issue(project_id, subject, …): Create an issue (0.83)`"""
    summary = match.metadata.description.split("\n", 1)[0]
    sentence = summary.split(". ", 1)[0].rstrip(".")
    short = sentence if len(sentence) <= _LONGEST_LINE else f"{sentence[:_LONGEST_LINE]}…"
    return f"{_signature(match.metadata)}: {short} ({match.score:.2f})"


def _signature(metadata: ToolMetadata) -> str:
    """Required arguments by name; optional ones as `…`."""
    required = [one.name for one in metadata.parameters if one.required]
    shown = required[:_MOST_SHOWN_PARAMETERS]
    more = ["…"] if len(metadata.parameters) > len(shown) else []
    return f"{metadata.name}({', '.join([*shown, *more])})"


def _how_to_go_on(shown: Sequence[FoundTool], total: int) -> str:
    best = shown[0].metadata.name
    left = f"{total - len(shown)} more fit less well. " if total > len(shown) else ""
    return f"{left}{example_call('describe_tool', name=best)} shows its arguments; call_tool(name, arguments) calls it."


# They need a server that runs tasks.
TASK_TOOLS: Final = (StartTask, TaskStatus, TaskResult, CancelTask)
TOOLS = (
    ReadMore,
    SearchTools,
    DescribeTool,
    CallTool,
    *TASK_TOOLS,
)
CORE = ToolPack("core", TOOLS)
