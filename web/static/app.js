// Keeps a page alive: follows the user's events, shows toasts, fetches the parts of the page that have changed, and lets
// times and countdowns run. Without it every page still works; it is only as old as its last load.
"use strict";

(() => {
  if (document.body.dataset.live !== "yes") return;

  // ---- times -------------------------------------------------------------------------------------------------------
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const shortYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
  const longDate = new Intl.DateTimeFormat(undefined, { dateStyle: "long" });
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });

  function ago(seconds, at) {
    if (seconds < 45) return "just now";
    if (seconds < 3600) return relative.format(-Math.round(seconds / 60), "minute");
    if (seconds < 86400) return relative.format(-Math.round(seconds / 3600), "hour");
    return seconds < 300 * 86400 ? short.format(at) : shortYear.format(at);
  }

  function ahead(seconds, at) {
    if (seconds <= 0) return "now";
    const s = Math.ceil(seconds);
    const two = (n) => String(n).padStart(2, "0");
    if (s < 3600) return `in ${Math.floor(s / 60)}:${two(s % 60)}`;
    if (s < 86400) return `in ${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)} h`;
    return short.format(at);
  }

  function showTimes(root) {
    const now = Date.now();
    for (const el of root.querySelectorAll("time[data-time]")) {
      const at = new Date(el.dateTime);
      const kind = el.dataset.time;
      const text = kind === "until" ? ahead((at - now) / 1000, at) : kind === "date" ? longDate.format(at) : ago((now - at) / 1000, at);
      if (el.textContent !== text) el.textContent = text;
      el.title = exact.format(at);
    }
  }

  // ---- parts: what a page shows that can change --------------------------------------------------------------------
  let fetching = false, again = false, timer = 0;

  function refreshSoon() {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  }

  async function refresh() {
    if (fetching) { again = true; return; }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname === "/login") { location.reload(); return; }
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-part]")) {
        const next = fresh.getElementById(part.id);
        if (next) replace(part, document.adoptNode(next));
      }
    } catch {
      // The next event, or the next connection, tries again.
    } finally {
      fetching = false;
      if (again) { again = false; refreshSoon(); }
    }
  }

  // replace exchanges a part and keeps what the person is doing in it: the focus, and what is unfolded.
  function replace(old, next) {
    showTimes(next);
    if (old.outerHTML === next.outerHTML) return;
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    if (focus && /^(INPUT|SELECT|TEXTAREA)$/.test(focus.tagName)) return;
    const open = [...old.querySelectorAll("details")].map((d) => d.open);
    next.querySelectorAll("details").forEach((d, i) => { d.open = open[i] || d.open; });
    old.replaceWith(next);
    if (focus && focus.id) document.getElementById(focus.id)?.focus();
  }

  // ---- toasts ------------------------------------------------------------------------------------------------------
  const seenKey = "reprise-announced";
  const announced = () => new Set(JSON.parse(localStorage.getItem(seenKey) || "[]"));
  const announce = (key) => localStorage.setItem(seenKey, JSON.stringify([...announced().add(key)].slice(-200)));
  const shown = new Map(); // notification id -> its toast
  const keyOf = (n) => `${n.id}/${n.created_at}`;

  function element(tag, text, className) {
    const el = document.createElement(tag);
    if (text) el.textContent = text;
    if (className) el.className = className;
    return el;
  }

  function toast(severity, title, message, ...controls) {
    const box = element("div", "", `toast toast-${severity}`);
    if (severity === "error") box.setAttribute("role", "alert");
    box.append(element("strong", title));
    if (message) box.append(element("p", message));
    if (controls.length) {
      const row = element("div", "", "actions");
      row.append(...controls);
      box.append(row);
    }
    document.getElementById("toasts").append(box);
    return box;
  }

  function showNotification(n) {
    if (n.resolved_at || n.acknowledged_at) {
      const box = shown.get(n.id);
      shown.delete(n.id);
      box?.remove();
      if (n.resolved_at && announced().has(keyOf(n)) && !announced().has(`${keyOf(n)}/solved`)) {
        announce(`${keyOf(n)}/solved`);
        const gone = toast("success", "Solved", n.title + ".");
        setTimeout(() => gone.remove(), 8000);
      }
      return;
    }
    if (shown.has(n.id)) return;
    announce(keyOf(n));
    const controls = [];
    if (n.action) {
      const link = element("a", n.action.label, "button");
      link.href = n.action.url;
      controls.push(link);
    }
    const close = element("button", "I have seen it", "second");
    close.addEventListener("click", () => { say({ type: "ack", data: { id: n.id } }); shown.get(n.id)?.remove(); shown.delete(n.id); });
    controls.push(close);
    shown.set(n.id, toast(n.severity, n.title, n.message, ...controls));
  }

  // ---- events ------------------------------------------------------------------------------------------------------
  const handlers = {
    snapshot(data) {
      // A toast is said once in this browser; what stays open is on the page anyway.
      const known = announced();
      for (const n of data.notifications) if (!known.has(keyOf(n))) showNotification(n);
      for (const id of [...shown.keys()]) {
        if (!data.notifications.some((n) => n.id === id && !n.acknowledged_at)) { shown.get(id).remove(); shown.delete(id); }
      }
      refreshSoon();
    },
    connection() { refreshSoon(); },
    notification(n) { showNotification(n); refreshSoon(); },
    listens() { refreshSoon(); },
    progress(p) {
      for (const box of document.querySelectorAll(`[data-progress="${p.provider}/${p.stream}"]`)) {
        const bar = box.querySelector("progress");
        box.hidden = false;
        box.querySelector(".figures").textContent = p.done.toLocaleString("en") + (p.total ? ` of ${p.total.toLocaleString("en")}` : "");
        if (p.total) { bar.max = p.total; bar.value = p.done; } else { bar.removeAttribute("value"); }
      }
    },
  };

  function receive(text) {
    const m = JSON.parse(text);
    handlers[m.type]?.(m.data);
  }

  const link = document.getElementById("link");
  function connected(yes) {
    link.hidden = yes;
    link.textContent = yes ? "" : "· not connected to the server; trying again";
  }

  let socket = null, failures = 0;
  function say(m) {
    if (socket?.readyState === WebSocket.OPEN) { socket.send(JSON.stringify(m)); return; }
    fetch(`/api/v1/notifications/${m.data.id}/ack`, { method: "POST" }).catch(() => {});
  }

  function open() {
    // A network that breaks websockets still lets Server-Sent Events through.
    if (failures >= 2 && failures % 2 === 0) { openEvents(); return; }
    const address = new URL("/api/v1/events", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    socket = new WebSocket(address);
    socket.addEventListener("open", () => { failures = 0; connected(true); });
    socket.addEventListener("message", (e) => receive(e.data));
    socket.addEventListener("close", (e) => { socket = null; if (e.code === 1008) location.reload(); else retry(); });
  }

  function openEvents() {
    const source = new EventSource("/api/v1/events/sse");
    source.addEventListener("open", () => connected(true));
    for (const type of Object.keys(handlers)) source.addEventListener(type, (e) => receive(e.data));
    source.addEventListener("error", () => { source.close(); retry(); });
  }

  function retry() {
    failures++;
    if (failures > 1) connected(false);
    setTimeout(open, Math.min(30000, 500 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2));
  }

  showTimes(document);
  setInterval(() => { if (!document.hidden) showTimes(document); }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) showTimes(document); });
  open();
})();
