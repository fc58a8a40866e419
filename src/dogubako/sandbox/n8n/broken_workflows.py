"""Workflows whose trouble starts well before the node where it shows. None needs the network."""

from dogubako.sandbox.n8n.workflow_parts import (
    Json,
    Wire,
    Workflow,
    chain,
    code,
    condition,
    node,
    on_webhook,
    pass_on,
    set_fields,
)


def _lower_case_email(key: str, name: str, expression: str) -> Workflow:
    """The look-up finds no address for the second order; three nodes later somebody wants to use it."""
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
    """The orders say `Paid`, the filter wants `paid`: nobody gets a receipt, and the execution is a success."""
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
    """A price that cannot be parsed becomes an item that holds only an error, and goes on as if it were a price."""
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
    nodes: list[Json] = [
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
