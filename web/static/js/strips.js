// The bars of a strip say what they stand for on hover and when they are tapped, in the reader's own zone. So do the
// marks of services in a row, whose names a phone has no room for.
import { span } from "./times.js";

const barOf = (e) => e.target.closest?.("[data-strip] > i[title]");

// local puts the reader's time into a bar's title, which names it in UTC for pages without a script.
function local(bar) {
  const { from, to } = bar.dataset;
  if (!from) return;
  bar.title = span(new Date(from), new Date(to)) + bar.title.slice(bar.title.indexOf(": "));
  delete bar.dataset.from;
}

document.addEventListener("pointerover", (e) => {
  const bar = barOf(e);
  if (bar) local(bar);
});
document.addEventListener("click", (e) => {
  e.target.closest?.(".origins")?.classList.toggle("named");
  const bar = barOf(e);
  const strip = bar?.parentElement;
  if (!strip) return;
  local(bar);
  let note = strip.nextElementSibling;
  if (!note?.matches(".strip-note")) {
    note = document.createElement("p");
    note.className = "strip-note";
    note.setAttribute("role", "status");
    strip.after(note);
  }
  note.textContent = bar.title;
});
