// Follows what happens: announces it, shows how far runs are, and keeps the page up to date.
import { end, endAll, move } from "./progress.js";
import { announce, hide, hideOthers } from "./toast.js";
import { ask, update } from "./update.js";
import { at, say } from "./words.js";

const link = document.getElementById("link");
const openWithin = 10000; // milliseconds; some networks swallow a websocket's handshake
let socket = null, source = null, failures = 0, waiting = 0;
let crowded = 0; // how many pages may be open at once, when there are more and this one has made room

function tell(type, id) {
  if (socket?.readyState === WebSocket.OPEN) { socket.send(JSON.stringify({ type, data: { id } })); return; }
  fetch(at(`/api/v1/notifications/${id}/${type}`), { method: "POST" }).catch(() => {});
}

function notice(n) {
  if (n.resolved_at || n.acknowledged_at) hide(n.id);
  else if (n.toast) announce(n, tell);
}

// What each kind of event does, beside bringing the page up to date.
const handlers = {
  snapshot(data) {
    if (String(data.serial) !== document.body.dataset.serial) update(); // something has happened since it was made
    document.body.dataset.serial = ""; // and may have happened whenever the stream has to begin again
    for (const n of data.notifications) notice(n);
    hideOthers(new Set(data.notifications.filter((n) => !n.acknowledged_at).map((n) => n.id)));
    endAll();
    document.body.dataset.linked = "yes"; // the page follows what happens
  },
  connection(c) {
    for (const s of c.streams) if (s.state !== "syncing") end(`${c.id}/${s.stream}`);
  },
  notification: notice,
  crowded(c) { crowded = c.most; },
  enrichment(e) { end(`${e.provider}/enrichment`); },
  imports(i) { end(`${i.connection}/import`); },
  progress: move,
  access() {}, backups() {}, breakers() {}, deliveries() {}, digest() {}, listens() {},
};

// What says nothing about pages, and what shows on a page that has no parts beside those of its frame.
const aside = ["snapshot", "progress", "crowded"], ofFrame = ["access", "deliveries", "notification"];
const onlyFrame = !document.querySelector("main [data-part]");
const concerns = (type) => !aside.includes(type) && (!onlyFrame || ofFrame.includes(type));

function receive(text) {
  const m = JSON.parse(text);
  handlers[m.type]?.(m.data);
  if (concerns(m.type)) update();
}

function connected(yes) { link.textContent = yes ? "" : say("unlinked"); }

function open() {
  // A network that breaks websockets lets Server-Sent Events through. Browsers allow few such streams to one server at
  // a time, over all tabs, so a hidden tab has none.
  if (failures >= 2 && failures % 2 === 0 && !document.hidden) { openEvents(); return; }
  const stream = new URL(at("/api/v1/events"), location.href);
  stream.protocol = stream.protocol.replace("http", "ws");
  const opening = socket = new WebSocket(stream);
  const patience = setTimeout(() => opening.close(), openWithin);
  opening.addEventListener("open", () => { clearTimeout(patience); failures = 0; connected(true); });
  opening.addEventListener("message", (e) => receive(e.data));
  opening.addEventListener("close", (e) => {
    clearTimeout(patience);
    socket = null;
    if (e.code === 1008) ask(); // the session has ended
    retry();
  });
}

function openEvents() {
  source = new EventSource(at("/api/v1/events/sse"));
  source.addEventListener("open", () => { failures = 1; connected(true); });
  for (const type of Object.keys(handlers)) source.addEventListener(type, (e) => receive(e.data));
  source.addEventListener("error", () => { closeEvents(); retry(); });
}

function closeEvents() {
  source?.close();
  source = null;
}

function retry() {
  if (crowded) {
    link.textContent = say("crowded", { Most: crowded });
    return;
  }
  failures++;
  if (failures > 1) { connected(false); ask(); }
  clearTimeout(waiting);
  waiting = setTimeout(open, Math.min(30000, 500 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2));
}

// openNow opens a stream at once if there is none, and starts with the kind that works everywhere.
function openNow() {
  if (socket || source) return;
  clearTimeout(waiting);
  failures += failures % 2;
  open();
}

export function follow() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { closeEvents(); return; }
    crowded = 0; // somebody looks at this page now
    openNow();
  });
  addEventListener("online", () => { if (!crowded) openNow(); });
  open();
}
