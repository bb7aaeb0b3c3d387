// Buttons that copy a value. Where the page came without TLS, browsers have no clipboard for it, and the old way is
// left.
import { say } from "./words.js";

for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;

document.addEventListener("click", async (e) => {
  const button = e.target.closest("button[data-copy]");
  if (!button) return;
  const el = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(el.value ?? el.textContent);
  } catch {
    if (el.select) el.select(); else getSelection().selectAllChildren(el);
    if (!document.execCommand("copy")) return;
  }
  button.textContent = say("copied");
});
