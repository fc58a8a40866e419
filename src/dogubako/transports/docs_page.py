"""`/docs`: the REST API on one page. It reads `/openapi.json` and needs nothing from elsewhere."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Dogubako REST API</title>
<style>
  :root { color-scheme: light dark; --line: #8884; --soft: #8882; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .5rem 1rem; }
  summary { cursor: pointer; }
  code, pre, textarea { font: 14px/1.45 ui-monospace, monospace; }
  pre, textarea { background: var(--soft); border: 0; border-radius: .4rem; padding: .75rem; overflow: auto; }
  textarea { width: 100%; min-height: 8rem; box-sizing: border-box; color: inherit; }
  .method { display: inline-block; min-width: 4rem; font-weight: 700; }
</style>
<h1>道具箱 Dogubako</h1>
<p id="about">Loading…</p>
<main></main>
<section id="try">
  <h2>Try a call</h2>
  <textarea aria-label="Request body" spellcheck="false">{"name": "echo", "parameters": {"text": "hello"}}</textarea>
  <p><button type="button">POST /v1/tools/call</button></p>
  <pre id="answer" aria-live="polite"></pre>
</section>
<script>
  const make = (tag, text, parent) => {
    const node = document.createElement(tag);
    node.textContent = text;
    parent.append(node);
    return node;
  };
  const resolve = (api, schema) =>
    schema.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;
  const show = (api, path, method, operation) => {
    const box = make("details", "", document.querySelector("main"));
    const head = make("summary", "", box);
    make("span", method.toUpperCase(), head).className = "method";
    make("code", path, head);
    make("span", " " + operation.summary, head);
    const body = operation.requestBody?.content["application/json"].schema;
    if (body) { make("h4", "Body", box); make("pre", JSON.stringify(resolve(api, body), null, 2), box); }
    for (const [status, answer] of Object.entries(operation.responses)) {
      const schema = resolve(api, answer.content["application/json"].schema);
      make("p", `${status} ${answer.description} ${Object.keys(schema.properties).join(", ")}`, box);
    }
  };
  fetch("openapi.json").then((answer) => answer.json()).then((api) => {
    document.querySelector("#about").textContent = `${api.info.description} Version ${api.info.version}.`;
    for (const [path, methods] of Object.entries(api.paths))
      for (const [method, operation] of Object.entries(methods)) show(api, path, method, operation);
  });
  document.querySelector("button").onclick = async () => {
    const answer = await fetch("v1/tools/call", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: document.querySelector("textarea").value,
    });
    document.querySelector("#answer").textContent = JSON.stringify(await answer.json(), null, 2);
  };
</script>
</html>
"""
