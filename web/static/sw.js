// The service worker: shows what is pushed to this browser, also when no page of Reprise is open, and keeps the last
// state of Status and of the page for a phone's screen for when the server cannot be reached. It keeps nothing of a
// person whose session has ended.
"use strict";

// root is the path of base_url, which this script's own address has in front of its name; empty without one.
const root = new URL(".", self.location).pathname.slice(0, -1);
const shell = [/* shell */].map((path) => root + path); // what every page needs; each has the hash of its content
const offline = `${root}/offline`;
const files = "files", status = "status";

self.addEventListener("install", (e) => {
  e.waitUntil((async () => {
    const cache = await caches.open(files);
    await cache.addAll(shell);
    await cache.add(new Request(offline, { cache: "reload" }));
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (e) => {
  e.waitUntil((async () => {
    for (const name of await caches.keys()) { // earlier versions kept every page that was visited
      if (name !== files && name !== status) await caches.delete(name);
    }
    const cache = await caches.open(files);
    for (const asked of await cache.keys()) {
      const path = new URL(asked.url).pathname;
      if (path !== offline && !shell.includes(path)) await cache.delete(asked);
    }
    await self.clients.claim();
  })());
});

// Signing in or out, here or elsewhere, ends what was kept: the next person must not read it. A session that has ended
// leads to one of these doors as well.
const doors = ["/login", "/logout", "/setup", "/invitation", "/reset"].map((path) => root + path);
const isDoor = (path) => doors.some((door) => path === door || path.startsWith(`${door}/`));

self.addEventListener("fetch", (e) => {
  const at = new URL(e.request.url);
  if (at.origin !== self.location.origin) return;
  if (e.request.mode === "navigate") {
    if (e.request.method !== "GET" || isDoor(at.pathname)) {
      if (isDoor(at.pathname)) e.waitUntil(forget());
    } else e.respondWith(page(e));
  } else if (e.request.method === "GET" && at.pathname.startsWith(`${root}/static/`)) {
    e.respondWith(file(e.request));
  }
});

async function file(request) {
  const cache = await caches.open(files);
  return await cache.match(request) ?? fetch(request);
}

const forget = () => caches.delete(status);
const isStatus = (url) => [`${root}/`, `${root}/now`].includes(url.pathname) && !url.search;

async function page(e) {
  const at = new URL(e.request.url);
  let answer;
  try {
    answer = await fetch(e.request);
  } catch {
    return stored(at);
  }
  if (answer.type === "opaqueredirect") return answer;
  if (answer.status === 401) e.waitUntil(forget());
  else if (isStatus(at) && answer.ok && (answer.headers.get("Content-Type") ?? "").startsWith("text/html")) {
    e.waitUntil(keep(e.request, answer.clone()));
  }
  return answer;
}

// keep stores a page as somebody sees it who is signed in, with the time at which it was so.
async function keep(request, answer) {
  const text = await answer.text();
  if (!text.includes('data-live="yes"')) return;
  const marked = text.replace('data-live="yes"', `data-stored="${new Date().toISOString()}"`);
  await (await caches.open(status)).put(request.url, new Response(marked, { headers: headersOf(answer) }));
}

// headersOf keeps what makes a page safe to show; it is neither compressed nor for another cache any longer.
function headersOf(answer) {
  const headers = new Headers();
  for (const name of ["Content-Type", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options",
    "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy"]) {
    const value = answer.headers.get(name);
    if (value) headers.set(name, value);
  }
  return headers;
}

async function stored(at) {
  const page = isStatus(at) && await (await caches.open(status)).match(at.href);
  return page || (await (await caches.open(files)).match(offline)) || Response.error();
}

self.addEventListener("push", (e) => {
  const m = e.data ? e.data.json() : {};
  const shown = (text) => (text || "").replace(/[\u202a-\u202e\u2066-\u2069]/g, ""); // which would turn others around
  e.waitUntil(self.registration.showNotification(shown(m.title) || "Reprise", {
    body: shown(m.message), tag: m.id, data: { url: m.url }, requireInteraction: m.severity === "error",
  }));
});

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const url = new URL(e.notification.data?.url || `${root}/`, self.location.origin);
  const path = url.pathname + url.search + url.hash;
  const to = url.origin === self.location.origin ? url : new URL(path, self.location.origin);
  e.waitUntil((async () => {
    for (const page of await self.clients.matchAll({ type: "window" })) {
      if (new URL(page.url).pathname === to.pathname && "focus" in page) return page.focus();
    }
    return self.clients.openWindow(to.href);
  })());
});

// The browser has a new address at its push service, which the server must know.
self.addEventListener("pushsubscriptionchange", (e) => {
  e.waitUntil((async () => {
    const old = e.oldSubscription;
    const options = old?.options;
    const subscribe = () => self.registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: options.applicationServerKey,
    });
    const fresh = e.newSubscription || (options && await subscribe());
    if (!fresh) return;
    await fetch(`${root}/api/v1/channels`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ kind: "webpush", subscription: fresh, replaces: old?.endpoint || "" }),
    });
  })());
});
