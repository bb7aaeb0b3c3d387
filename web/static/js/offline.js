// Without a network, pages that were visited are shown as they were, by the service worker. It keeps nothing of a
// person who has signed out.
import { say } from "./words.js";

const signedIn = document.body.dataset.live === "yes";
if ("serviceWorker" in navigator && signedIn) navigator.serviceWorker.register("/sw.js").catch(() => {});

const link = document.getElementById("link");
function show() {
  document.documentElement.classList.toggle("offline", !navigator.onLine);
  if (link && !navigator.onLine) link.textContent = say("offline");
}
addEventListener("offline", show);
addEventListener("online", show);
show();
