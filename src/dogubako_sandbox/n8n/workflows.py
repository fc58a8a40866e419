"""The workflows of the sandbox's n8n, working and broken ones."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from dogubako_sandbox.n8n.workflow_parts import (
    JsonObject,
    Wire,
    Workflow,
    body,
    chain,
    code,
    condition,
    get_closed_port,
    make_items,
    node,
    on_webhook,
    pass_on,
    set_fields,
    stable_id,
)


def _lower_case_email(key: str, name: str, expression: str) -> Workflow:
    """The look-up finds no address for the second order; a node three steps later needs it."""
    read = """\
return [
  { json: { order: 1, customerId: 'c1', paid: true } },
  { json: { order: 2, customerId: 'c2', paid: true } },
  { json: { order: 3, customerId: 'c3', paid: true } },
];"""
    look_up = """\
const emails = { c1: 'Aiko@Example.com', c3: 'Chen@Example.com' };
return { json: { ...$json, email: emails[$json.customerId] ?? null } };"""
    normalise = f"const email = {expression};\nreturn {{ json: {{ ...$json, email }} }};"
    nodes = [
        code("Read orders", read),
        code("Look up customer", look_up, mode="runOnceForEachItem"),
        set_fields("Add greeting", greeting="=Hello {{ $json.customerId }}"),
        node("Keep paid", "filter", 2.2, condition("={{ $json.paid }}", "true")),
        code("Normalise email", normalise, mode="runOnceForEachItem"),
        pass_on("Send mail"),
    ]
    names = ("Read orders", "Look up customer", "Add greeting", "Keep paid", "Normalise email", "Send mail")
    return on_webhook(key, name, nodes, chain("Webhook", *names), ids_like="null-upstream")


def _renamed_field() -> Workflow:
    read = "return [{ json: { order: 7, buyer: { name: 'Aiko Sato', city: 'Kobe' } } }];"
    write = "const greeting = 'Dear ' + $json.customer.name;\nreturn { json: { ...$json, greeting } };"
    nodes = [
        code("Read order", read),
        set_fields("Map fields", "object", custmer="={{ $json.buyer }}"),
        set_fields("Add subject", subject="=Order {{ $json.order }}"),
        code("Write letter", write, mode="runOnceForEachItem"),
        pass_on("Send letter"),
    ]
    names = ("Read order", "Map fields", "Add subject", "Write letter", "Send letter")
    return on_webhook("renamed-field", "Letters to customers", nodes, chain("Webhook", *names))


def _empty_branch() -> Workflow:
    """The orders say `Paid`, the filter wants `paid`: no receipt is sent, and the execution is a success."""
    read = """\
return [1, 2, 3].map((order) => ({ json: { order, status: 'Paid', total: order * 100 } }));"""
    nodes = [
        code("Read orders", read),
        set_fields("Add currency", currency="JPY"),
        node("Only paid", "filter", 2.2, condition("={{ $json.status }}", "equals", kind="string", right="paid")),
        set_fields("Write receipt", receipt="=Receipt {{ $json.order }}"),
        pass_on("Send receipt"),
    ]
    names = ("Read orders", "Add currency", "Only paid", "Write receipt", "Send receipt")
    return on_webhook("empty-branch", "Receipts for paid orders", nodes, chain("Webhook", *names))


def _swallowed() -> Workflow:
    """A price that cannot be parsed becomes an item with only an error, and is passed on like a price."""
    read = """\
return [['pen', '120'], ['ink', 'n/a'], ['pad', '340']].map(([article, price]) => ({ json: { article, price } }));"""
    parse = """\
const amount = Number($json.price);
if (Number.isNaN(amount)) throw new Error('Not a price: ' + $json.price);
return { json: { article: $json.article, amount } };"""
    label = "const label = $json.amount.toFixed(2) + ' JPY';\nreturn { json: { ...$json, label } };"
    nodes = [
        code("Read prices", read),
        code("Parse price", parse, mode="runOnceForEachItem", onError="continueRegularOutput"),
        set_fields("Add shop", shop="Kobe"),
        code("Print label", label, mode="runOnceForEachItem"),
    ]
    return on_webhook(
        "swallowed", "Price labels", nodes, chain("Webhook", "Read prices", "Parse price", "Add shop", "Print label")
    )


def _bad_iteration() -> Workflow:
    """Ten orders in batches of two; the sixth, in the third batch, has no lines."""
    read = """\
return Array.from({ length: 10 }, (_, i) => ({
  json: { order: i + 1, lines: i === 5 ? null : [{ article: 'pen', amount: i + 1 }] },
}));"""
    count = """\
const amount = $json.lines.reduce((sum, line) => sum + line.amount, 0);
return { json: { ...$json, amount } };"""
    nodes: list[JsonObject] = [
        code("Read orders", read),
        node("Loop Over Items", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
        set_fields("Mark batch", batch="={{ $runIndex }}"),
        code("Count articles", count, mode="runOnceForEachItem"),
        pass_on("Report"),
    ]
    wires = [
        *chain("Webhook", "Read orders", "Loop Over Items", "Report"),
        Wire("Loop Over Items", "Mark batch", output=1),
        *chain("Mark batch", "Count articles", "Loop Over Items"),
    ]
    return on_webhook("bad-iteration", "Articles per order", nodes, wires)


BROKEN = (
    _lower_case_email("null-upstream", "Mail to paying customers", "$json.email.toLowerCase()"),
    _lower_case_email("null-upstream-fixed", "Mail to paying customers (fixed)", "($json.email ?? '').toLowerCase()"),
    _renamed_field(),
    _empty_branch(),
    _swallowed(),
    _bad_iteration(),
)


MANUAL_TRIGGER = "When clicking"

_TEN_THOUSAND = """\
const note = 'x'.repeat(220);
return Array.from({ length: 10000 }, (_, i) => ({
  json: { id: i + 1, name: 'customer ' + (i + 1), email: 'c' + (i + 1) + '@example.com', note },
}));"""
_A_FILE = """\
const data = Buffer.from('hello,world\\n1,2\\n').toString('base64');
return [{ json: { a: 1 }, binary: { data: { data, mimeType: 'text/csv', fileName: 't.csv' } } }];"""
_SLEEP = "await new Promise((resolve) => setTimeout(resolve, 45000));\nreturn $input.all();"

# Names that are hard to quote in a path, a string or a tag.
_QUOTED, _SLASHED, _DOTTED = '顧客データ 取得 "本番"', "It's a \\ node / é – №1", "emoji 🚀 [x].y"

_KINDS = (
    on_webhook(
        "a-success-100",
        "A success chain 100",
        [make_items("Make 100", 100), set_fields("Edit Fields", label="=#{{ $json.id }}"), pass_on("Done")],
        chain("Webhook", "Make 100", "Edit Fields", "Done"),
    ),
    on_webhook(
        "b1-http-econnrefused",
        "B1 http refused",
        [get_closed_port("Call closed port"), pass_on("Never")],
        chain("Webhook", "Call closed port", "Never"),
    ),
    on_webhook(
        "b2-code-throws",
        "B2 code throws",
        [make_items("Make 3", 3), code("Boom", "const x = undefined;\nreturn x.foo.bar;")],
        chain("Webhook", "Make 3", "Boom"),
    ),
    on_webhook(
        "c-if-branch",
        "C if branch",
        [
            make_items("Make 10", 10),
            node("IF even", "if", 2.2, condition("={{ $json.even }}", "true")),
            set_fields("Yes", branch="yes"),
            set_fields("No", branch="no"),
        ],
        [*chain("Webhook", "Make 10", "IF even", "Yes"), Wire("IF even", "No", output=1)],
    ),
    on_webhook(
        "d-loop",
        "D loop",
        [
            make_items("Make 25", 25),
            node("Loop Over Items", "splitInBatches", 3, {"batchSize": 5, "options": {}}),
            set_fields("Body", run="={{ $runIndex }}"),
            pass_on("After Loop"),
        ],
        [
            *chain("Webhook", "Make 25", "Loop Over Items", "After Loop"),
            Wire("Loop Over Items", "Body", output=1),
            Wire("Body", "Loop Over Items"),
        ],
    ),
    on_webhook(
        "e-merge",
        "E merge",
        [
            make_items("Left", 3, ", side: 'L'"),
            make_items("Right", 4, ", side: 'R'"),
            node("Merge", "merge", 3),
            pass_on("End"),
        ],
        [*chain("Webhook", "Left", "Merge", "End"), Wire("Webhook", "Right"), Wire("Right", "Merge", input=1)],
    ),
    on_webhook(
        "f-onerror",
        "F onError outputs",
        [
            make_items("Make 2", 2),
            get_closed_port("Err out", onError="continueErrorOutput"),
            pass_on("OK path"),
            pass_on("Error path"),
            code("Continue regular", "throw new Error('soft failure')", onError="continueRegularOutput"),
            pass_on("After regular"),
        ],
        [
            *chain("Webhook", "Make 2", "Err out", "OK path"),
            Wire("Err out", "Error path", output=1),
            *chain("Make 2", "Continue regular", "After regular"),
        ],
    ),
    on_webhook(
        "g-10000",
        "G ten thousand",
        [code("Make 10000", _TEN_THOUSAND), pass_on("Pass")],
        chain("Webhook", "Make 10000", "Pass"),
        mode="onReceived",
    ),
    on_webhook(
        "h-wait",
        "H wait",
        [
            make_items("Make 2", 2),
            node(
                "Wait", "wait", 1.1, {"resume": "webhook", "options": {}}, webhookId=stable_id("h-wait", "wait webhook")
            ),
            pass_on("After"),
        ],
        chain("Webhook", "Make 2", "Wait", "After"),
        mode="onReceived",
    ),
    on_webhook(
        "i-unicode",
        "I ユニコード 'quotes' \"x\"",
        [
            make_items(_QUOTED, 3, ", 都市: '東京'"),
            set_fields(_SLASHED, 値="=山田 {{ $json.id }}"),
            pass_on(_DOTTED),
        ],
        chain("Webhook", _QUOTED, _SLASHED, _DOTTED),
    ),
    on_webhook(
        "j-binary",
        "J binary",
        [code("Make bin", _A_FILE), pass_on("Pass")],
        chain("Webhook", "Make bin", "Pass"),
        mode="onReceived",
    ),
    on_webhook(
        "k-retry",
        "K retryOnFail",
        [get_closed_port("Flaky", retryOnFail=True, maxTries=2, waitBetweenTries=100)],
        chain("Webhook", "Flaky"),
    ),
    on_webhook(
        "l-slow",
        "L slow",
        [code("Sleep", _SLEEP), pass_on("After")],
        chain("Webhook", "Sleep", "After"),
        mode="onReceived",
    ),
    on_webhook(
        "m-empty",
        "M empty result",
        [code("None", "return [];"), pass_on("Not reached")],
        chain("Webhook", "None", "Not reached"),
    ),
    on_webhook(
        "n-stop-error",
        "N stop and error",
        [node("Stop", "stopAndError", 1, {"errorMessage": "custom stop 停止"})],
        chain("Webhook", "Stop"),
    ),
    Workflow(
        key="o-no-trigger",
        body=body("o-no-trigger", "O no trigger", [pass_on("Only set")], []),
        webhook_path=None,
        published=False,
        response_mode=None,
    ),
    on_webhook(
        "p-disabled",
        "P disabled node",
        [make_items("Make 2", 2), pass_on("Off", disabled=True), pass_on("End")],
        chain("Webhook", "Make 2", "Off", "End"),
    ),
)

_CHILD = Workflow(
    key="q-sub",
    body=body(
        "q-sub",
        "Q-sub child",
        [
            node("When called", "executeWorkflowTrigger", 1.1, {"inputSource": "passthrough"}),
            set_fields("In child", child="yes"),
        ],
        chain("When called", "In child"),
    ),
    webhook_path=None,
    published=True,
    response_mode=None,
)
_CALL_CHILD = {
    "workflowId": {"__rl": True, "mode": "id", "value": _CHILD.key},
    "workflowInputs": {"mappingMode": "defineBelow", "value": {}},
    "options": {},
}
_PARENT = replace(
    on_webhook(
        "q-parent",
        "Q parent",
        [make_items("Make 2", 2), node("Call child", "executeWorkflow", 1.2, _CALL_CHILD), pass_on("End")],
        chain("Webhook", "Make 2", "Call child", "End"),
    ),
    calls=_CHILD.key,
)
_MANUAL = Workflow(
    key="r-manual",
    body=body(
        "r-manual",
        "R manual",
        [node(MANUAL_TRIGGER, "manualTrigger", 1), code("C", "return [{ json: { a: 1 } }];")],
        chain(MANUAL_TRIGGER, "C"),
    ),
    webhook_path=None,
    published=False,
    response_mode=None,
)

# In order of creation: a sub-workflow comes before its caller.
WORKFLOWS: Mapping[str, Workflow] = MappingProxyType(
    {workflow.key: workflow for workflow in (*_KINDS, _CHILD, _PARENT, _MANUAL, *BROKEN)}
)
