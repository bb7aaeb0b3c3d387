// Search: what was found is replaced while somebody types, and the arrow keys move through it. The address follows, so
// that the way back leads to the same results.
import { change } from "./update.js";

const form = document.getElementById("search");
const field = form?.elements.q;
const path = form && new URL(form.action).pathname;
const wait = 120; // milliseconds after the last key
// shown is the text whose results are on the page, which is not what was typed before this script ran.
let timer = 0, asking = null, shown = (new URLSearchParams(location.search).get("q") ?? "").trim();

const links = () => [...document.querySelectorAll("#found .what strong a")];

async function ask() {
  const text = field.value.trim();
  if (text === shown) return;
  asking?.abort();
  const mine = asking = new AbortController();
  const at = text ? `${path}?${new URLSearchParams({ q: text })}` : path;
  try {
    const answer = await fetch(at, { headers: { "X-Reprise-Refresh": path }, signal: mine.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("found");
    if (!answer.ok || !found) { location.assign(at); return; } // such as the sign-in page
    change(found);
    shown = text;
    history.replaceState(history.state, "", at);
  } catch {
    // Another letter was typed, or the server cannot be reached: the next one asks again.
  }
}

function typed() {
  clearTimeout(timer);
  timer = setTimeout(ask, wait);
}
field?.addEventListener("input", typed);
if (field) typed(); // if somebody typed before this script ran

document.addEventListener("keydown", (e) => {
  if (!form || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
  const all = links(), at = all.indexOf(document.activeElement);
  const inside = document.activeElement === field;
  if (!inside && at < 0) return;
  if (e.key === "ArrowDown" && at + 1 < all.length) all[at + 1].focus();
  else if (e.key === "ArrowUp" && at > 0) all[at - 1].focus();
  else if (e.key === "ArrowUp" && at === 0 || e.key === "Escape" && at >= 0) field.focus();
  else return;
  e.preventDefault();
});
