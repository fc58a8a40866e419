// The page at /docs: it shows openapi.json, and calls a tool that exists. The key stays in this page.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, parent) => {
    const node = document.createElement(tag);
    node.textContent = text;
    parent.append(node);
    return node;
  };
  let key = "";
  const ask = (path, options = {}) =>
    fetch(path, { ...options, headers: { ...(options.headers || {}), ...(key ? { authorization: `Bearer ${key}` } : {}) } });

  const resolve = (api, schema) => (schema.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema);

  const show = (api, path, method, operation) => {
    const box = make("details", "", $("routes"));
    const head = make("summary", "", box);
    make("span", method.toUpperCase(), head).className = "method";
    make("code", path, head);
    make("span", operation.summary, head);
    const body = operation.requestBody?.content["application/json"].schema;
    if (body) {
      make("p", "Body", box);
      make("pre", JSON.stringify(resolve(api, body), null, 2), box);
    }
    for (const [status, answer] of Object.entries(operation.responses)) {
      const schema = answer.content?.["application/json"] && resolve(api, answer.content["application/json"].schema);
      make("p", `${status} ${answer.description} ${Object.keys(schema?.properties || {}).join(", ")}`, box);
    }
  };

  // An example of the tool itself; else its required arguments with a value of their type.
  const example = (tool) => {
    if (tool.examples.length) return tool.examples[0].parameters;
    const empty = { string: "text", integer: 1, number: 1, boolean: true, array: [], object: {} };
    const needed = tool.parameters.filter((one) => one.required);
    return Object.fromEntries(needed.map((one) => [one.name, one.examples?.[0] ?? one.enum?.[0] ?? empty[one.type] ?? null]));
  };

  let tools = [];
  const fill = () => {
    const tool = tools.find((one) => one.name === $("tool").value);
    if (tool) $("body").value = JSON.stringify({ name: tool.name, parameters: example(tool) }, null, 2);
  };

  const load = async () => {
    const answer = await ask("openapi.json");
    const api = await answer.json();
    $("routes").replaceChildren();
    if (!answer.ok) {
      $("about").textContent = `${api.error} ${api.hint || ""}`;
      return;
    }
    $("about").textContent = `${api.info.description} Version ${api.info.version}.`;
    for (const [path, methods] of Object.entries(api.paths))
      for (const [method, operation] of Object.entries(methods)) show(api, path, method, operation);
    const listed = await (await ask("v1/tools?enabled=true&limit=500")).json();
    tools = (listed.tools || []).filter((one) => one.effect === "read").concat((listed.tools || []).filter((one) => one.effect !== "read"));
    $("tool").replaceChildren(...tools.map((one) => new Option(`${one.name} (${one.category})`, one.name)));
    const plain = tools.find((one) => one.effect === "read" && one.parameters.length && one.category !== "core");
    if (plain) $("tool").value = plain.name;
    fill();
  };

  $("tool").addEventListener("change", fill);
  $("credentials").addEventListener("submit", (event) => {
    event.preventDefault();
    key = $("key").value.trim();
    load();
  });
  $("send").addEventListener("click", async () => {
    const started = performance.now();
    const answer = await ask("v1/tools/call", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: $("body").value,
    });
    $("status").textContent = `${answer.status}, ${Math.round(performance.now() - started)} ms`;
    $("answer").textContent = JSON.stringify(await answer.json(), null, 2);
  });
  load();
})();
