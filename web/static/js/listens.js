// Listens continues while somebody scrolls. The address follows, so that going back and reloading lead to the same row.
import { Idiomorph } from "./idiomorph.js";
import { showTimes } from "./times.js";

const list = document.querySelector("#listens[data-part]");
const ahead = "800px"; // how far before its end the list continues
const began = location.pathname + location.search;
const places = [{ row: list?.querySelector("li.row"), url: began }]; // the first row of each added page
let loading = false, waiting = false;

const last = (all) => all[all.length - 1];
const link = () => list.querySelector(":scope > .pager a[rel=next]");
const days = (of) => [...of.querySelectorAll(":scope > section.day")];

const observer = new IntersectionObserver((seen) => {
  if (seen.some((one) => one.isIntersecting)) more();
}, { rootMargin: `0px 0px ${ahead} 0px` });

// watch notices when the end of the list comes near.
function watch() {
  observer.disconnect();
  if (link()) observer.observe(link());
}

// more appends the next page.
async function more() {
  const next = link();
  if (loading || !next) return;
  loading = true;
  observer.disconnect();
  try {
    const answer = await fetch(next.href, { headers: { "X-Reprise-Refresh": "/listens" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("listens");
    if (!answer.ok || !page) return; // for example the sign-in page; the link stays
    showTimes(page);
    const row = page.querySelector("li.row");
    const pager = page.querySelector(":scope > .pager:last-child");
    for (const day of days(page)) {
      const same = last(days(list));
      if (same?.querySelector("h2").id === day.querySelector("h2").id) {
        same.querySelector("ul").append(...day.querySelector("ul").children);
      } else last(days(list)).after(day);
    }
    const old = list.querySelector(":scope > .pager:last-child");
    if (pager) old.replaceWith(pager);
    else old.remove();
    if (row) places.push({ row, url: next.pathname + next.search });
  } catch {
    return; // the server cannot be reached; the link stays
  } finally {
    loading = false;
  }
  watch();
}

// here returns the row in the middle of the window, or the last one above it.
function here() {
  const middle = innerHeight / 2;
  let found = null;
  for (const row of list.querySelectorAll("li.row")) {
    if (row.getBoundingClientRect().top > middle) break;
    found = row;
  }
  return found;
}

// follow sets the address to that of the row in the middle of the window.
function follow() {
  waiting = false;
  const row = here();
  const middle = innerHeight / 2;
  const place = places.findLast((p) => p.row?.isConnected && p.row.getBoundingClientRect().top <= middle) ?? places[0];
  document.body.dataset.page = began; // updates are always those of the first page
  const state = row && { row: row.id, top: Math.round(row.getBoundingClientRect().top) };
  history.replaceState(state, "", scrollY > 0 ? place.url : began);
}

const aboveOf = (row) => (row.previousElementSibling?.matches("li.above") ? row.previousElementSibling : null);
const rows = (of) => [...of.querySelectorAll("li.row")];

function remove(row) {
  aboveOf(row)?.remove();
  row.remove();
}

// grow merges a newer first page into the list while somebody reads further down. The row in the middle of the window
// keeps its position on the screen.
function grow(e) {
  queueMicrotask(watch); // once the list has changed, which may have replaced the link
  if (!days(list).length || (places.length < 2 && scrollY === 0)) return; // it changes like any other part
  e.preventDefault();
  const row = here(), top = row?.getBoundingClientRect().top;
  merge(e.detail);
  if (row?.isConnected && scrollY > 0) scrollBy(0, row.getBoundingClientRect().top - top);
}

function merge(page) {
  const lead = page.querySelector(":scope > .lead");
  if (lead) list.querySelector(":scope > .lead")?.replaceWith(lead);
  // The newer page has every row above the last one that both have; others have been deleted.
  const now = rows(page), ids = new Set(now.map((row) => row.id));
  const end = now.findLast((row) => document.getElementById(row.id))?.id;
  for (const row of end ? rows(list) : []) {
    if (row.id === end) break;
    if (!ids.has(row.id)) remove(row);
  }
  let above = null;
  for (const day of days(page)) {
    const same = document.getElementById(day.querySelector("h2").id)?.closest("section");
    if (same) mergeDay(same, day);
    else {
      for (const row of rows(day)) moved(row);
      if (above) above.after(day);
      else days(list)[0].before(day);
    }
    above = same ?? day;
  }
  const pager = page.querySelector(":scope > .pager:last-child");
  if (pager && places.length < 2 && !link()) continueAfter(last(now), pager);
  for (const day of days(list)) if (!day.querySelector("li.row")) day.remove();
}

// continueAfter ends a list that was complete, and has become longer than a page, where its next page begins.
function continueAfter(row, pager) {
  const all = rows(list);
  for (const beyond of all.slice(all.findIndex((one) => one.id === row.id) + 1)) remove(beyond);
  list.append(pager);
}

// moved removes the former version of a row that now belongs to another day.
function moved(row) {
  const old = document.getElementById(row.id);
  if (old) remove(old);
}

function mergeDay(day, newer) {
  day.querySelector(".day-head").replaceWith(newer.querySelector(".day-head"));
  let last = null;
  for (const next of rows(newer)) {
    const above = aboveOf(next);
    let row = document.getElementById(next.id);
    if (row && !day.contains(row)) { remove(row); row = null; }
    if (!row) {
      row = next;
      if (last) last.after(row);
      else day.querySelector("ul").prepend(row);
    } else if (!row.isEqualNode(next)) {
      Idiomorph.morph(row, next, { ignoreActiveValue: true });
    }
    aboveOf(row)?.remove();
    if (above) row.before(above);
    last = row;
  }
}

if (list) {
  watch();
  history.scrollRestoration = "manual";
  const back = history.state?.row && document.getElementById(history.state.row);
  if (back) scrollBy(0, back.getBoundingClientRect().top - history.state.top);
  addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(follow);
    waiting = true;
  }, { passive: true });
  list.addEventListener("part", grow);
}
