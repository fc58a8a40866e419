"""A section of docs/n8n.md: mistakes of a beginner, and what `validate_workflow` says before anything is saved."""

import asyncio
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Final

from dogubako.app import build
from dogubako.settings import Sources

JsonObject = dict[str, Any]

_SECTION: Final = """## Know the nodes

n8n saves almost everything: a wrong type or version is refused when a workflow is published, a parameter that a node
does not know is dropped without a word, a wrong name in an expression fails at run time. Three tools know better:
`search_nodes` finds node types by everyday words, `describe_node` lists the parameters of one resource and operation
in at most 1,500 tokens, and `validate_workflow` finds mistakes before anything is saved. The answer names its source,
the best there is:

1. **The instance itself** (`N8N_MCP_TOKEN`): n8n's own MCP server, with community nodes. An administrator switches it
   on under Settings → Instance-level MCP.
2. **Node types of the same version**: those of your own installation (`N8N_NODE_TYPES=/usr/lib/node_modules/n8n`), or
   those that `dogubako n8n-nodes download` gets from npm (14 MB, once for each version). They are under n8n's
   Sustainable Use License, so Dogubako neither ships them nor downloads them unasked; it keeps an index of its own in
   the data folder. Where they are, they answer and check workflows, because they tell more than the instance's own
   search and check; the instance adds its community nodes.
3. **What the instance shows**: nodes of its workflows and executions. The parameters that n8n dropped are named
   afterwards, as `n8nIgnored` in `run_workflow`, `get_execution` and `diagnose_execution`: this needs nothing but the
   API key.

Certain problems are errors, doubts are warnings. Every write is checked in the same way: an error that the change makes
refuses it (`allowInvalid: true` saves it all the same), a warning is in the answer. What a beginner does wrong, and
what is said before it is saved:

{table}

## Run them as they are

`run_workflow` finds the trigger: it calls the published webhook with the method, `:parameters`, query and headers that
it needs (data of a GET goes into the query), fills in a form by the labels of its fields, or sends `chatInput` to a
public chat. An answer of 4xx still finds its execution. Of several webhooks, forms and chats one has to be named; a
single one runs although there are triggers that nobody can call, and the answer has these as `otherTriggers`. Of
several methods one has to be named, unless there are data and one of them has a body. With `N8N_MCP_TOKEN` it also
starts manual and schedule triggers, and drafts that are not published; `pinData` tests a draft with items of your own
in place of the outside world. n8n wants the workflow's setting `availableInMCP` for this. A draft begins with the item
that a call of the published workflow would give; what it cannot be given is refused.

The execution in the answer is the one of this call, also if others call the workflow at the same time: it is known by
a header of our own, `X-Dogubako-Call`, which n8n shows in the webhook's item. Forms are told apart by their fields;
where that is not enough, the answer has `candidates` and no execution. `wait: false` returns as soon as the execution
is known, and `waitSeconds` bounds the waiting, also for a webhook that answers at its end: then `response` is null, and
it runs on.

A webhook that asks for a login takes the one that has the name of the node's credential in `dogubako.toml`:

```toml
[n8n.webhook_logins."Orders login"]
user = "orders"
password = "..."           # or header and value, or token
```

A form is sent as its page sends it: fields that nobody names have their default or hidden value, choices have to be
options, and the text for a file field arrives as a file. The `Content-Type` that a caller gives decides how the body is
written. Headers of the connection (`Host`, `Content-Length`) and values that HTTP cannot carry are refused.

Secrets of the settings, and credentials that a caller gives, never appear in logs, errors or answers. Headers that a
caller gives never appear in logs. Those whose names say that they hold a secret (`Authorization`, `Cookie`,
`X-API-Key`, `…-Token`) are masked in every answer, also later, when their execution is looked at, whoever sent them. In
the answer to the call itself, so are values that look like keys, and all headers for a webhook that asks for a login,
but for those such as `Accept` that never hold one. An everyday word is masked in its header and nowhere else.
`read_data_table`, `write_data_table`, `delete_data_table_rows`, `create_credential`, `test_credential`, `rename_tag`,
`delete_tag` and `get_instance_report` reach what else the public API has without a licence.
"""


def _node(kind: str, version: float, **parameters: Any) -> JsonObject:
    return {"name": "Step", "type": kind, "typeVersion": version, "position": [220, 0], "parameters": parameters}


_SET, _HTTP, _IF = (f"n8n-nodes-base.{name}" for name in ("set", "httpRequest", "if"))
_START: Final = _node("n8n-nodes-base.webhook", 2, path="start", httpMethod="POST") | {"name": "Webhook"}


def _fields(value: str) -> JsonObject:
    return {"assignments": {"assignments": [{"name": "total", "value": value, "type": "string"}]}}


_MISTAKES: Final[Mapping[str, JsonObject]] = {
    "A type that does not exist": _node("n8n-nodes-base.htttpRequest", 4.2, url="https://example.com"),
    "A version that does not exist": _node(_SET, 9),
    "A misspelt parameter": _node(_HTTP, 4.2, url="https://example.com", methd="POST"),
    "A value that is no option": _node(_HTTP, 4.2, url="https://example.com", method="SEND"),
    "A required parameter left out": _node(_HTTP, 4.2, method="GET"),
    "A body without `sendBody`": _node(_HTTP, 4.2, url="https://example.com", method="POST", jsonBody="{}"),
    "Conditions in the form of version 1": _node(_IF, 2.2, conditions=[{"value1": "a", "value2": "b"}]),
    "A comparison that n8n does not have": _node(
        _IF,
        2.2,
        conditions={
            "conditions": [{"leftValue": "a", "rightValue": "b", "operator": {"type": "string", "operation": "equal"}}],
            "combinator": "and",
        },
    ),
    "A node that is not there": _node(_SET, 3.4, **_fields("={{ $('Webhok').item.json.total }}")),
    "Braces that are not closed": _node(_SET, 3.4, **_fields("={{ $json.total")),
    "Two values side by side": _node(_SET, 3.4, **_fields("={{ $json.first $json.last }}")),
    "A statement in an expression": _node(_SET, 3.4, **_fields("={{ return $json.total }}")),
    "An object in braces": _node(_SET, 3.4, **_fields("={{ {a: {b: 1}} }}")),
    "No `=` before an expression": _node(_SET, 3.4, **_fields("{{ $json.total }}")),
    "An output that the node does not have": _node(_SET, 3.4, **_fields("3")),
}
# The connections where these are the mistake: from the third output of the Set node back to itself.
_WIRES: Final = {
    "An output that the node does not have": {
        "Step": {"main": [[], [], [{"node": "Step", "type": "main", "index": 0}]]}
    }
}


def mistakes_section() -> str:
    """Ask the sandbox about every mistake."""
    answers = asyncio.run(_answers())
    rows = [f"| {name} | {_said(answers[name])} |" for name in _MISTAKES]
    return _SECTION.format(table="\n".join(["| mistake | answer |", "| --- | --- |", *rows]))


async def _answers() -> dict[str, Sequence[JsonObject]]:
    with TemporaryDirectory(prefix="dogubako-docs-") as folder:
        environ = {"DOGUBAKO_SANDBOX": "true", "DOGUBAKO_DATA_DIR": folder, "LOG_DIR": folder}
        box = build(Sources(environ=environ, env_file=None))
        links = {"Webhook": {"main": [[{"node": "Step", "type": "main", "index": 0}]]}}
        answers: dict[str, Sequence[JsonObject]] = {}
        async with box.running():
            for name, node in _MISTAKES.items():
                result = await box.call(
                    "validate_workflow", {"nodes": [_START, node], "connections": links | _WIRES.get(name, {})}
                )
                data = result.value["data"]
                answers[name] = [*data["errors"], *data["warnings"]]
                assert answers[name], f"{name} is not found"
        return answers


def _said(problems: Sequence[JsonObject]) -> str:
    first = problems[0]
    near = f" Did you mean `{first['didYouMean'][0]}`?" if first.get("didYouMean") else ""
    return (str(first["message"]) + near).replace("|", "\\|").replace("{{", "`{{`").replace("}}", "`}}`")
