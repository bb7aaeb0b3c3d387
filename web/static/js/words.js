// The sentences of scripts, in the language of the page, and numbers as that language writes them.
const block = document.getElementById("words");
const sentences = block ? JSON.parse(block.textContent) : {};

export const language = document.documentElement.lang || "en";

// The reader's time zone; undefined for that of the browser.
export const zone = document.documentElement.dataset.zone || undefined;

// root is the path of base_url, which this script's own address has in front of "/static/"; empty without one.
const root = new URL("..", import.meta.url).pathname.slice(0, -1);

// at returns the address of a path of ours.
export const at = (path) => (path.startsWith("/") ? root + path : path);

// say returns a sentence with its arguments filled in: say("of", { Done: "5", Total: "9" }).
export function say(id, values = {}) {
  return (sentences[id] ?? id).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

// write returns a date as a format of Intl writes it, but for the first of a month: in French that is "1er".
export const write = (format, at) => format.formatToParts(at)
  .map((part) => (part.type === "day" && part.value === "1" ? say("first") : part.value)).join("");

const figures = new Intl.NumberFormat(language);
export const number = (n) => figures.format(n);
