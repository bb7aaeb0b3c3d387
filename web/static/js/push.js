// For the page of channels: adds this browser as a channel.
import { at, say } from "./words.js";

const words = document.getElementById("push-words");
const button = document.getElementById("push-add");
const tell = (id, offer) => { words.textContent = say(`push_${id}`); button.hidden = !offer; };

function start() {
  if (!window.isSecureContext) { tell("insecure", false); return; }
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) { tell("unable", false); return; }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  const encoded = words.dataset.key.replace(/-/g, "+").replace(/_/g, "/");
  const key = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  const channels = () => [...document.querySelectorAll("[data-push]")];
  const known = (s) => s && channels().some((el) => el.dataset.push === s.endpoint);

  async function look() {
    const worker = await navigator.serviceWorker.register(at("/sw.js"));
    const mine = await worker.pushManager.getSubscription();
    if (known(mine)) tell("already", false);
    else if (Notification.permission === "denied") tell("denied", false);
    else tell("offer", true);
  }

  async function add() {
    button.disabled = true;
    try {
      if (await Notification.requestPermission() !== "granted") { tell("refused", true); return; }
      const worker = await navigator.serviceWorker.ready;
      const old = await worker.pushManager.getSubscription();
      const mine = old || await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
      const answer = await fetch(at("/api/v1/channels"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ kind: "webpush", name: say("push_name"), subscription: mine, zone }),
      });
      if (answer.ok || answer.status === 409) { location.reload(); return; }
      await mine.unsubscribe();
      words.textContent = (await answer.json()).detail;
    } catch {
      tell("unreachable", true);
    } finally {
      button.disabled = false;
    }
  }

  button.addEventListener("click", add);
  look().catch(() => tell("unable", false));
}

if (words && button) start();
