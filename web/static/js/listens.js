// Listens continues while somebody scrolls. The address follows, so that going back and reloading lead to the same row.
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
  if (link()) observer.observe(link());
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

// grow adds only the new rows of a newer first page, if more pages have been appended below it.
function grow(e) {
  if (places.length < 2) return;
  e.preventDefault();
  for (const day of days(e.detail)) {
    const known = document.getElementById(day.querySelector("h2").id)?.closest("section");
    const fresh = [...day.querySelectorAll("li.row")].filter((row) => !document.getElementById(row.id));
    if (!known) {
      if (fresh.length === day.querySelectorAll("li.row").length) days(list)[0].before(day);
      continue;
    }
    known.querySelector(".day-head .facts").textContent = day.querySelector(".day-head .facts").textContent;
    const first = known.querySelector("li.row");
    for (const row of fresh) first.before(row);
  }
}

if (list && link()) {
  observer.observe(link());
  history.scrollRestoration = "manual";
  const back = history.state?.row && document.getElementById(history.state.row);
  if (back) scrollBy(0, back.getBoundingClientRect().top - history.state.top);
  addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(follow);
    waiting = true;
  }, { passive: true });
  list.addEventListener("part", grow);
}
