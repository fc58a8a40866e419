"""The recorded executions by name, and what the tools say about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolResult
from dogubako.settings import Sources
from dogubako_sandbox.n8n.store import recordings


@dataclass(frozen=True, kw_only=True)
class Told:
    """What was answered, by the recording's name."""

    summaries: Mapping[str, ToolResult]
    diagnoses: Mapping[str, ToolResult]

    def summary(self, key: str) -> dict[str, Any]:
        return data_of(self.summaries[key])

    def diagnosis(self, key: str) -> dict[str, Any]:
        return data_of(self.diagnoses[key])


def sandbox(folder: Path, **environ: str) -> Toolbox:
    """A toolbox on a fresh sandbox, untouched by this machine's environment and files."""
    basics = {"DOGUBAKO_SANDBOX": "true", "DOGUBAKO_PACKS": "n8n", "DOGUBAKO_DATA_DIR": str(folder)}
    return build(Sources(environ={**basics, **environ}, env_file=None))


def execution_ids() -> dict[str, str]:
    """The sandbox numbers its recordings in order; the execution of a sub-workflow follows its caller's."""
    keys = [
        key if index == 0 else f"{key} child"
        for key, recording in ((one.key, one) for one in recordings())
        for index in range(len(recording.all_executions))
    ]
    return {key: str(number) for number, key in enumerate(keys, 1)}


async def ask_everything(folder: Path) -> Told:
    async with sandbox(folder).running() as box:
        ids = execution_ids()
        return Told(
            summaries={key: await box.call("get_execution", {"id": number}) for key, number in ids.items()},
            diagnoses={key: await box.call("diagnose_execution", {"id": number}) for key, number in ids.items()},
        )


def data_of(result: ToolResult) -> dict[str, Any]:
    """The data of an answer that has to be a success."""
    assert not result.is_error, result.content
    data: dict[str, Any] = result.value["data"]
    return data


def text_of(result: ToolResult) -> str:
    """The whole answer as an agent receives it."""
    assert not result.is_error, result.content
    return str(result.content[0]["text"])


async def node_data(box: Toolbox, key: str, name: str, **wishes: Any) -> dict[str, Any]:
    """What get_execution_by_node tells of a node of a recorded execution."""
    arguments = {"id": execution_ids()[key], "nodeName": name, **wishes}
    return data_of(await box.call("get_execution_by_node", arguments))
