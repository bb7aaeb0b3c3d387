// How far runs have come. The server says numbers only; the bars are on the page.
import { number, say } from "./words.js";

const worthShowing = 1500; // milliseconds; a run that is over sooner would only flicker
const runs = new Map(); // connection/stream -> { since, done, total }

export function showRuns() {
  for (const [key, run] of runs) {
    const box = document.querySelector(`[data-progress="${CSS.escape(key)}"]`);
    if (!box || (box.hidden && Date.now() - run.since < worthShowing)) continue;
    const bar = box.querySelector("progress");
    box.hidden = false;
    const done = number(run.done);
    box.querySelector(".figures").textContent = run.total ? say("of", { Done: done, Total: number(run.total) }) : done;
    if (run.total) { bar.max = run.total; bar.value = run.done; } else { bar.removeAttribute("value"); }
  }
}

export function move(p) {
  const key = `${p.connection}/${p.stream}`;
  runs.set(key, { since: runs.get(key)?.since ?? Date.now(), done: p.done, total: p.total });
  showRuns();
}

export const end = (key) => runs.delete(key);
export const endAll = () => runs.clear();
