// Keeps the page up to date: it asks for the page again when something has happened, and changes what differs.
import { Idiomorph } from "./idiomorph.js";
import { showRuns } from "./progress.js";
import { showTimes, tellZone } from "./times.js";
import { arrange } from "./toast.js";

// How soon after what has happened, since more may follow at once, and how often, in milliseconds.
const soon = 100, seldom = 1000;
let due = false, asking = false, timer = 0, last = -seldom;
let tag = ""; // of the page as it came last

const parts = (page) => page.querySelectorAll("[data-part][id]");
// served are the parts as the server sent them last, by id. This script runs before others change the page.
const served = new Map([...parts(document)].map((el) => [el.id, el.cloneNode(true)]));

// update asks for the page soon; if nobody looks at it, once somebody does.
export function update() {
  due = true;
  plan();
}

function plan() {
  if (due && !asking && !timer && !document.hidden) {
    timer = setTimeout(ask, Math.max(soon, last + seldom - performance.now()));
  }
}
document.addEventListener("visibilitychange", plan);

// left is when a form was sent: the page that answers it is on its way, with what is said once.
const away = 10_000; // milliseconds; longer is a form that leads nowhere, such as a download
let left = -away;
document.addEventListener("submit", (e) => { if (!e.defaultPrevented) left = performance.now(); });
addEventListener("pageshow", () => { left = -away; });
const leaving = () => performance.now() - left < away;

// ask asks for the page now. If the session has ended, the sign-in page takes its place.
export async function ask() {
  clearTimeout(timer);
  timer = 0;
  if (asking) return;
  [due, asking, last] = [false, true, performance.now()];
  const address = () => document.body.dataset.page ?? location.pathname + location.search;
  const page = address();
  tellZone();
  try {
    const headers = { "X-Reprise-Refresh": location.pathname, "If-None-Match": tag };
    const answer = await fetch(page, { headers, redirect: "manual" });
    const text = await answer.text();
    if (page !== address()) due = true; // the reader has moved on meanwhile
    else if (answer.type === "opaqueredirect") {
      if (leaving()) due = true;
      else location.assign(location.pathname + location.search);
    }
    else if (answer.ok) show(answer, text);
  } catch {
    // The server cannot be reached. The page is asked for when it can be followed again.
  }
  asking = false;
  plan();
}

function show(answer, text) {
  tag = answer.headers.get("ETag") ?? "";
  parts(new DOMParser().parseFromString(text, "text/html")).forEach(change);
  showRuns();
  arrange();
}

// filledIn says for an attribute whether somebody has given a field what it is about to set.
const filledIn = {
  value: (el) => "defaultValue" in el && el.value !== el.defaultValue,
  checked: (el) => el.checked !== el.defaultChecked,
  selected: (el) => el.selected !== el.defaultSelected,
};

// change changes a part into a newer version of itself. Only what the server sends otherwise than before is touched, so
// that the focus, what is open, typed or selected, and what scripts have put into the page stay.
export function change(fresh) {
  const { id } = fresh, old = document.getElementById(id), before = served.get(id);
  if (!old || before?.isEqualNode(fresh)) return;
  served.set(id, fresh);
  const next = fresh.cloneNode(true);
  showTimes(next);
  // A list with appended pages adds the new rows itself.
  if (!old.dispatchEvent(new CustomEvent("part", { cancelable: true, detail: next }))) return;
  const find = (part, el) => part?.querySelector(`#${CSS.escape(el.id)}`);
  const same = (el) => Boolean(find(before, el)?.isEqualNode(find(fresh, el)));
  const callbacks = {
    beforeNodeMorphed: (el, now) => !(now.id && el.id === now.id && same(now)),
    // What the reader opened stays open; what is shown only while something runs is shown by progress.js.
    beforeAttributeUpdated: (name, el) => !(name === "open" && el.localName === "details") && !filledIn[name]?.(el),
  };
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const around = [];
  for (let el = focus; el && el !== old.parentElement; el = el.parentElement) around.push(el);
  Idiomorph.morph(old, next, { morphStyle: "outerHTML", ignoreActiveValue: true, callbacks });
  // If the focused element is gone, the focus moves to what surrounded it, not to the top of the page. That is never a
  // control: nobody must press what they did not choose.
  if (!focus || focus === document.activeElement) return;
  const takesFocus = (el) => el === focus || (el.tabIndex === -1 && el.hasAttribute("tabindex"));
  const rest = around.find((el) => el.isConnected && takesFocus(el)) ?? document.getElementById(id);
  rest?.focus({ preventScroll: true });
}
