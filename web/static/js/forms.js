// Forms and copy buttons: after an action the focus is on the message about it, and fields that ask for the reader's
// zone have it.
import { say } from "./words.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
for (const el of document.querySelectorAll("input[data-zone]")) if (!el.value) el.value = zone;

const message = document.querySelector(".flash, .problem");
if (message && !document.querySelector("[autofocus]")) {
  message.tabIndex = -1;
  message.focus({ preventScroll: message.classList.contains("flash") });
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (e) => {
  if (e.defaultPrevented) return;
  if (e.target.dataset.sent) { e.preventDefault(); return; }
  if (e.target.method !== "post") return;
  e.target.dataset.sent = "yes";
  setTimeout(() => delete e.target.dataset.sent, 5000);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Buttons that copy a value. Where the page came without TLS, browsers have no clipboard for it, and the old way is
// left.
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
