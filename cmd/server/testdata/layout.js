// layout.js is run in a page by TestBrowserPagesLookAsBefore. It defines two functions there: seen returns what a
// person sees of the page, and cut what of it they cannot see or press.

// settled makes the page the same on each machine: it is written in a font that the test brings along, and rests.
globalThis.settled = async (font) => {
  if (!globalThis.dressed) {
    const face = new FontFace("layout", `url(${font})`);
    document.fonts.add(await face.load());
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`*, ::before, ::after { font-family: layout !important; animation: none !important;
      transition: none !important; }`);
    document.adoptedStyleSheets.push(sheet);
    globalThis.dressed = true;
  }
  const frame = () => new Promise((done) => { requestAnimationFrame(done); });
  await frame();
  await frame();
};

const visible = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true });
// aloud are texts for screen readers only.
const aloud = (el) => {
  const { clipPath, position, width, height } = getComputedStyle(el);
  return position === "absolute" && (clipPath !== "none" || (parseFloat(width) <= 1 && parseFloat(height) <= 1));
};

const brush = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const mixed = new Map();
// hex returns a colour as #rrggbb; an empty one when nothing is to be seen of it.
function hex(colour) {
  if (!mixed.has(colour)) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
    mixed.set(colour, a < 16 ? "" : "#" + [r, g, b].map((n) => n.toString(16).padStart(2, "0")).join(""));
  }
  return mixed.get(colour);
}

const pressable = "a[href], button, input:not([type=hidden]), select, textarea, summary";
const kept = `header, nav, main, footer, section, article, aside, form, fieldset, table, ul, ol, dl, figure, img, pre,
  h1, h2, h3, button, input:not([type=hidden]), select, textarea, summary, details`;
const nameOf = (el) => el.localName + (el.classList.length ? "." + el.classList[0] : "");
const most = 2; // of siblings with one name: the others look like them
const deepest = 4;

// seen returns the boxes of a page, each below the one that it is in, relative to that one's corner. All pages have the
// same frame, so that one of them shows it.
globalThis.seen = (framed) => {
  const all = [];
  const look = (el, path, at, ink, depth) => {
    const counts = {};
    const inside = (parent) => {
      for (const child of parent.children) {
        const style = getComputedStyle(child), box = child.getBoundingClientRect();
        if (!visible(child) || child.localName === "svg" || aloud(child)) continue;
        const shown = child.matches(kept) || (child.classList.length && !style.display.startsWith("inline")
          && style.display !== "contents") || (child.matches("a.button"));
        if (!shown || box.width < 4 || box.height < 4) { inside(child); continue; }
        const name = nameOf(child), n = counts[name] = (counts[name] ?? 0) + 1;
        if (n > most) continue;
        const key = `${path}${name}${n > 1 ? " " + n : ""}`;
        const own = hex(style.color), lined = style.borderBottomStyle !== "none" && parseFloat(style.borderBottomWidth);
        const colours = [own === ink ? "" : own, hex(style.backgroundColor), lined ? hex(style.borderBottomColor) : ""];
        const one = { key, x: box.x - at.x, y: box.y - at.y, w: box.width, h: box.height,
          colours: colours.some(Boolean) ? colours.join("/") : "" };
        all.push(one);
        const before = all.length;
        look(child, key + " > ", box, own, depth + 1);
        const onlyText = all.length === before && child.innerText && !child.matches(pressable);
        if (onlyText) { // how long it is matters less than where it begins, or ends: that is less than zero
          const after = at.right - box.right;
          [one.x, one.w] = [after < one.x - 16 ? Math.min(-after, -1) : one.x, 0];
        }
        if (depth >= deepest) all.length = before;
      }
    };
    inside(el);
  };
  const root = framed ? document.body : document.querySelector("main");
  look(root, "", root.getBoundingClientRect(), hex(getComputedStyle(root).color), 0);
  return all;
};

const named = (el) => nameOf(el) + (el.id ? "#" + el.id : "") +
  ` “${(el.innerText ?? el.value ?? "").trim().replace(/\s+/g, " ").slice(0, 30)}”`;

// clips returns what hides the overflow of an element; a box that scrolls hides nothing.
function clips(el, axis) {
  for (let at = el; at && at !== document.documentElement; at = at.parentElement) {
    const style = getComputedStyle(at), over = style["overflow" + axis];
    if (over === "auto" || over === "scroll") return null;
    if (over === "hidden" || over === "clip") return at;
    if (style.position === "fixed") return null;
  }
  return null;
}

// roomy reports whether a field is as wide as what it says.
function roomy(el) {
  const { width } = el.getBoundingClientRect(), { style } = el, before = style.cssText;
  style.cssText += "; flex: none; width: max-content; min-width: 0; max-width: none";
  const needed = el.getBoundingClientRect().width;
  style.cssText = before;
  return width > needed - 2;
}

// whole reports whether the cut-off part of an element can still be read: in full elsewhere, or when it has the focus.
const whole = (el) => Boolean(el.closest("[title], [aria-label], [aria-hidden=true], .tip")) ||
  (getComputedStyle(el).textOverflow === "ellipsis" && el.closest("a, [tabindex], summary, li"));

// cut returns what is cut off on a page, wider than the screen, or above something else that can be pressed.
globalThis.cut = () => {
  const found = [];
  const shown = [...document.body.querySelectorAll("*")].filter((el) => visible(el) && !el.closest("svg *"));
  for (const el of shown) {
    const box = el.getBoundingClientRect();
    if (aloud(el) || el.closest(".skip") || box.width < 2 || box.height < 2) continue;
    const texts = [...el.childNodes].filter((n) => n.nodeType === 3 && n.data.trim());
    if (box.right > innerWidth + 1 && (texts.length || el.matches(pressable)) && !scrolled(el)) {
      found.push(`outside the screen: ${named(el)}`);
    }
    for (const n of texts) {
      const range = document.createRange();
      range.selectNodeContents(n);
      const text = range.getBoundingClientRect();
      for (const axis of ["X", "Y"]) {
        const by = clips(el, axis), frame = by?.getBoundingClientRect();
        if (!by || aloud(by) || whole(by) || whole(el)) continue;
        const lost = axis === "X" ? text.right - frame.right : text.bottom - frame.bottom - 4;
        if (lost > 2) found.push(`cut off by ${Math.round(lost)} px: ${named(el)} in ${nameOf(by)}`);
      }
    }
    if (el.matches("select, input:is([type=date], [type=datetime-local])") && !roomy(el)) {
      found.push(`too narrow for what it says: ${named(el)}`);
    }
  }
  const fixed = (el) => {
    for (let at = el; at; at = at.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(at).position)) return true;
    }
    return false;
  };
  const pressed = shown.filter((el) => el.matches(pressable) && !aloud(el) && !fixed(el))
    .map((el) => [el, [...el.getClientRects()]]);
  for (const [i, [a, boxes]] of pressed.entries()) {
    for (const [b, others] of pressed.slice(i + 1)) {
      if (a.contains(b) || b.contains(a)) continue;
      const over = boxes.some((p) => others.some((q) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 3 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3));
      if (over) found.push(`one above the other: ${named(a)} and ${named(b)}`);
    }
  }
  return [...new Set(found)];
};

function scrolled(el) {
  for (let at = el.parentElement; at; at = at.parentElement) {
    if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowX)) return true;
  }
  return false;
}
