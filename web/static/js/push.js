// This script is for the page of channels: it adds this browser as a channel, and fills in the reader's time zone.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  for (const el of document.querySelectorAll("[data-zone]")) if (!el.value) el.value = zone;

  const words = document.getElementById("push-words");
  const button = document.getElementById("push-add");
  const say = (text, offer) => { words.textContent = text; button.hidden = !offer; };
  const offer = "This browser can tell you, also when no page of Reprise is open.";

  if (!window.isSecureContext) {
    say("This browser can only tell you when Reprise is reached over https:// or at 127.0.0.1. " +
      "The administrator can set that up.", false);
    return;
  }
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    say("This browser cannot be told by a web page. " +
      "On an iPhone or iPad, add Reprise to the home screen first.", false);
    return;
  }

  const encoded = words.dataset.key.replace(/-/g, "+").replace(/_/g, "/");
  const key = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  const channels = () => [...document.querySelectorAll("[data-push]")];
  const known = (s) => s && channels().some((el) => el.dataset.push === s.endpoint);

  async function look() {
    const worker = await navigator.serviceWorker.register("/sw.js");
    const mine = await worker.pushManager.getSubscription();
    if (known(mine)) say("This browser tells you already. It stands in the list above.", false);
    else if (Notification.permission === "denied") {
      say("You have told this browser not to show messages from here. " +
        "Allow it in the settings of the browser first.", false);
    } else say(offer, true);
  }

  async function add() {
    button.disabled = true;
    try {
      if (await Notification.requestPermission() !== "granted") {
        say("This browser did not allow it. " +
          "Allow messages from this page in the settings of the browser, then try once more.", true);
        return;
      }
      const worker = await navigator.serviceWorker.ready;
      const old = await worker.pushManager.getSubscription();
      const mine = old || await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
      const answer = await fetch("/api/v1/channels", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ kind: "webpush", name: "This browser", subscription: mine, zone }),
      });
      if (answer.ok || answer.status === 409) { location.reload(); return; }
      await mine.unsubscribe();
      say((await answer.json()).detail, true);
    } catch {
      say("This browser could not reach its push service. Try once more later; some browsers have none.", true);
    } finally {
      button.disabled = false;
    }
  }

  button.addEventListener("click", add);
  look().catch(() => say("This browser cannot be told by a web page.", false));
})();
