// Follows what happens: the server sends what has changed on this page, what is to be announced, and how far runs are.
import { change } from "./morph.js";
import { end, endAll, move, showRuns } from "./progress.js";
import { tellZone } from "./times.js";
import { announce, arrange, hide, hideOthers } from "./toast.js";
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

const handlers = {
  snapshot(data) {
    for (const n of data.notifications) notice(n);
    hideOthers(new Set(data.notifications.filter((n) => !n.acknowledged_at).map((n) => n.id)));
    endAll();
    document.body.dataset.linked = "yes"; // the page follows what happens
  },
  parts(data) {
    for (const p of data.parts) change(p.id, p.html);
    document.body.dataset.parts = ""; // they are not those that the page came with any longer
    showRuns();
    arrange();
  },
  moved(data) { location.assign(data.url); },
  connection(c) {
    for (const s of c.streams) if (s.state !== "syncing") end(`${c.id}/${s.stream}`);
  },
  notification: notice,
  crowded(c) { crowded = c.most; },
  enrichment(e) { end(`${e.provider}/enrichment`); },
  imports(i) { end(`${i.connection}/import`); },
  progress: move,
};

function receive(text) {
  const m = JSON.parse(text);
  handlers[m.type]?.(m.data);
}

// address names this page and the versions of its parts, so that only what differs is sent.
function address(path) {
  const asked = new URL(at(path), location.href);
  asked.searchParams.set("page", document.body.dataset.page ?? location.pathname + location.search);
  const ids = [...document.querySelectorAll("[data-part][id]")].map((el) => `${el.id}:`);
  asked.searchParams.set("parts", document.body.dataset.parts || ids.join(","));
  return asked;
}

function connected(yes) { link.textContent = yes ? "" : say("unlinked"); }

function open() {
  // A network that breaks websockets lets Server-Sent Events through. Browsers allow few such streams to one server at
  // a time, over all tabs, so a hidden tab has none.
  if (failures >= 2 && failures % 2 === 0 && !document.hidden) { openEvents(); return; }
  const stream = address("/api/v1/events");
  stream.protocol = stream.protocol.replace("http", "ws");
  tellZone();
  const opening = socket = new WebSocket(stream);
  const patience = setTimeout(() => opening.close(), openWithin);
  opening.addEventListener("open", () => { clearTimeout(patience); failures = 0; connected(true); });
  opening.addEventListener("message", (e) => receive(e.data));
  opening.addEventListener("close", (e) => {
    clearTimeout(patience);
    socket = null;
    if (e.code === 1008) signedOut();
    retry();
  });
}

function openEvents() {
  tellZone();
  source = new EventSource(address("/api/v1/events/sse"));
  source.addEventListener("open", () => { failures = 1; connected(true); });
  for (const type of Object.keys(handlers)) source.addEventListener(type, (e) => receive(e.data));
  source.addEventListener("error", () => { closeEvents(); retry(); });
}

function closeEvents() {
  source?.close();
  source = null;
}

// signedOut leads to the sign-in page, and back here after it, if the session has ended.
async function signedOut() {
  try {
    const answer = await fetch(at("/api/v1/notifications?open=true"), { headers: { Accept: "application/json" } });
    if (answer.status === 401) location.assign(location.href.split("#")[0]);
  } catch {
    // The server cannot be reached; the next try finds out.
  }
}

function retry() {
  if (crowded) {
    link.textContent = say("crowded", { Most: crowded });
    return;
  }
  failures++;
  if (failures > 1) { connected(false); signedOut(); }
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
