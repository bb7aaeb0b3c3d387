// The script of every page: it keeps the page up to date and makes it quicker to use. Pages work without it, as they
// were when they were loaded.
import { update } from "./update.js"; // before others change the page
import "./forms.js";
import "./keyboard.js";
import "./search.js";
import "./strips.js";
import "./offline.js";
import { keepTimes, tellZone } from "./times.js";
import { follow } from "./live.js";

// The navigation of a phone is one row: the current page is in view.
const pages = document.querySelector(".top nav");
const current = pages?.querySelector("[aria-current]");
if (current) pages.scrollLeft = current.offsetLeft - pages.offsetLeft - (pages.clientWidth - current.offsetWidth) / 2;

const moved = tellZone(); // the days on the page may be those of another zone
keepTimes();
if (document.body.dataset.live === "yes") {
  follow();
  if (moved) update();
}
