// Toasts: what is new, said once, in a strip of its own below the page. What still needs somebody is in the banner
// afterwards, and not before: no sentence is on the screen twice.
import { timed } from "./times.js";
import { at, say } from "./words.js";

const shownFor = 10000; // milliseconds
const strip = document.getElementById("toasts");
const shown = new Map(); // notification id -> its toast
const dismissed = new Set(); // ids; the banner's line of one is about to become small, and is not shown meanwhile

// Characters that turn the direction of the text around them are not shown; a name in a sentence may hold some.
const overrides = /[\u202a-\u202e\u2066-\u2069]/g;

function element(tag, text, className) {
  const el = document.createElement(tag);
  if (text) {
    const sentence = document.createElement("bdi");
    sentence.dir = "ltr";
    sentence.textContent = timed(text).replace(overrides, "");
    el.append(sentence);
  }
  if (className) el.className = className;
  return el;
}

// arrange hides the lines of the banner that a toast says, and keeps the height of the strip free below the page.
export function arrange() {
  const banners = document.getElementById("banners");
  for (const line of banners?.querySelectorAll("[data-notification]") ?? []) {
    const id = line.dataset.notification;
    line.classList.toggle("said", shown.has(id) || dismissed.has(id));
  }
  const height = strip.childElementCount ? strip.getBoundingClientRect().height : 0;
  document.documentElement.style.setProperty("--toasts", `${Math.ceil(height)}px`);
}

function build(n, ...controls) {
  const box = element("div", "", `toast toast-${n.severity}`);
  box.tabIndex = -1;
  if (n.id) box.dataset.toast = n.id;
  const text = element("div", "", "toast-text");
  const title = element("strong", /[.!?…]$/.test(n.title) ? n.title : `${n.title}.`);
  text.append(title);
  if (n.message) text.append(" ", element("span", n.message));
  box.append(text);
  if (controls.length) {
    const row = element("div", "", "actions");
    row.append(...controls);
    box.append(row);
  }
  strip.append(box);
  arrange();
  return box;
}

// leaveLater takes a toast away after its time, which does not pass while somebody reads or uses it.
function leaveLater(box, leave) {
  let left = shownFor, since = Date.now(), timer = setTimeout(leave, left);
  const hold = () => { clearTimeout(timer); left -= Date.now() - since; };
  const go = () => { since = Date.now(); clearTimeout(timer); timer = setTimeout(leave, Math.max(left, 1000)); };
  box.addEventListener("pointerenter", hold);
  box.addEventListener("pointerleave", go);
  box.addEventListener("focusin", hold);
  box.addEventListener("focusout", go);
}

export function hide(id) {
  const box = shown.get(id);
  if (!box) return;
  const focused = box.contains(document.activeElement);
  box.remove();
  shown.delete(id);
  arrange();
  if (!focused) return;
  const next = strip.querySelector(".toast:last-child") ?? document.getElementById("main");
  next.focus({ preventScroll: true });
}

// hideOthers hides the toasts of notifications that are not among the open ones.
export function hideOthers(open) {
  for (const id of [...shown.keys()]) if (!open.has(id)) hide(id);
}

// announce shows a notification. tell tells the server what the person has done with it: "seen", or "ack".
export function announce(n, tell) {
  if (shown.has(n.id)) return;
  dismissed.delete(n.id);
  const controls = [];
  if (n.action) {
    const link = element("a", n.action.label, "button");
    link.href = at(n.action.url);
    controls.push(link);
  }
  const close = element("button", say("dismiss"), "second");
  close.type = "button";
  close.addEventListener("click", () => { tell("ack", n.id); dismissed.add(n.id); hide(n.id); });
  controls.push(close);
  const box = build(n, ...controls);
  shown.set(n.id, box);
  arrange();
  leaveLater(box, () => hide(n.id));
  tell("seen", n.id);
}

if (strip && "ResizeObserver" in window) new ResizeObserver(arrange).observe(strip);
