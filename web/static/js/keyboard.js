// Keys: "/" searches, "f" filters a page that can be filtered, "l" loves the track of a page, "g" and a letter goes to
// a page, "?" lists them. Not while somebody types.
import { at, say } from "./words.js";

// Letters and where they lead. A page that this installation or person has not got is left out.
const places = { s: "/", l: "/listening", p: "/playlists", d: "/deliveries", w: "/digest", h: "/health",
  n: "/notifications", e: "/settings" };
const always = ["/health"];
const within = 1500; // milliseconds between "g" and the letter
let leading = 0;

const typing = (el) => el.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

// linkTo prefers the navigation: the name of Reprise leads to Status too, and says nothing of it.
function linkTo(path) {
  const link = `a[href="${at(path)}"]`;
  return document.querySelector(`header nav ${link}`) ?? document.querySelector(`header ${link}`);
}

function nameOf(path) {
  const a = linkTo(path);
  if (!a) return say(`key_${path.slice(1)}`);
  return path === "/notifications" ? say("key_notifications") : a.firstChild.textContent.trim();
}

const known = () => Object.entries(places).filter(([, path]) => linkTo(path) || always.includes(path));

// filter returns the first control of what filters this page; null for none.
const filter = () => document.querySelector("main form[method=get]:not(#search) :is(input:not([type=hidden]), select)");

// love returns the button that loves the track of this page, or takes that back; null for none.
const love = () => document.querySelector("main button#love");

function list() {
  const open = document.getElementById("keys");
  if (open) { open.close(); return; }
  const dialog = document.createElement("dialog");
  dialog.id = "keys";
  dialog.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = say("keys");
  const table = document.createElement("dl");
  const rows = [...known().map(([key, path]) => [`g ${key}`, nameOf(path)]), ["?", say("keys")]];
  if (love()) rows.unshift(["l", say("key_love")]);
  if (filter()) rows.unshift(["f", say("key_filter")]);
  rows.unshift(["/", say("key_search")]);
  for (const [keys, does] of rows) {
    const what = document.createElement("dt");
    for (const key of keys.split(" ")) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      what.append(cap, " ");
    }
    const where = document.createElement("dd");
    where.textContent = does;
    table.append(what, where);
  }
  const close = document.createElement("button");
  close.className = "second";
  close.textContent = say("close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, table, close);
  const before = document.activeElement;
  dialog.addEventListener("close", () => { dialog.remove(); before?.focus?.({ preventScroll: true }); });
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.repeat || typing(e.target)) return;
  if (document.querySelector("dialog[open]") && e.key !== "?") return;
  if (!document.querySelector("header nav")) return; // nobody is signed in
  const led = e.timeStamp - leading < within && leading > 0;
  leading = 0;
  if (led && Object.hasOwn(places, e.key)) {
    const path = places[e.key];
    if (known().some(([, to]) => to === path)) { e.preventDefault(); location.assign(at(path)); }
  } else if (e.key === "g") {
    leading = e.timeStamp;
  } else if (e.key === "/") {
    e.preventDefault();
    const field = document.querySelector("#search input");
    if (field) field.select();
    else location.assign(at("/search"));
  } else if (e.key === "f" && filter()) {
    e.preventDefault();
    const field = filter(), fold = field.closest("details");
    if (fold) fold.open = true;
    field.focus();
  } else if (e.key === "l" && love()) {
    e.preventDefault();
    love().click();
  } else if (e.key === "?") {
    e.preventDefault();
    list();
  }
});
