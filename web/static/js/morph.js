// Changes an element into a new version of itself and touches only what differs, so that the focus, what is open and
// what is selected stay.
import { Idiomorph } from "./idiomorph.js";
import { showTimes } from "./times.js";

const callbacks = {
  // What the reader opened stays open; what is shown only while something runs is shown by progress.js.
  beforeAttributeUpdated: (name, el) => !(name === "open" && el.localName === "details"),
};

export function change(id, html) {
  const old = document.getElementById(id);
  if (!old) return;
  const box = document.createElement("template");
  box.innerHTML = html;
  const next = box.content.firstElementChild;
  if (!next) return;
  for (const kept of next.querySelectorAll("[data-keep]")) {
    const same = document.getElementById(kept.id);
    if (same) kept.replaceWith(same.cloneNode(true));
  }
  showTimes(box.content);
  // A list with appended pages adds the new rows itself.
  if (!old.dispatchEvent(new CustomEvent("part", { cancelable: true, detail: next }))) return;
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
