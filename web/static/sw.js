// Shows what is pushed to this browser, also when no page of Reprise is open.
"use strict";

self.addEventListener("push", (e) => {
  const m = e.data ? e.data.json() : {};
  const shown = (text) => (text || "").replace(/[\u202a-\u202e\u2066-\u2069]/g, ""); // which would turn others around
  e.waitUntil(self.registration.showNotification(shown(m.title) || "Reprise", {
    body: shown(m.message), tag: m.id, data: { url: m.url }, requireInteraction: m.severity === "error",
  }));
});

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const url = new URL(e.notification.data?.url || "/", self.location.origin);
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
    await fetch("/api/v1/channels", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ kind: "webpush", subscription: fresh, replaces: old?.endpoint || "" }),
    });
  })());
});
