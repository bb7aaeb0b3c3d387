// Without a network, Status is shown as it was, by the service worker. It keeps nothing of a person whose session has
// ended.
import { timed } from "./times.js";
import { at, say } from "./words.js";

const signedIn = document.body.dataset.live === "yes";
const { stored } = document.body.dataset; // when the page was as it is; undefined for now
if ("serviceWorker" in navigator && signedIn) navigator.serviceWorker.register(at("/sw.js")).catch(() => {});

const link = document.getElementById("link");
function show() {
  const away = Boolean(stored) || !navigator.onLine;
  document.documentElement.classList.toggle("offline", away);
  if (link && away) link.textContent = stored ? say("stored", { Time: timed(stored) }) : say("offline");
}
addEventListener("offline", show);
addEventListener("online", () => { if (stored) location.reload(); else show(); });
show();
