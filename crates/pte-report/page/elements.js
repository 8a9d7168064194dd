// Elements of the page, and texts: each text of the data becomes a text node in `nodes`.

// Characters that hide or reorder text, as in `diagnostics.rs`.
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const shown = (text) => String(text).replace(UNSAFE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : shown(value));
  }
  for (const node of nodes(children)) element.append(node);
  return element;
}
// Replaces the content of an element.
function replace(element, ...children) {
  element.replaceChildren();
  fill(element, {}, children);
}
// The largest number, and the least one, of a list of any length.
const largest = (list, of) => list.reduce((most, item) => Math.max(most, of(item)), -Infinity);
const least = (list, of) => -largest(list, (item) => -of(item));
// Elements and texts of a nested list, without what is absent.
function nodes(...children) {
  const present = children.flat(9).filter((child) => child !== undefined && child !== null && child !== false);
  return present.map((child) => (child instanceof Node ? child : document.createTextNode(shown(child))));
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Numbers with separators, and counts, which no line break divides.
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
const counted = (count, noun) => `${grouped(count)}\u00a0${noun}${count === 1 ? "" : "s"}`;
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = count;
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return unit === 0 ? `${count}\u00a0B` : `${size.toFixed(size < 10 ? 2 : 1)}\u00a0${units[unit]}`;
}
// A colour that depends on a text only.
function hue(text) {
  let hash = 0;
  for (const c of String(text)) hash = (hash * 31 + c.codePointAt(0)) % 360;
  return hash;
}
const colour = (text) => `hsl(${hue(text)} 55% ${matchMedia("(prefers-color-scheme: dark)").matches ? 34 : 76}%)`;

// The same hue, dark enough for a thin rectangle.
const strong = (text) => `hsl(${hue(text)} 60% ${matchMedia("(prefers-color-scheme: dark)").matches ? 58 : 62}%)`;

// Calls `draw` with the width of an element in pixels, now and when it changes.
function atWidth(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(element.clientWidth);
    if (now > 0 && now !== width) draw((width = now));
  }).observe(element);
  draw((width = Math.round(element.clientWidth) || 1000));
}
