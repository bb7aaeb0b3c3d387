// Times in the reader's language and zone: how long ago, how long until then, a time of day, a date. They stay true
// while the page is open.
import { language, say, write, zone } from "./words.js";

const locale = language === "en" ? "en-GB" : language; // days before months, as the pages write them
const make = (options) => {
  try {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
  } catch { // a zone that this browser does not know
    return new Intl.DateTimeFormat(locale, options);
  }
};
const exact = make({ dateStyle: "medium", timeStyle: "medium" });
const clock = make({ hour: "2-digit", minute: "2-digit" });
const short = make({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const shortYear = make({ day: "numeric", month: "short", year: "numeric" });
const longDate = make({ dateStyle: "long" });
const day = make({ year: "numeric", month: "numeric", day: "numeric" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "always" });
const brief = new Intl.RelativeTimeFormat(locale, { numeric: "always", style: "short" });
const phone = matchMedia("(max-width: 40rem)"); // where a time stands beside a title
const past = (n, unit) => (phone.matches ? brief : relative).format(-Math.round(n), unit);
const sameDay = (a, b) => day.format(a) === day.format(b);

const kinds = {
  ago(at, now) {
    const seconds = (now - at) / 1000;
    if (seconds < 45) return say("just_now");
    if (seconds < 3570) return past(seconds / 60, "minute");
    if (seconds < 84600) return past(seconds / 3600, "hour");
    return seconds < 300 * 86400 ? write(short, at) : write(shortYear, at);
  },
  until(at, now) {
    const s = Math.ceil((at - now) / 1000);
    const two = (n) => String(n).padStart(2, "0");
    if (s <= 0) return say("now");
    if (s < 3600) return say("in", { Time: `${Math.floor(s / 60)}:${two(s % 60)}` });
    if (s < 86400) return say("in_hours", { Time: `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}` });
    return write(at.getFullYear() === new Date(now).getFullYear() ? short : shortYear, at);
  },
  date: (at) => write(longDate, at),
  clock: (at) => clock.format(at),
  at: (at, now) => write(sameDay(at, now) ? clock : short, at),
};

const tapped = new WeakMap(); // time element -> when it stops showing the exact time

// span is a stretch of time in words, such as "14:00–14:30".
export const span = (from, to) => clock.formatRange ? clock.formatRange(from, to) : clock.format(from);

export function showTimes(root) {
  const now = Date.now();
  for (const el of root.querySelectorAll("time[data-time]")) {
    const at = new Date(el.dateTime);
    const full = write(exact, at);
    const text = tapped.get(el) > now ? full : (kinds[el.dataset.time] ?? kinds.at)(at, now);
    if (el.textContent !== text) el.textContent = text;
    if (el.title !== full) el.title = full;
  }
}

// A sentence from the server names times as RFC 3339 stamps; timed returns it with times that people read.
export function timed(sentence) {
  const stamps = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
  return sentence.replace(stamps, (stamp) => kinds.at(new Date(stamp), Date.now()));
}

// The server groups by days, so it has to know the zone of a browser whose person has not chosen one. Another tab may
// be in another zone, so each tells it again before it asks. tellZone returns whether the page has the days of another
// zone. The cookie can't tell: the page before may have set it while this one was on its way.
export function tellZone() {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone || !own) return false;
  const cookie = `reprise_zone=${encodeURIComponent(own)}`;
  const kept = `Path=/; Max-Age=34560000; SameSite=Lax${location.protocol === "https:" ? "; Secure" : ""}`;
  document.cookie = `${cookie}; ${kept}`;
  return own !== document.documentElement.dataset.days;
}

export function keepTimes() {
  document.addEventListener("click", (e) => {
    const el = e.target.closest("time[data-time]");
    if (!el) return;
    tapped.set(el, Date.now() + 4000);
    showTimes(document);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) showTimes(document); });
  phone.addEventListener("change", () => showTimes(document));
  showTimes(document);
  document.body.dataset.timed = "yes"; // rows need no longer hold their height
  setInterval(() => { if (!document.hidden) showTimes(document); }, 1000);
}
