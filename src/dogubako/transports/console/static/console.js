// Everything works without this script. It adds live updates, copying, and keyboard shortcuts.
(() => {
  "use strict";

  const region = () => document.querySelector("[data-live]");

  // Live: the server says that there are new calls, and the page fetches itself again.
  const live = document.querySelector("[data-events]");
  if (live && window.EventSource) {
    const state = live.querySelector("[data-state]");
    const button = live.querySelector("[data-pause]");
    let paused = false;
    let busy = false;

    const refresh = async () => {
      const old = region();
      // Nobody loses the focus or the text that is being selected.
      if (paused || busy || document.hidden || !old || old.contains(document.activeElement)) return;
      if (!window.getSelection().isCollapsed) return;
      busy = true;
      try {
        const answer = await fetch(location.href, { headers: { accept: "text/html" } });
        if (answer.ok) {
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          const fresh = page.querySelector("[data-live]");
          if (fresh) old.replaceWith(document.adoptNode(fresh));
        }
      } finally {
        busy = false;
      }
    };

    live.hidden = false;
    const events = new EventSource(live.dataset.events);
    events.addEventListener("calls", refresh);
    button.addEventListener("click", () => {
      paused = !paused;
      live.classList.toggle("paused", paused);
      state.textContent = paused ? state.dataset.off : state.dataset.on;
      button.textContent = paused ? button.dataset.off : button.dataset.on;
      if (!paused) {
        button.blur();
        refresh();
      }
    });
    addEventListener("pagehide", () => events.close());
  }

  // Copy buttons exist only where copying works.
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      const label = button.textContent;
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }

  // "/" goes to the first field of the filters.
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    const field = document.querySelector(".filters input");
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });

  // A filter that is a list applies itself.
  for (const select of document.querySelectorAll(".filters select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
})();
