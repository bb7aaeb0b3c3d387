// This module draws the charts of a page when they are first seen, in the colours and the language of the page.
import { uPlot } from "./uplot.js";
import { say, write } from "./words.js";

const sheet = document.createElement("link");
sheet.rel = "stylesheet";
sheet.href = new URL("./chart.css", import.meta.url);
document.head.append(sheet);

const height = 180; // pixels
const days = [1, 2, 4, 7].map((n) => n * 86400); // between the dates of an axis, in seconds
const language = document.documentElement.lang || "en";
const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
// English dates are those of the page: 9 Nov.
const dated = language === "en" ? "en-GB" : language;
const dayOnly = new Intl.DateTimeFormat(dated, { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat(dated, { dateStyle: "medium", timeStyle: "short" });
const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
const plots = new Map(); // figure -> { plot, data }

// colour returns a colour of the design as a canvas takes it.
function colour(figure, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  figure.append(probe);
  const text = getComputedStyle(probe).color;
  probe.remove();
  return text;
}

// columns turns hours into times, milliseconds for a call, and percent of calls that failed; hours without calls are
// gaps.
function columns(hours) {
  const byStart = new Map(hours.map((h) => [Date.parse(h.start) / 1000, h]));
  const times = [...byStart.keys()];
  const all = [[], [], []];
  for (let at = Math.min(...times); at <= Math.max(...times); at += 3600) {
    const h = byStart.get(at);
    const asked = h !== undefined && h.attempts > 0;
    all[0].push(at);
    all[1].push(asked ? h.mean_ms : null);
    all[2].push(asked && h.failures > 0 ? 100 * h.failure_rate : null);
  }
  return all;
}

// most returns where the axis of times ends: an outage in which calls took seconds does not make all others a line at
// the bottom.
function most(took) {
  const all = took.filter((ms) => ms != null).sort((a, b) => a - b);
  const usual = all[Math.floor(all.length / 2)] ?? 1;
  return 1.1 * Math.min(all.at(-1) || 1, Math.max(usual * 5, 10));
}

function draw(figure, data) {
  const [took, failed] = figure.dataset.series.split("|");
  const [line, bad, soft, grid] = ["accent", "bad", "soft", "line"].map((name) => colour(figure, name));
  const axis = { stroke: soft, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 },
    font: "12px system-ui, sans-serif" };
  const plot = new uPlot({
    width: figure.clientWidth, height,
    scales: { x: { time: true }, percent: { range: [0, 100] }, y: { range: [0, most(data[1])] } },
    series: [
      { value: (u, at) => (at == null ? "–" : write(exact, at * 1000)), label: say("time") },
      { label: took, stroke: line, width: 1.5, points: { show: false },
        value: (u, ms) => (ms == null ? "–" : `${number.format(ms)} ms`) },
      { label: failed, scale: "percent", stroke: bad, fill: bad, paths: uPlot.paths.bars({ size: [0.9, 12] }),
        points: { show: false }, value: (u, p) => (p == null ? "–" : share.format(p / 100)) },
    ],
    axes: [
      { ...axis, values: (u, all) => all.map((at) => write(dayOnly, at * 1000)), space: 70, incrs: days },
      { ...axis, values: (u, all) => all.map((ms) => `${number.format(ms)} ms`), size: 64 },
      { ...axis, scale: "percent", side: 1, grid: { show: false }, size: 52,
        values: (u, all) => all.map((p) => share.format(p / 100)) },
    ],
  }, data, figure);
  plots.set(figure, { plot, data });
}

async function show(figure) {
  try {
    const answer = await fetch(figure.dataset.chart, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { hours } = await answer.json();
    if (hours.length > 1) draw(figure, columns(hours));
  } catch {
    // Without an answer there is no chart; the numbers are on the page.
  }
}

function again(figure) {
  const known = plots.get(figure);
  known.plot.destroy();
  draw(figure, known.data);
}

const seen = new IntersectionObserver((entries) => {
  for (const e of entries) {
    if (!e.isIntersecting) continue;
    seen.unobserve(e.target);
    show(e.target);
  }
});
const resized = new ResizeObserver((entries) => {
  for (const e of entries) {
    const known = plots.get(e.target);
    const width = Math.floor(e.contentRect.width);
    if (known && width > 0 && width !== known.plot.width) known.plot.setSize({ width, height });
  }
});
// A part of the page that is brought up to date is as the server sent it: without what was drawn into it.
const emptied = new MutationObserver((changes) => {
  for (const figure of new Set(changes.map((c) => c.target))) {
    if (plots.has(figure) && !figure.querySelector(".uplot")) again(figure);
  }
});

function follow() {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    if (figure.dataset.followed) continue;
    figure.dataset.followed = "yes";
    seen.observe(figure);
    resized.observe(figure);
    emptied.observe(figure, { childList: true });
  }
}
follow();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => [...plots.keys()].forEach(again));
