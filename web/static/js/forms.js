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
  const button = e.submitter?.dataset.busy ? e.submitter : null;
  // Once the form is on its way: what a disabled button stands for isn't sent.
  if (button) setTimeout(() => busy(button));
  setTimeout(() => ready(e.target), button ? patience : 5000);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) ready(form);
});

// A button whose form takes long says so until the answer is there.
const patience = 35000; // milliseconds: a page answers within 30 seconds

function busy(button) {
  button.dataset.idle = button.textContent;
  button.textContent = button.dataset.busy;
  button.disabled = true;
}

function ready(form) {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("button[data-idle]")) {
    button.textContent = button.dataset.idle;
    button.disabled = false;
    delete button.dataset.idle;
  }
}

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
