// This script keeps a page up to date: it follows the user's events, shows toasts, replaces the parts of the page that
// have changed, and updates times and countdowns. Pages work without it, as they were when they were loaded.
"use strict";

(() => {
  if (document.body.dataset.live !== "yes") return;

  // ---- times --------------------------------------------------------------------------------------------------
  // The pages speak English and write days before months, so times do too, in the reader's own zone.
  const format = (options) => new Intl.DateTimeFormat("en-GB", options);
  const exact = format({ dateStyle: "medium", timeStyle: "medium" });
  const clock = format({ hour: "2-digit", minute: "2-digit" });
  const short = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const shortYear = format({ day: "numeric", month: "short", year: "numeric" });
  const longDate = format({ dateStyle: "long" });
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });

  const words = {
    ago(at, now) {
      const seconds = (now - at) / 1000;
      if (seconds < 45) return "just now";
      if (seconds < 3570) return relative.format(-Math.round(seconds / 60), "minute");
      if (seconds < 84600) return relative.format(-Math.round(seconds / 3600), "hour");
      return seconds < 300 * 86400 ? short.format(at) : shortYear.format(at);
    },
    until(at, now) {
      const s = Math.ceil((at - now) / 1000);
      const two = (n) => String(n).padStart(2, "0");
      if (s <= 0) return "now";
      if (s < 3600) return `in ${Math.floor(s / 60)}:${two(s % 60)}`;
      if (s < 86400) return `in ${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)} h`;
      return (at.getFullYear() === new Date(now).getFullYear() ? short : shortYear).format(at);
    },
    date: (at) => longDate.format(at),
    at: (at, now) => (at.toDateString() === new Date(now).toDateString() ? clock : short).format(at),
  };

  const tapped = new WeakMap(); // time element -> when it stops showing the exact time
  function showTimes(root) {
    const now = Date.now();
    for (const el of root.querySelectorAll("time[data-time]")) {
      const at = new Date(el.dateTime);
      const full = exact.format(at);
      const text = tapped.get(el) > now ? full : words[el.dataset.time](at, now);
      if (el.textContent !== text) el.textContent = text;
      if (el.title !== full) el.title = full;
    }
  }
  document.addEventListener("click", (e) => {
    const el = e.target.closest("time[data-time]");
    if (!el) return;
    tapped.set(el, Date.now() + 4000);
    showTimes(document);
  });

  // ---- copying ------------------------------------------------------------------------------------------------
  // Where the page came without TLS, browsers have no clipboard for it, and the old way is left.
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const el = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(el.textContent);
      } catch {
        getSelection().selectAllChildren(el);
        if (!document.execCommand("copy")) return;
      }
      button.textContent = button.dataset.copied ?? "Copied";
    });
  }

  // ---- parts of a page that can change --------------------------------------------------------------------
  // A page without parts of its own has only the bell and the banners, which are on every page.
  const here = document.querySelector("main [data-part]") ? location.pathname + location.search : "/";
  const pause = 1000; // milliseconds between two refreshes
  let timer = 0, fetching = false, again = false, last = 0;

  function refreshSoon() {
    if (fetching) again = true;
    else if (!timer) timer = setTimeout(refresh, Math.max(150, last + pause - Date.now()));
  }

  // The header says that a script asks, so that a message for the person is kept for the next page; and which page
  // asks, so that no banner appears above the page that solves its problem.
  const page = (address) => fetch(address, {
    headers: { Accept: "text/html", "X-Reprise-Refresh": location.pathname },
    redirect: "manual",
  });

  async function refresh() {
    timer = 0;
    fetching = true;
    try {
      let answer = await page(here);
      if (answer.status >= 400) answer = await page("/");
      if (answer.type === "opaqueredirect") location.assign(answer.url); // signed out, or the page is gone
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-part]")) {
        const next = fresh.getElementById(part.id);
        if (next) exchange(part, next);
      }
      showRuns();
    } catch {
      // The next event, or the next connection, tries again.
    } finally {
      last = Date.now();
      fetching = false;
      if (again) { again = false; refreshSoon(); }
    }
  }

  function exchange(part, next) {
    showTimes(next);
    const focus = part.contains(document.activeElement) ? document.activeElement : null;
    const around = focus ? [focus] : [];
    while (around.length && around.at(-1) !== part) around.push(around.at(-1).parentElement);
    morph(part, next);
    // If the focused element is gone, the focus moves to what surrounded it, not to the top of the page.
    // That is never a control: nobody must press what they did not choose.
    if (!focus || focus === document.activeElement) return;
    const takesFocus = (el) => el === focus || el.tabIndex === -1 && el.hasAttribute("tabindex");
    around.find((el) => el.isConnected && takesFocus(el))?.focus({ preventScroll: true });
  }

  // morph makes old equal to next and touches only what differs, so that the focus, open details and the selection
  // stay. Elements with an id match only themselves.
  function morph(old, next) {
    if (old.isEqualNode(next)) return;
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    let at = old.firstChild;
    for (const n of [...next.childNodes]) {
      const match = counterpart(at, n, old);
      if (!match) { old.insertBefore(document.adoptNode(n), at); continue; }
      if (n.id && match !== at) old.insertBefore(match, at);
      else while (at !== match) at = drop(at);
      if (n.nodeType === Node.ELEMENT_NODE) morph(match, n);
      else if (match.data !== n.data) match.data = n.data;
      at = match.nextSibling;
    }
    while (at) at = drop(at);
  }

  // counterpart finds the node, from at on, that n is the new version of.
  function counterpart(at, n, parent) {
    if (n.id) return [...parent.children].find((o) => o.id === n.id && o.nodeName === n.nodeName);
    if (n.nodeType !== Node.ELEMENT_NODE) return at?.nodeType === n.nodeType ? at : null;
    const like = (o) => !o.id && o.nodeName === n.nodeName && o.classList?.[0] === n.classList[0];
    for (let o = at; o && !o.id; o = o.nextSibling) if (like(o)) return o;
    return null;
  }

  function drop(node) {
    const following = node.nextSibling;
    node.remove();
    return following;
  }

  // ---- progress -----------------------------------------------------------------------------------------------
  const worthShowing = 1500; // milliseconds; a run that is over sooner would only flicker
  const runs = new Map(); // connection/stream -> { since, done, total }

  function showRuns() {
    for (const [key, run] of runs) {
      const box = document.querySelector(`[data-progress="${key}"]`);
      if (!box || (box.hidden && Date.now() - run.since < worthShowing)) continue;
      const bar = box.querySelector("progress");
      box.hidden = false;
      const total = run.total ? ` of ${run.total.toLocaleString("en")}` : "";
      box.querySelector(".figures").textContent = run.done.toLocaleString("en") + total;
      if (run.total) { bar.max = run.total; bar.value = run.done; } else { bar.removeAttribute("value"); }
    }
  }

  // ---- toasts -------------------------------------------------------------------------------------------------
  const seenKey = "reprise-announced";
  const announced = () => new Set(JSON.parse(localStorage.getItem(seenKey) || "[]"));
  const announce = (key) => localStorage.setItem(seenKey, JSON.stringify([...announced().add(key)].slice(-200)));
  const shown = new Map(); // notification id -> its toast
  const keyOf = (n) => `${n.id}/${n.created_at}`;

  // Characters that turn the direction of the text around them are not shown; a name in a sentence may hold some.
  const overrides = /[\u202a-\u202e\u2066-\u2069]/g;

  function element(tag, text, className) {
    const el = document.createElement(tag);
    if (text) {
      const sentence = document.createElement("bdi");
      sentence.dir = "ltr";
      sentence.textContent = text.replace(overrides, "");
      el.append(sentence);
    }
    if (className) el.className = className;
    return el;
  }

  function toast(severity, title, message, ...controls) {
    const box = element("div", "", `toast toast-${severity}`);
    box.tabIndex = -1;
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

  function hide(id) {
    const box = shown.get(id);
    const focused = box?.contains(document.activeElement);
    box?.remove();
    shown.delete(id);
    if (!focused) return;
    const next = document.querySelector("#toasts .toast:last-child") ?? document.getElementById("main");
    next.focus({ preventScroll: true });
  }

  function showNotification(n) {
    if (n.resolved_at || n.acknowledged_at) {
      hide(n.id);
      const solved = `${keyOf(n)}/solved`;
      const tell = n.resolved_at && !document.hidden && n.severity === "error";
      if (tell && announced().has(keyOf(n)) && !announced().has(solved)) {
        announce(solved);
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
    close.type = "button";
    close.addEventListener("click", () => { say({ type: "ack", data: { id: n.id } }); hide(n.id); });
    controls.push(close);
    shown.set(n.id, toast(n.severity, n.title, n.message, ...controls));
  }

  // ---- events -------------------------------------------------------------------------------------------------
  const handlers = {
    snapshot(data) {
      document.body.dataset.linked = "yes"; // the page is up to date, and follows what happens
      // A toast is said once in this browser; what stays open is on the page anyway.
      const known = announced();
      for (const n of data.notifications) if (!known.has(keyOf(n))) showNotification(n);
      for (const id of [...shown.keys()]) {
        if (!data.notifications.some((n) => n.id === id && !n.acknowledged_at)) hide(id);
      }
      runs.clear();
      refreshSoon();
    },
    connection(c) {
      for (const s of c.streams) if (s.state !== "syncing") runs.delete(`${c.id}/${s.stream}`);
      refreshSoon();
    },
    notification(n) { showNotification(n); refreshSoon(); },
    crowded(c) { crowded = c.most; },
    listens() { refreshSoon(); },
    deliveries() { refreshSoon(); },
    breakers() { refreshSoon(); },
    digest() { refreshSoon(); },
    enrichment(e) { runs.delete(`${e.provider}/enrichment`); refreshSoon(); },
    imports(i) { runs.delete(`${i.connection}/import`); refreshSoon(); },
    progress(p) {
      const key = `${p.connection}/${p.stream}`;
      runs.set(key, { since: runs.get(key)?.since ?? Date.now(), done: p.done, total: p.total });
      showRuns();
    },
  };

  function receive(text) {
    const m = JSON.parse(text);
    handlers[m.type]?.(m.data);
  }

  const link = document.getElementById("link");
  function connected(yes) {
    link.textContent = yes ? "" : "Not connected to the server; trying again.";
  }

  let socket = null, source = null, failures = 0;
  let crowded = 0; // how many pages may be open at once, when there are more and this one has made room
  function say(m) {
    if (socket?.readyState === WebSocket.OPEN) { socket.send(JSON.stringify(m)); return; }
    fetch(`/api/v1/notifications/${m.data.id}/ack`, { method: "POST" }).catch(() => {});
  }

  const openWithin = 10000; // milliseconds; some networks swallow a websocket's handshake
  function open() {
    // A network that breaks websockets lets Server-Sent Events through. Browsers allow few such streams to one server at a
    // time, over all tabs, so a hidden tab has none.
    if (failures >= 2 && failures % 2 === 0 && !document.hidden) { openEvents(); return; }
    const address = new URL("/api/v1/events", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const opening = socket = new WebSocket(address);
    const patience = setTimeout(() => opening.close(), openWithin);
    opening.addEventListener("open", () => { clearTimeout(patience); failures = 0; connected(true); });
    opening.addEventListener("message", (e) => receive(e.data));
    opening.addEventListener("close", (e) => {
      clearTimeout(patience);
      socket = null;
      if (e.code === 1008) refreshSoon(); // signed out; the refresh goes to the sign-in page
      retry();
    });
  }

  function openEvents() {
    source = new EventSource("/api/v1/events/sse");
    source.addEventListener("open", () => { failures = 1; connected(true); });
    for (const type of Object.keys(handlers)) source.addEventListener(type, (e) => receive(e.data));
    source.addEventListener("error", () => { closeEvents(); retry(); });
  }

  function closeEvents() {
    source?.close();
    source = null;
  }

  let waiting = 0;
  function retry() {
    if (crowded) {
      link.textContent = `More than ${crowded} pages of Reprise are open, so this one no longer updates itself. ` +
        "Close some of them, then reload it.";
      return;
    }
    failures++;
    if (failures > 1) { connected(false); refreshSoon(); } // the refresh also notices a session that has ended
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

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { closeEvents(); return; }
    showTimes(document);
    crowded = 0; // somebody looks at this page now
    openNow();
  });
  addEventListener("online", () => { if (!crowded) openNow(); });

  showTimes(document);
  setInterval(() => { if (!document.hidden) showTimes(document); }, 1000);
  open();
})();
