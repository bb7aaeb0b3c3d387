// This script checks settings while somebody types them, and shows what is wrong beside the field. The server checks
// them: the same call that would change them, without changing anything.
import { at } from "./words.js";

(() => {
  const wait = 400; // ms after the last key

  function say(field, problem) {
    const id = `${field.id}-problem`;
    let line = document.getElementById(id);
    if (problem && !line) {
      line = document.createElement("p");
      line.className = "problem";
      line.id = id;
      field.after(line);
    }
    if (line && line.textContent !== problem) line.textContent = problem;
    if (line && !problem) line.remove();
    const others = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((one) => one && one !== id);
    field.setAttribute("aria-describedby", (problem ? [id, ...others] : others).join(" "));
    field.toggleAttribute("aria-invalid", Boolean(problem));
    if (problem) field.setAttribute("aria-invalid", "true");
  }

  // The call names settings as files do; the page calls them by their labels.
  const called = (problem) => problem.replace(/[a-z0-9_]+(\.[a-z0-9_]+)+/g, (path) => (
    document.querySelector(`label[for="${path.replaceAll(".", "-")}"]`)?.textContent.trim() ?? path));

  // Browsers open the folds around what the address names; older ones leave that to a script.
  function reveal() {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!named) return;
    let fold = named.closest("details");
    if (!fold || fold.open) return;
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    named.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  for (const form of document.querySelectorAll("form[data-settings]")) {
    const fields = [...form.elements].filter((field) => field.name && !field.disabled);
    const shown = new Map(fields.map((field) => [field, field.value]));
    let timer = 0;
    let latest = 0;

    async function check() {
      const changes = {};
      for (const field of fields) if (field.value !== shown.get(field)) changes[field.name] = field.value;
      const mine = ++latest;
      let problems = {};
      if (Object.keys(changes).length > 0) {
        const answer = await fetch(at("/api/v1/admin/settings?dry_run=true"), {
          method: "PATCH",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(changes),
        });
        if (answer.status === 422 || answer.status === 409) problems = (await answer.json()).fields ?? {};
        else if (!answer.ok) return; // what is saved is checked anyway
      }
      if (mine !== latest) return; // something was typed since
      for (const field of fields) say(field, called(problems[field.name] ?? ""));
    }

    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => check().catch(() => {}), wait);
    });
  }
})();
