// Elements of the page, and formats of texts, amounts and times. Every text is inserted as text, never as HTML.

const isTime = (kind) => kind === "time" || kind === "wall", isNumber = (kind) => kind === "money" || kind === "number";
const SVG = "http://www.w3.org/2000/svg"; // an XML namespace, not a link
const isNothing = (value) => value === undefined || value === null || value === false;

/** Make an element: `h("button", {class: "edge", onclick}, "Save")`. Strings become text. */
function h(tag, props = {}, ...children) {
  const made = props.drawing ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (isNothing(value)) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name !== "drawing") made.setAttribute(name, value === true ? "" : value);
  }
  show(made, ...children);
  return made;
}

/** Make an element from the kernel's description, which is a text, or a tag with properties and content. */
const drawn = (part, within) => {
  if (!Array.isArray(part)) return part;
  const drawing = within || part[0] === "svg";
  return h(part[0], { ...part[1], drawing }, part.slice(2).map((each) => drawn(each, drawing)));
};

/** Make a button. `more` is a label that differs from the text, or further properties. */
const button = (look, onclick, text, more) => h("button", { class: look, onclick, ...(more?.at ? { "aria-label": more } : more) }, text);
const title = (text) => h("h3", {}, text);
const span = (look, ...children) => h("span", { class: look }, ...children);
const div = (look, ...children) => h("div", { class: look }, ...children);
const option = ([value, text], now) => h("option", { value, selected: value === now }, text);
const aside = (text) => span("quiet", text);
const show = (parent, ...children) => parent.replaceChildren(...children.flat(Infinity).filter((child) => !isNothing(child) && child !== ""));

const grouped = (count) => count.toLocaleString("en");
const rowsOf = (count) => `${grouped(count)} row${count === 1 ? "" : "s"}`;
const short = (text) => (text.length > 12 ? text.slice(0, 8) : text);
const middle = (text) => (text.length > 16 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text);
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** Format a time in full, with its time zone: `2026-11-21 07:42:10 UTC`. */
function exact(text, zone = "UTC") {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return `${at.toLocaleString("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" })} ${zone}`;
}

/** Return how long before `now` a time was, or its date if that is more than a month. */
function ago(text, now) {
  const at = new Date(text), seconds = (now - at) / 1000, size = Math.abs(seconds);
  if (Number.isNaN(size)) return text;
  if (size < 45) return "just now";
  const [unit, name] = size < 3600 ? [60, "min"] : size < 86400 ? [3600, "h"] : [86400, "d"], words = `${Math.round(size / unit)} ${name}`;
  if (size < 30 * 86400) return seconds > 0 ? `${words} ago` : `in ${words}`;
  return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

/** Format an amount in minor units: `1,234.56 USD`. */
function money(cents, currency, digits = 2) {
  const size = String(cents).replace("-", "").padStart(digits + 1, "0"), at = size.length - digits;
  const main = size.slice(0, at).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${cents < 0 ? "-" : ""}${main}${digits ? `.${size.slice(at)}` : ""} ${currency}`;
}

const KEEP = "workbench-panel";
const kept = () => { try { return JSON.parse(localStorage.getItem(KEEP)) || {}; } catch { return {}; } };
const keep = (name, value) => { try { localStorage.setItem(KEEP, JSON.stringify({ ...kept(), [name]: value })); } catch { /* the page may have no storage */ } };

/** Download a text as a file. */
function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

export { HERE, ago, aside, button, div, download, drawn, exact, grouped, h, isNumber, isTime, keep, kept, middle, money, option, rowsOf, short, show, span, title };
