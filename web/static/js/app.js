// The script of every page: it keeps the page up to date and makes it quicker to use. Pages work without it, as they
// were when they were loaded.
import "./forms.js";
import "./copy.js";
import "./keyboard.js";
import "./strips.js";
import "./offline.js";
import { keepTimes } from "./times.js";
import { follow } from "./live.js";

keepTimes();
if (document.body.dataset.live === "yes") follow();
