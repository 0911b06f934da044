// The page's side of a panel: it asks the kernel for windows of rows and for details, and shows them. In a file, which has
// no kernel, `Stored` answers from the data in the page. Every text is set as text; nothing is fetched, and the browser
// keeps nothing but hidden columns, widths of columns and how times are shown.

const ROW = 32, CHUNK = 100, WAIT = 120, TICK = 3000, BUSY = 80, KEEP = "workbench-panel", PRINTED = 5000;
const WIDTHS = { id: 96, address: 132, time: 112, wall: 112, money: 124, number: 88, status: 168, text: 130 };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const GROUPS = [["", ["text", "status", "number"]], ["Amounts", ["money"]], ["References", ["id", "address"]], ["Times", ["time", "wall"]]];
const CLOCKS = { time: "by the sandbox's clock", wall: "by this machine's clock" };
const PLAIN = { id: null, chips: [], text: "", sort: [] }; // a list without a filter or an order
let panels = 0;

const isTime = (kind) => kind === "time" || kind === "wall", isNumber = (kind) => kind === "money" || kind === "number";

/** Make an element: `h("button", {class: "edge", onclick}, "Save")`. Strings become text. */
function h(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

const button = (look, onclick, text, more) => h("button", { class: look, onclick, ...more }, text);
const aside = (text) => h("span", { class: "quiet" }, text);
const grouped = (count) => count.toLocaleString("en");
const show = (where, ...children) => where.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
const sentence = (text) => text.replace(/\b(id|ip|mcc|ubo)\b/g, (one) => one.toUpperCase()).replace(/^./, (one) => one.toUpperCase());
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** Write a time in full, in a time zone: `2026-11-21 07:42:10 UTC`. */
function exact(text, zone = "UTC") {
  const at = new Date(text);
  if (!Number.isFinite(at.getTime())) return text;
  const words = at.toLocaleString("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  return `${words} ${zone}`;
}
const short = (text) => (text.length > 12 ? text.slice(0, 8) : text);
const middle = (text) => (text.length > 16 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text);

/** Say how long ago a time was, seen from `now`; the date, if that is more than a month. */
function ago(text, now) {
  const at = new Date(text), seconds = (now - at) / 1000, size = Math.abs(seconds);
  if (!Number.isFinite(size)) return text;
  const words = size < 45 ? "just now" : size < 3600 ? `${Math.round(size / 60)} min` : size < 86400 ? `${Math.round(size / 3600)} h`
    : size < 30 * 86400 ? `${Math.round(size / 86400)} d` : "";
  if (words === "just now") return words;
  if (words) return seconds > 0 ? `${words} ago` : `in ${words}`;
  return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

/** Split a filter into terms, as the kernel does: words, and comparisons with a column. */
const terms = (text) => text.match(/(?:\w+(?::|>=|<=|!=|=|>|<))?(?:"[^"]*"|\S+)/g) || [];
const compares = (term) => /^\w+(:|>=|<=|!=|=|>|<)./.test(term);

function kept(change) {
  let held = {};
  try {
    held = JSON.parse(localStorage.getItem(KEEP)) || {};
    if (change) {
      change(held);
      localStorage.setItem(KEEP, JSON.stringify(held));
    }
  } catch { /* a page without storage keeps nothing */ }
  return held;
}

// The model of a file

const COMPARE = { "=": (a, b) => a === b, "!=": (a, b) => a !== b, ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b };
const TERM = /(?:([\w.]*\w)(:|>=|<=|!=|=|>|<))?(?:"([^"]*)"|(\S+))/gu;

/** Read a filter as the kernel does: `status:declined amount>200 merchant:"Coats and More" coffee`. */
function parsed(text) {
  return [...text.matchAll(TERM)].map(([, name, compare, quoted, bare]) =>
    ({ column: name || null, compare: compare || ":", value: (quoted || bare || "").toLowerCase() })).filter((one) => one.value);
}

/** Write an amount of minor units: `1,234.56 USD`. */
function money(cents, currency, digits = 2) {
  const size = String(Math.abs(cents)).padStart(digits + 1, "0"), at = size.length - digits;
  const whole = size.slice(0, at).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${cents < 0 ? "-" : ""}${whole}${digits ? `.${size.slice(at)}` : ""} ${currency}`;
}

/** Write a text for a spreadsheet, which must not run it as a formula. */
function guarded(text) {
  const safe = /^ *[=+\-@\t\r\n＝＋－＠]|^'/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const number = (text) => { const value = String(text).replaceAll(",", ""); return value.trim() && Number.isFinite(Number(value)) ? Number(value) : null; };

const BINS = 8, MOST = 6, DIGITS = 6, PERIODS = [13, 10, 7, 4]; // periods of hours, days, months, years, by the length of their text

/** The distribution of values of a column: what is counted, how often, and the filter that shows it. */
function bars({ name, kind }, values, called) {
  if (!values.length) return [];
  if (isNumber(kind)) {
    const digits = kind === "money" ? 2 : Math.min(DIGITS, values.reduce((most, one) => Math.max(most, (String(one).split(".")[1] || "").length), 0));
    const units = values.map((one) => (kind === "money" ? Number(one) : Math.trunc(Number((Number(one) * 10 ** digits).toFixed(3)))));
    const sorted = [...units].sort((a, b) => a - b); // the last bin has the rest, too
    const low = sorted[0], high = sorted[Math.floor(sorted.length * 19 / 20)], step = Math.max(1, Math.ceil((high - low + 1) / BINS));
    const found = Array(BINS).fill(0), limit = (at) => (low + at * step) / 10 ** digits;
    for (const one of units) found[Math.min(BINS - 1, Math.floor((one - low) / step))] += 1;
    return found.map((count, at) => (at === BINS - 1 ? { label: `${limit(at)} and more`, count, filter: [`${name}>=${limit(at)}`] }
      : { label: `${limit(at)} to ${limit(at + 1)}`, count, filter: [`${name}>=${limit(at)}`, `${name}<${limit(at + 1)}`] }));
  }
  if (isTime(kind)) {
    const texts = values.map((one) => new Date(one).toISOString().replace("T", " "));
    for (const size of PERIODS) {
      const found = new Map();
      for (const text of texts) found.set(text.slice(0, size), (found.get(text.slice(0, size)) || 0) + 1);
      if (found.size <= 31 || size === 4) return [...found].sort().map(([label, count]) => ({ label, count, filter: [`${name}="${label}"`] }));
    }
  }
  const found = new Map();
  for (const one of values) found.set(one, (found.get(one) || 0) + 1);
  if (found.size > 1 && found.size === values.length) return [];
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MOST).map(([value, count]) =>
    ({ label: called(value), count, filter: String(value).includes('"') ? [] : [`${name}="${value}"`] }));
}

/** Write rows to be copied: "tsv" for a spreadsheet, "json", or "python". An amount is its minor units and their digits. */
function written({ columns, rows }, form) {
  if (form === "tsv") {
    const text = (value) => {
      if (value === null) return "";
      if (Array.isArray(value)) return (value[0] / 10 ** value[1]).toFixed(value[1]);
      return typeof value === "number" ? String(value) : (/^\s*[=+\-@]/.test(value) ? `'${value}` : value).replace(/[\t\r\n]+/g, " ");
    };
    return [columns.map((one) => one.label), ...rows.map((row) => row.map(text))].map((row) => row.join("\t")).join("\n");
  }
  const found = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at].name, Array.isArray(value) ? value[0] : value])));
  const json = JSON.stringify(found, null, 2);
  return form === "json" ? json : `rows = ${json.replace(/: null(,?)$/gm, ": None$1")}`;
}

/** What a file has: lists of rows, filtered, sorted and shown as the kernel would. */
class Stored {
  constructor(data) {
    this.data = data;
    this.views = {};
    this.lists = new Map(data.lists.map((one) => [one.name, one]));
    for (const list of this.lists.values()) {
      list.values = list.stored.map((one) => (one.of ? one.at.map((place) => (place === null ? null : one.of[place])) : one.at));
      list.currency = list.columns.findIndex((one) => one.name === "currency");
      list.own = Math.max(0, list.columns.findIndex((one) => one.kind === "id" && !one.to));
    }
  }

  on(event, act) { if (event === "msg:custom") this.heard = act; }
  off() { this.heard = () => {}; }

  send(asked) {
    let answer;
    try { answer = this[asked.do.replace(" ", "_")](asked); } catch (error) { answer = { error: error.message }; }
    queueMicrotask(() => this.heard({ answer: asked.ask, ...answer }));
  }

  start() { return { ...this.data.info, lists: this.data.lists.map(({ name, label }) => ({ name, label })) }; }
  overview() { return { tiles: this.data.tiles }; }
  tick() { return { stamp: "", changed: false }; }
  close_form() { return {}; }

  id(list, row) { return list.ids ? list.ids[row] : String(list.values[list.own]?.[row] ?? row); }

  /** Find the number of a column by its name, its beginning, or a part of it. */
  place(list, name) {
    const wanted = name.toLowerCase().replaceAll(" ", "_"), label = (one) => one.label.toLowerCase().replaceAll(" ", "_");
    for (const test of [(text) => text === wanted, (text) => text.startsWith(wanted), (text) => text.includes(wanted)]) {
      const found = list.columns.findIndex((one) => test(one.name) || test(label(one)));
      if (found >= 0) return found;
    }
    return null;
  }

  /** A value as the text that is searched and compared. */
  plain(list, row, place) {
    const value = list.values[place][row], kind = list.columns[place].kind;
    if (value === null) return "";
    return isTime(kind) ? exact(value) : String(value);
  }

  name(list, value, place) { return list.columns[place].to ? this.data.names[value] : undefined; }

  shown(list, row, place) {
    const value = list.values[place][row], { kind } = list.columns[place];
    if (value === null) return "";
    if (kind === "status") return `${value} ${this.data.statuses[value][2]}`;
    if (kind === "money" && typeof value === "number") return this.amount(list, row, value);
    const name = kind === "id" ? this.name(list, value, place) : undefined;
    return name ? `${name} ${value}` : this.plain(list, row, place);
  }

  code(list, row) { return (list.currency >= 0 && list.values[list.currency][row]) || "USD"; }

  amount(list, row, cents) {
    const code = this.code(list, row);
    return money(cents, code.toUpperCase(), this.data.digits[code]);
  }

  fits(list, { column, compare, value }) {
    const place = column === null ? null : this.place(list, column);
    if (place === null) {
      const text = column === null ? value : `${column}${compare}${value}`.toLowerCase();
      list.searched ??= list.values[0].map((_, row) => list.columns.map((_each, at) => this.shown(list, row, at)).join("\x1f").toLowerCase());
      return (row) => list.searched[row].includes(text);
    }
    if (compare === ":") return (row) => this.shown(list, row, place).toLowerCase().includes(value);
    const { kind } = list.columns[place], test = COMPARE[compare];
    if (isNumber(kind)) {
      const typed = number(value), wanted = typed === null || kind === "number" ? typed : Number((typed * 100).toFixed(2));
      if (wanted === null) return () => false;
      return (row) => { const found = number(list.values[place][row] ?? ""); return found !== null && test(found, wanted); };
    }
    const size = isTime(kind) ? value.length : undefined; // 2026-01 covers the month
    return (row) => { const text = this.plain(list, row, place).toLowerCase().slice(0, size); return text !== "" && test(text, value); };
  }

  /** The numbers of the rows that pass a filter, in an order; rows without a value come last. */
  order(list, filter, sort) {
    let rows = [...(list.values[0] || []).keys()];
    for (const term of parsed(filter)) rows = rows.filter(this.fits(list, term));
    for (const key of [...sort].reverse()) {
      const place = this.place(list, key.replace(/^-/, "")), back = key.startsWith("-") ? -1 : 1;
      const values = list.values[place].map((value) => this.name(list, value, place) ?? value);
      const given = rows.filter((row) => values[row] !== null);
      const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      const numbers = given.every((row) => number(values[row]) !== null);
      given.sort((a, b) => back * (numbers ? Number(values[a]) - Number(values[b]) : less(values[a], values[b])));
      rows = [...given, ...rows.filter((row) => values[row] === null)];
    }
    return rows;
  }

  cell(list, row, place) {
    const value = list.values[place][row], { kind } = list.columns[place];
    if (value === null || value === "") return "";
    if (kind === "status") return this.data.statuses[value].slice(0, 2);
    if (isTime(kind)) return new Date(value).toISOString();
    const name = kind === "id" ? this.name(list, value, place) : undefined;
    return name ? { id: value, name } : this.shown(list, row, place);
  }

  rows({ list: name, filter, sort, first, count, more }) {
    const list = this.lists.get(name), key = `${filter}\n${sort}`;
    if (list.key !== key) [list.key, list.ordered] = [key, this.order(list, filter, sort)];
    const rows = list.ordered.slice(first, first + count).map((row) => ({ id: this.id(list, row), new: false, cells: list.columns.map((_, place) => this.cell(list, row, place)) }));
    const { columns } = list, names = new Set(parsed(filter).map((one) => one.column));
    const unknown = [...names].filter((one) => /^\p{L}/u.test(one ?? "") && this.place(list, one) === null);
    const notes = [...list.notes, ...unknown.map((one) => `No column is called ${one}: it is searched as text.`)];
    return more ? { list: name, first, rows } : { list: name, first, rows, shown: list.ordered.length, all: (list.values[0] || []).length, notes, columns, sums: this.sums(list, list.ordered), actions: [], views: this.views[name] || {} };
  }

  /** The sums of the amounts of rows, by column and currency. */
  sums(list, rows) {
    return list.columns.flatMap((one, place) => {
      if (one.kind !== "money") return [];
      const totals = new Map();
      for (const row of rows) {
        const value = list.values[place][row], code = this.code(list, row).toUpperCase();
        if (typeof value === "number") totals.set(code, (totals.get(code) || 0) + value);
      }
      return totals.size ? [[one.label, [...totals].sort().map(([code, cents]) => money(cents, code, this.data.digits[code])).join(" + ")]] : [];
    });
  }

  /** How the values of each column are distributed, of the rows that pass the filter. */
  summary({ list: name }) {
    const list = this.lists.get(name), columns = {};
    list.columns.forEach((one, place) => {
      const values = list.ordered.map((row) => list.values[place][row]), given = values.filter((value) => value !== null);
      columns[one.name] = { missing: values.length - given.length, bars: bars(one, given, (value) => this.called(list, value, place)) };
    });
    return { columns };
  }

  called(list, value, place) {
    const { kind } = list.columns[place];
    return kind === "status" ? this.data.statuses[value][2] : (kind === "id" && this.name(list, value, place)) || String(value);
  }

  select({ list: name, places }) {
    const list = this.lists.get(name), rows = places.map((place) => list.ordered[place]);
    return { count: rows.length, sums: this.sums(list, rows), mean: this.mean(list, rows) };
  }

  mean(list, rows) {
    const first = list.columns.findIndex((one) => one.kind === "money");
    const known = rows.filter((row) => typeof list.values[first]?.[row] === "number"), code = (row) => this.code(list, row).toUpperCase();
    if (new Set(known.map(code)).size !== 1) return "";
    const total = known.reduce((sum, row) => sum + list.values[first][row], 0);
    return money(Math.floor((2 * total + known.length) / (2 * known.length)), code(known[0]), this.data.digits[code(known[0])]);
  }

  values({ list: name, places }) {
    const list = this.lists.get(name), shown = [...list.columns.entries()].filter(([, one]) => one.kind !== "hidden");
    const value = (row, place, kind) => {
      const found = list.values[place][row];
      if (found === null) return null;
      if (kind === "money" && typeof found === "number") return [found, this.data.digits[this.code(list, row)] ?? 2];
      return isTime(kind) ? new Date(found).toISOString() : found;
    };
    return { columns: shown.map(([, one]) => one), rows: places.map((at) => shown.map(([place, one]) => value(list.ordered[at], place, one.kind))) };
  }

  row(list, id) {
    const found = (list.values[0] || []).findIndex((_, row) => this.id(list, row) === id);
    if (found < 0) throw new Error(`${list.label} has no ${id}`);
    return found;
  }

  details({ list: name, id }) {
    const list = this.lists.get(name), row = this.row(list, id);
    const facts = list.columns.map((one, place) => ({ ...one, value: this.cell(list, row, place) })).filter((one) => one.kind !== "hidden" && one.value !== "");
    const links = Object.entries(this.data.linked[name] || {}).filter(([to]) => this.lists.has(to)).map(([to, column]) => ({ list: to, filter: `${column}=${id}` }));
    return { list: name, id, facts, links, fields: null, actions: [], timeline: [], states: null, events: [], deliveries: [], requests: [] };
  }

  find({ id, to }) {
    const names = [to, ...this.lists.keys()].filter((name) => this.lists.has(name));
    const list = names.find((name) => (this.lists.get(name).values[0] || []).some((_, row) => this.id(this.lists.get(name), row) === id));
    if (!list) throw new Error(`${id} is not in this file`);
    return { list, id };
  }

  view({ list, name, view }) {
    const { [name]: _, ...others } = this.views[list] || {};
    this.views[list] = view ? { ...others, [name]: view } : others;
    return { views: this.views[list] };
  }

  /** Save the rows shown, in their order, as a file of values separated by commas. */
  export({ list: name }) {
    const list = this.lists.get(name), rows = list.ordered || [];
    const lines = [list.columns.map((one) => guarded(one.name)), ...rows.map((row) => list.columns.map((one, place) =>
      (typeof list.values[place][row] === "number" && one.kind !== "time" ? String(list.values[place][row]) : guarded(this.plain(list, row, place)))))];
    const address = URL.createObjectURL(new Blob([`${lines.map((line) => line.join(",")).join("\r\n")}\r\n`], { type: "text/csv" }));
    const link = h("a", { href: address, download: `${name.replaceAll(" ", "-")}.csv` });
    link.click();
    URL.revokeObjectURL(address);
    return { text: `${grouped(rows.length)} rows in ${link.download}` };
  }
}

function render({ model, el }) {
  const uid = `wbp-${++panels}`, waiting = new Map();
  let asked = 0, busy = 0, dead = false, info = null, stamp = null, drawn = 0, timer = 0;
  let view = { list: "overview", ...PLAIN };
  let chosen = new Set(), anchor = 0; // the places of the selected rows, and where a range begins
  let past = [], future = [], data = null, cache = new Map(), pending = new Set(), active = 0, opened = null, formView = null, clock = Date.now();
  const asides = { time: () => clock, wall: () => Date.now() };
  const zone = () => ({ UTC: "UTC", here: HERE })[kept().times];

  // the parts of the page

  const hide = h("style");
  const headline = h("div", { class: "head" });
  const line = h("div", { class: "say", role: "status", hidden: true });
  const nav = h("nav", { "aria-label": "Lists" });
  const search = h("input", { class: "search", type: "search", "aria-label": "Search or filter", placeholder: "Search, or status:declined amount>200   ( / )" });
  const buttons = h("div", { class: "buttons" }), tools = h("div", { class: "tools" }, search, buttons), chips = h("div", { class: "chips" }), inputs = h("div", { class: "inputs" });
  const notes = h("div", { class: "notes quiet" });
  const heads = h("div", { role: "rowgroup", class: "heads" }), rows = h("div", { role: "rowgroup", class: "rows" });
  const grid = h("div", { class: "grid", role: "grid", tabindex: 0 }, heads, rows);
  const foot = h("div", { class: "foot", role: "status" });
  const tiles = h("div", { class: "tiles", role: "group", "aria-label": "Overview", tabindex: 0 });
  const main = h("div", { class: "main-part" });
  const drawer = h("div", { class: "drawer", role: "region", "aria-label": "Details", tabindex: -1, hidden: true });
  drawer.style.display = "none";
  const root = h("div", { class: "wbp", "data-lm-suppress-shortcuts": "true", hidden: true }, hide, headline, line,
    h("div", { class: "body" }, nav, h("div", { class: "work" }, main, drawer)));
  el.replaceChildren(root);

  // asking the kernel

  function ask(what, more = {}) {
    if (dead) return Promise.reject(new Error(""));
    const number = ++asked;
    if (what !== "tick" && !busy) busy = setTimeout(() => root.setAttribute("aria-busy", "true"), BUSY);
    return new Promise((resolve, reject) => {
      waiting.set(number, { what, resolve, reject });
      model.send({ ask: number, do: what, ...more });
    });
  }

  function rest() {
    if ([...waiting.values()].some((one) => one.what !== "tick")) return;
    clearTimeout(busy);
    busy = 0;
    root.removeAttribute("aria-busy");
  }

  function heard(message) {
    if (message.event === "changed") { stamp = message.stamp; refresh(true); }
    if (message.event === "go" && info) go({ list: message.list, ...PLAIN, id: message.id || null, chips: terms(message.filter || "") });
    const waiter = waiting.get(message.answer);
    if (!waiter) return;
    waiting.delete(message.answer);
    rest();
    if (message.error) { say(message.error, true); waiter.reject(new Error("")); } else waiter.resolve(message);
  }

  /** Do something that asks the kernel; its errors are already told. */
  const quietly = (act) => (...given) => Promise.resolve(act(...given)).catch((error) => { if (error.message) say(error.message, true); });

  function died() {
    if (dead) return;
    dead = true;
    clearInterval(timer);
    waiting.clear();
    rest();
    root.classList.add("dead");
    say("The kernel stopped: this shows what was read before.", true);
    const place = el.closest(".jp-CodeCell");
    if (place) line.append(button("main again", () => runAgain(place), "Run the cell again"));
  }

  /** Run the cell of this panel, as Ctrl+Enter does in its notebook. */
  function runAgain(place) {
    place.querySelector(".jp-InputPrompt").dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
    place.tabIndex = -1;
    place.focus();
    place.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true }));
  }

  function say(text, wrong = false) {
    line.hidden = !text;
    line.style.display = text ? "" : "none";
    line.className = wrong ? "say wrong" : "say";
    show(line, h("span", {}, text), button("edge", () => say(""), "×", { "aria-label": "Dismiss message" }));
  }
  say("");

  // values

  function cell(value, column, whole = false) {
    if (Array.isArray(value)) return h("span", { class: `pill ${value[1]}` }, value[0]);
    if (value === "" || value === null) return "";
    if (isTime(column.kind)) {
      const words = ago(value, asides[column.kind]()), full = exact(value, zone());
      return h("span", { title: `${zone() ? words : full}, ${CLOCKS[column.kind]}` }, whole ? `${words} · ${full}` : zone() ? full : words);
    }
    if (column.kind === "id" || column.kind === "address") {
      const id = value.id || value, text = value.name || (whole ? id : column.kind === "id" ? short(id) : middle(id));
      const shown = column.to
        ? button(value.name ? "link" : "link mono", (event) => { event.stopPropagation(); follow(id, column.to); }, text, { title: id, tabindex: whole ? 0 : -1 })
        : h("span", { class: "mono", title: id }, text);
      return whole ? h("span", { class: "ref" }, shown, value.name ? h("span", { class: "mono quiet", title: id }, short(id)) : null, copier(id)) : shown;
    }
    if (column.kind === "number" && /\.\d{5}/.test(value)) return h("span", { title: value }, Number(value).toFixed(4)); // a rate
    return String(value);
  }

  const copier = (text) => h("button", { class: "copy icon edge", "aria-label": `Copy ${text}`, title: "Copy", onclick: quietly(async (event) => {
    await navigator.clipboard.writeText(text);
    event.target.classList.add("done");
  }) });

  // navigation

  function go(next, remember = true) {
    if (remember && (next.list !== view.list || next.id !== view.id)) { past.push(view); future = []; }
    const list = next.list !== view.list, same = !list && String(next.sort) === String(view.sort) && full(next) === full(view);
    view = next;
    search.value = view.text;
    if (list) { data = null; active = 0; grid.scrollTop = 0; }
    drawNav();
    addressed();
    if (view.list === "overview") { drawOverview(); closeDrawer(); return; }
    if (!same || !data) load({});
    if (view.id) openDetails(view.id); else closeDrawer();
  }

  /** Keep the view in the address of a file, which is the same when it is loaded again. */
  function addressed() {
    if (info.as_of) history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(view))}`);
  }

  function remembered() {
    try {
      const { list, chips, text, sort, id } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      if ((list === "overview" && info.overview) || info.lists.some((one) => one.name === list)) return { list, chips: chips.map(String), text: String(text), sort: sort.map(String), id: id && String(id) };
    } catch { /* the address of the file has no view */ }
    return null;
  }

  function step(from, to) {
    if (!from.length) return;
    to.push(view);
    go(from.pop(), false);
  }

  const follow = quietly(async (id, to) => {
    const found = await ask("find", { id, to });
    go({ list: found.list, ...PLAIN, id: found.id });
  });

  function drawNav() {
    const places = info.overview === false ? info.lists : [{ name: "overview", label: "Overview" }, ...info.lists];
    show(nav, places.map((one) => h("button", {
      "aria-current": one.name === view.list ? "page" : false,
      onclick: () => go({ list: one.name, ...PLAIN }),
    }, one.label)));
  }

  function drawHead() {
    const back = button("edge", () => step(past, future), "←", { "aria-label": "Back" });
    const forth = button("edge", () => step(future, past), "→", { "aria-label": "Forward" });
    show(headline, back, forth, h("strong", {}, "Workbench"), info.environment ? h("span", { class: `where ${info.environment}` }, info.environment.toUpperCase()) : null,
      info.tenant ? h("span", { class: "tenant" }, `Tenant ${info.tenant}`) : null, h("span", { class: "quiet host" }, info.host), info.key ? h("span", { class: "quiet key" }, `key ${info.key}`) : null,
      h("span", { class: "quiet far clock" }, info.clock && !info.as_of ? `Sandbox clock ${exact(info.clock, zone())}` : ""), times(),
      info.as_of ? button("edge theme", theme, "Light or dark") : button("edge refresh", () => refresh(true, true), "Refresh"));
  }

  /** How times are shown: how long ago, in UTC, or in the time zone of the browser. */
  function times() {
    const now = kept().times || "ago", ways = { ago: "Times: ago", UTC: "Times: UTC", ...(HERE === "UTC" ? {} : { here: `Times: ${HERE}` }) };
    return h("select", { class: "times", "aria-label": "How times are shown", onchange: (event) => { kept((held) => { held.times = event.target.value; }); drawHead(); refresh(true); } },
      Object.entries(ways).map(([value, text]) => h("option", { value, selected: value === now }, text)));
  }

  function theme() {
    const page = document.documentElement, dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    page.dataset.theme = dark ? "light" : "dark";
  }

  // the overview

  const drawOverview = quietly(async () => {
    show(main, tiles);
    const answer = await ask("overview");
    show(tiles, answer.tiles.map((one) => h("div", { class: "tile-of" }, button("tile", () => go({ list: one.list, ...PLAIN, chips: terms(one.filter) }),
      [aside(one.label), h("b", {}, one.figure), aside(one.note)]),
    one.column && !info.as_of ? button("link explain", () => explain(one), "Explain", { "aria-label": `Explain ${one.label}` }) : null)));
  });

  /** Open the list of what a number is made of. */
  const explain = quietly(async (number) => {
    const found = await ask("explain", number);
    if (!label(found.name)) info.lists.push(found);
    data = null;
    go({ list: found.name, ...PLAIN });
  });

  // the table

  const full = (one) => [...one.chips, one.text.trim()].filter(Boolean).join(" ");
  const question = (first) => ({ list: view.list, filter: full(view), sort: view.sort, first, count: CHUNK });

  const load = quietly(async ({ again = false, values = undefined, keep = false }) => {
    const turn = ++drawn, list = view.list;
    const first = keep ? Math.floor(grid.scrollTop / ROW / CHUNK) * CHUNK : 0;
    const answer = await ask("rows", { ...question(first), again, inputs: values });
    if (turn !== drawn || list !== view.list) return;
    const fresh = !data || data.list !== list;
    data = answer;
    if (!keep) chosen = new Set();
    cache = new Map(answer.rows.map((row, place) => [answer.first + place, row]));
    pending = new Set();
    if (!keep) { active = 0; grid.scrollTop = 0; }
    if (main.firstChild !== tools) show(main, tools, chips, inputs, notes, grid, foot);
    if (fresh) drawTools();
    drawInputs();
    drawChips();
    drawTable();
  });

  const more = quietly(async (first) => {
    const turn = drawn;
    pending.add(first);
    const answer = await ask("rows", { ...question(first), more: true });
    if (turn !== drawn) return;
    answer.rows.forEach((row, place) => cache.set(answer.first + place, row));
    drawRows();
  });

  const pinned = () => kept().pinned?.[view.list];
  /** The columns shown: the pinned one is the first, and does not scroll. */
  function columns() {
    const first = pinned(), not = hidden();
    const shown = data.columns.map((one, place) => ({ ...one, place, look: `cell${isNumber(one.kind) ? " right" : ""}${one.name === first ? " pinned" : ""}` }));
    return shown.filter((one) => one.kind !== "hidden" && !not.has(one.name)).sort((a, b) => (b.name === first) - (a.name === first));
  }
  const hidden = () => new Set(kept().hidden?.[view.list] || []);
  const width = (column) => kept().widths?.[view.list]?.[column.name] || Math.max((zone() && CLOCKS[column.kind] ? 176 + 7 * (zone().length - 3) : WIDTHS[column.kind]) || WIDTHS.text, 8.8 * column.label.length + 40);

  /** Give every column its width, and what is left to those of text, the same for heads and rows. */
  function layOut() {
    const shown = columns(), texts = shown.filter((one) => one.kind === "text" && !kept().widths?.[view.list]?.[one.name]);
    const spare = Math.max(0, grid.clientWidth - shown.reduce((sum, one) => sum + width(one), 0));
    const share = texts.length ? Math.floor(spare / texts.length) : 0;
    root.style.setProperty("--wbp-columns", shown.map((one) => `${width(one) + (texts.includes(one) ? share : 0)}px`).join(" "));
  }

  function drawTable() {
    const order = new Map(view.sort.map((one) => [one.replace(/^-/, ""), one.startsWith("-") ? "descending" : "ascending"]));
    const shown = columns();
    show(heads, !shown.length ? null : h("div", { class: "row", role: "row", "aria-rowindex": 1 }, shown.map((one) => {
      const way = order.get(one.name);
      return h("div", { class: one.look, role: "columnheader", "aria-sort": way || "none" },
        button(`sort-${one.name}`, (event) => sort(one.name, event.shiftKey), one.label + (way ? (way === "ascending" ? " ▲" : " ▼") : ""), { title: `Sort by ${one.label}; with Shift as a further column. Shift and an arrow change its width.`, onkeydown: (event) => nudge(event, one) }),
        h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => drag(event, one) }));
    })));
    grid.hidden = !shown.length;
    layOut();
    grid.setAttribute("aria-label", `${label()}, ${data.shown} rows`);
    grid.setAttribute("aria-rowcount", data.shown + 1);
    rows.style.height = `${data.shown * ROW}px`;
    show(notes, data.notes.map((one) => h("div", {}, one)));
    const some = grouped(data.shown), all = `${grouped(data.all)} row${data.all === 1 ? "" : "s"}`;
    const none = !data.shown && full(view);
    show(foot, h("span", { class: "count" }, none ? "0 matches" : data.shown === data.all ? all : `${some} of ${all}`),
      none ? button("edge clear", () => filter([], ""), "Clear filter") : null, sums(data.sums));
    drawSummary();
    drawRows();
  }

  /** The sums of the amounts shown: of all columns on hover, of the first and the last in sight. */
  const sums = (found) => (!found?.length ? null : h("span", { class: "sums quiet far", title: found.map((one) => one.join(" ")).join("\n") },
    [found[0], ...found.slice(1).slice(-1)].map((one) => `Σ ${one.join(" ")}`).join(" · ")));

  // the distribution of each column

  const drawSummary = quietly(async () => {
    heads.querySelector(".summary")?.remove();
    if (!kept().summary || !data.shown || data.first === undefined) return;
    const turn = drawn, answer = await ask("summary", question(0));
    if (turn !== drawn || heads.querySelector(".summary")) return;
    const shown = columns();
    heads.append(h("div", { class: "row summary", role: "row" }, shown.map((one) => {
      const { missing, bars: found } = answer.columns[one.name], most = Math.max(1, ...found.map((bar) => bar.count));
      return h("div", { class: one.look, role: "gridcell", title: missing ? `${grouped(missing)} without a value` : null }, found.map((bar) => {
        const text = `${bar.label}: ${grouped(bar.count)} rows`;
        const pressed = (event) => (event.shiftKey && !info.as_of ? explain({ list: view.list, filter: [full(view), ...bar.filter].join(" "), column: one.kind === "money" ? one.name : "" })
          : filter([...view.chips, ...bar.filter], view.text));
        const made = button("bar", pressed, "", { title: info.as_of ? text : `${text}; Shift explains`, "aria-label": `Show ${text}`, disabled: !bar.filter.length || !bar.count });
        made.style.setProperty("--size", `${Math.round(100 * bar.count / most)}%`);
        return made;
      }));
    })));
  });

  // rows that are selected

  const range = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, at) => Math.min(from, to) + at);

  function choose(place, event) {
    if (event.shiftKey) chosen = new Set(range(anchor, place));
    else { if (chosen.has(place)) chosen.delete(place); else chosen.add(place); anchor = place; }
    active = place;
    drawRows();
    told();
  }

  const told = quietly(async () => {
    const places = [...chosen].sort((a, b) => a - b), turn = drawn;
    const answer = await ask("select", { ...question(0), places });
    if (turn !== drawn) return;
    foot.querySelector(".chosen")?.remove();
    if (!places.length) return;
    foot.append(h("span", { class: "chosen" }, `${grouped(answer.count)} selected`, answer.sums[0] ? ` · Σ ${answer.sums[0].join(" ")}` : "", answer.mean ? ` · mean ${answer.mean}` : "",
      ["tsv", "json", "python"].map((form) => button("edge", () => copy(form), { tsv: "Copy", json: "Copy as JSON", python: "Copy as Python" }[form]))));
  });

  const copy = quietly(async (form) => {
    const places = chosen.size ? [...chosen].sort((a, b) => a - b) : [active];
    await navigator.clipboard.writeText(written(await ask("values", { ...question(0), places }), form));
    say(`Copied ${grouped(places.length)} row${places.length === 1 ? "" : "s"}.`);
  });

  function drawRows() {
    if (!data || view.list === "overview") return;
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 8);
    const last = Math.min(data.shown, first + Math.ceil(grid.clientHeight / ROW) + 16);
    const shown = columns(), made = [];
    for (let place = first; place < last; place++) {
      const row = cache.get(place);
      if (!row) {
        const chunk = Math.floor(place / CHUNK) * CHUNK;
        if (!pending.has(chunk)) more(chunk);
        continue;
      }
      const box = h("div", { class: `row${row.new ? " new" : ""}${place === active ? " active" : ""}${chosen.has(place) ? " chosen" : ""}`, role: "row", id: `${uid}-${place}`,
        "aria-rowindex": place + 2, "aria-selected": chosen.has(place) },
        shown.map((one) => h("div", { class: one.look, role: "gridcell", title: one.kind === "text" ? row.cells[one.place] : one.kind === "status" ? row.cells[one.place][0] : null }, cell(row.cells[one.place], one))));
      box.style.top = `${place * ROW}px`;
      made.push(box);
    }
    show(rows, made);
    if (data.shown) grid.setAttribute("aria-activedescendant", `${uid}-${active}`);
    else grid.removeAttribute("aria-activedescendant");
  }

  const label = (list = view.list) => info.lists.find((one) => one.name === list)?.label;

  function drawTools() {
    const popup = (text, name, build) => button(`edge ${name}`, (event) => toggle(event.currentTarget, build), text, { "aria-haspopup": "true" });
    shut();
    show(buttons, data.actions.map((one) => button("edge do", () => act(one, true), one.label)),
      button("edge summarize", (event) => {
        kept((held) => { held.summary = !held.summary; });
        event.currentTarget.setAttribute("aria-pressed", Boolean(kept().summary));
        drawSummary();
      }, "Summary", { "aria-pressed": Boolean(kept().summary) }), popup("Columns and views", "choose", chooser), popup("Export", "export", exporter));
  }

  function drawChips() {
    show(chips, view.chips.map((one, place) => button("chip", () => filter(view.chips.filter((_, other) => other !== place), view.text), `${one} ×`, { "aria-label": `Remove filter ${one}` })));
  }

  function drawInputs() {
    if (!data.inputs) return show(inputs);
    if (inputs.childElementCount && inputs.contains(document.activeElement)) return;
    const boxes = data.inputs.map((one) => {
      const value = data.values[one.name];
      const box = one.choices
        ? h("select", { class: `in-${one.name}` }, one.choices.map((each) => h("option", { value: each, selected: each === value }, each || "Earned and redeemed")))
        : h("input", { class: `in-${one.name}`, list: one.options ? `${uid}-${one.name}` : false, placeholder: one.hint });
      if (!one.choices) box.value = value;
      const options = one.options ? h("datalist", { id: `${uid}-${one.name}` }, one.options.map((each) => h("option", { value: each }))) : null;
      return { name: one.name, box, row: h("label", {}, one.label, box, options) };
    });
    const read = () => load({ values: Object.fromEntries(boxes.map((one) => [one.name, one.box.value])) });
    show(inputs, boxes.map((one) => one.row), button("main read", read, "Read rewards"));
    return undefined;
  }

  function sort(name, further) {
    const now = view.sort.find((one) => one.replace(/^-/, "") === name);
    const next = now === undefined ? [name] : now === name ? [`-${name}`] : [];
    const others = further ? view.sort.filter((one) => one !== now) : [];
    view = { ...view, sort: [...others, ...next] };
    addressed();
    load({});
  }

  function filter(terms_, text) {
    view = { ...view, chips: terms_, text };
    addressed();
    if (search.value !== text) search.value = text;
    load({});
  }

  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => filter(view.chips, search.value), WAIT);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(typing);
      const found = terms(search.value);
      filter([...view.chips, ...found.filter(compares)], found.filter((one) => !compares(one)).join(" "));
    } else if (event.key === "ArrowDown") grid.focus();
    else if (event.key === "Backspace" && !search.value && view.chips.length) filter(view.chips.slice(0, -1), "");
  });

  function drag(event, column) {
    event.preventDefault();
    event.stopPropagation();
    const start = event.clientX, grip = event.target, from = grip.parentElement.offsetWidth;
    grip.setPointerCapture(event.pointerId);
    grip.onpointermove = (move) => widen(column, from + move.clientX - start);
    grip.onpointerup = () => { grip.onpointermove = null; };
  }

  function widen(column, pixels) {
    kept((held) => { ((held.widths ??= {})[view.list] ??= {})[column.name] = Math.max(48, Math.round(pixels)); });
    layOut();
  }

  function nudge(event, column) {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!event.shiftKey || event.altKey || !step) return;
    event.preventDefault();
    widen(column, event.currentTarget.parentElement.offsetWidth + step);
  }

  // menus

  /** Close the open menu, and return it. */
  function shut() {
    const pop = tools.querySelector(".pop");
    pop?.remove();
    return pop;
  }

  function toggle(button, build) {
    const old = shut();
    if (old?.dataset.of === button.textContent) return;
    const pop = h("div", { class: "pop", role: "group", "aria-label": button.textContent, "data-of": button.textContent,
      onkeydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); pop.remove(); button.focus(); } } }, build());
    tools.append(pop);
    pop.querySelector("button, input")?.focus();
  }

  function chooser() {
    const name = h("input", { "aria-label": "Name of the view", placeholder: "Name of the view" });
    const keep = async (which, one) => { data.views = (await ask("view", { list: view.list, name: which, view: one })).views; };
    const save = quietly(async () => {
      const which = name.value.trim();
      if (!which) return name.focus();
      await keep(which, { chips: view.chips, text: view.text, sort: view.sort, hidden: [...hidden()] });
      shut();
      say(`Saved the view ${which}.`);
      return undefined;
    });
    const use = (one) => {
      kept((held) => { (held.hidden ??= {})[view.list] = one.hidden; });
      shut();
      view = { ...view, sort: one.sort };
      filter(one.chips, one.text);
    };
    const forget = quietly(async (which, row) => { await keep(which, null); row.remove(); });
    return [h("h3", {}, "Columns"), ...data.columns.filter((one) => one.kind !== "hidden").map((one) => {
      const box = h("input", { type: "checkbox" });
      box.checked = !hidden().has(one.name);
      box.addEventListener("change", () => {
        kept((held) => {
          const now = new Set(held.hidden?.[view.list] || []);
          if (box.checked) now.delete(one.name); else now.add(one.name);
          (held.hidden ??= {})[view.list] = [...now];
        });
        drawTable();
      });
      const pin = () => { kept((held) => { (held.pinned ??= {})[view.list] = one.name === pinned() ? null : one.name; }); shut(); drawTable(); };
      return h("div", {}, h("label", {}, box, one.label), button("copy", pin, one.name === pinned() ? "Unpin" : "Pin", { "aria-label": `Pin ${one.label}`, "aria-pressed": one.name === pinned() }));
    }), h("h3", {}, "Views"), ...Object.entries(data.views).map(([which, one]) => {
      const row = h("div", {}, h("button", { onclick: () => use(one) }, which));
      row.append(button("copy", () => forget(which, row), "Delete", { "aria-label": `Delete view ${which}` }));
      return row;
    }), h("div", { class: "actions" }, name, button("edge", save, "Save view"))];
  }

  function exporter() {
    const names = { csv: "CSV", xlsx: "Excel", parquet: "Parquet" };
    const write = quietly(async (file) => {
      shut();
      say((await ask("export", { list: view.list, file })).text);
    });
    const python = quietly(async () => {
      const { code } = await ask("export", { list: view.list, file: "python" });
      const pop = tools.querySelector(".pop");
      if (pop) show(pop, h("h3", {}, "This view in Python"), h("pre", { tabindex: 0 }, code), copier(code));
      pop?.querySelector("pre").focus();
    });
    return [h("div", { class: "quiet" }, "The rows shown, in their order"), ...info.files.map((one) => h("button", { onclick: () => write(one) }, names[one] || one)),
      info.as_of ? null : h("button", { onclick: python }, "As Python")];
  }

  // the drawer

  function open(id) { go({ ...view, id }); drawRows(); }

  function unfold(open = true) {
    drawer.hidden = !open;
    drawer.style.display = open ? "" : "none";
  }

  function closeDrawer() {
    if (opened || formView) ask("close form").catch(() => {});
    dropForm();
    opened = null;
    unfold(false);
    show(drawer);
  }

  function dropForm() {
    formView?.remove();
    formView = null;
  }

  function header(title) {
    return h("header", {}, h("h2", {}, title), button("edge close", () => { go({ ...view, id: null }); closeDrawer(); grid.focus(); }, "×", { "aria-label": "Close details" }));
  }

  const openDetails = quietly(async (id, keepForm = false) => {
    const list = view.list;
    if (!keepForm) dropForm();
    const answer = await ask("details", { list, id });
    if (list !== view.list || id !== view.id) return;
    opened = answer;
    const held = keepForm ? drawer.querySelector(".formed") : null;
    unfold();
    const lost = drawer.contains(document.activeElement) && !held?.contains(document.activeElement); // what had the focus is replaced
    const title = answer.facts.find((one) => one.kind === "text" && one.value)?.value || answer.id;
    show(drawer, header(String(title)), actions(answer), held || h("section", { class: "formed", hidden: true }), facts(answer), timeline(answer), states(answer), related(answer),
      folded("Events", answer.events, (one) => h("pre", { tabindex: 0 }, one.json), "event"),
      folded("Deliveries", answer.deliveries, (one) => sheet(one.fields), "delivery"), folded("Requests", answer.requests, (one) => sheet(one.fields), "request"),
      record(answer));
    if (!keepForm) { drawer.scrollTop = 0; drawer.scrollIntoView({ block: "nearest" }); }
    if (lost) drawer.focus();
  });

  function actions(answer) {
    if (!answer.actions.length) return null;
    return h("section", { class: "actions", "aria-label": "Actions" }, answer.actions.map((one) => button("edge do", () => act(one, false), one.label)));
  }

  function facts(answer) {
    const groups = GROUPS.map(([title, kinds]) => [title, answer.facts.filter((one) => kinds.includes(one.kind))]).filter(([, found]) => found.length);
    return h("section", { class: "facts" }, groups.map(([title, found]) => [title ? h("h3", {}, title) : null,
      h("dl", {}, found.map((one) => [h("dt", {}, one.label), h("dd", {}, cell(one.value, one, true),
        one.explain ? [" ", button("link explain", () => explain({ list: answer.list, id: answer.id, column: one.name }), "Explain", { "aria-label": `Explain ${one.label}` })] : null)]))]));
  }

  function related(answer) {
    if (!answer.links.length) return null;
    return h("section", { class: "related" }, h("h3", {}, "Related"), h("div", { class: "actions" }, answer.links.map((one) => button("link", () => go({ list: one.list, ...PLAIN, chips: [one.filter] }), label(one.list)))));
  }

  function timeline(answer) {
    if (!answer.timeline.length) return null;
    return h("section", {}, h("h3", {}, "Timeline"), h("ol", { class: "timeline" }, answer.timeline.map((one) =>
      h("li", {}, h("span", {}, one.title), h("span", { class: "amount" }, one.amount || ""), h("span", { class: "quiet", title: one.at ? exact(one.at, zone()) : "" }, one.at ? (zone() ? exact(one.at, zone()) : ago(one.at, clock)) : "")))));
  }

  function states(answer) {
    if (!answer.states) return null;
    const draw = ([tag, props, text, inner]) => {
      const made = document.createElementNS(answer.states.space, tag);
      for (const [name, value] of Object.entries(props)) made.setAttribute(name, value);
      made.append(text, ...inner.map(draw));
      return made;
    };
    return h("section", { class: "states", tabindex: 0, role: "region", "aria-label": "States" }, h("h3", {}, "States"), draw(answer.states.drawing));
  }

  function folded(title, found, build, to) {
    if (!found.length) return null;
    return h("section", { class: `related-${title.toLowerCase()}` }, h("h3", {}, `${title} (${found.length})`), found.map((one) =>
      h("details", {}, h("summary", {}, one.title, " ", aside(one.at ? exact(one.at) : "")),
        one.id === view.id ? null : button("link", () => follow(one.id, title.toLowerCase()), `Open ${to}`), build(one))));
  }

  function record(answer) {
    const { fields } = answer;
    if (!fields) return null;
    const file = fields.code?.length > 0, inner = h("div", {}, sheet(fields));
    const unmask = button("edge reveal", quietly(async () => {
      const shown = await ask("reveal", { list: answer.list, id: answer.id });
      show(inner, h("div", { class: "warn" }, `Shown for ${shown.seconds} seconds; recorded in the journal.`), sheet(shown.fields));
      unmask.hidden = true;
      setTimeout(() => { show(inner, sheet(fields)); unmask.hidden = false; }, shown.seconds * 1000);
    }), "Show private values for 60 s");
    return h("section", {}, h("details", { open: file }, h("summary", {}, file ? "File" : "All fields"), answer.private ? unmask : null, inner));
  }

  function sheet(one) {
    const text = one.lines?.join("\n");
    if (UUID.test(text) && text !== view.id) return button("link mono", () => follow(text, "any"), text);
    if (text !== undefined) return one.role.startsWith("status") ? h("span", { class: "pill other" }, text) : text;
    if (one.columns) {
      return h("table", {}, h("thead", {}, h("tr", {}, one.columns.map((each) => h("th", {}, each)))),
        h("tbody", {}, one.rows.map((row) => h("tr", {}, row.map((each) => h("td", {}, sheet(each)))))));
    }
    return h("div", {}, [...one.words, ...one.notes].map((each) => h("div", { class: "quiet" }, each)), one.code.map((each) => h("pre", { tabindex: 0 }, each)),
      h("dl", {}, one.rows.map((each) => [
        h("dt", {}, sentence(each.label)), h("dd", {}, sheet(each.value), each.warning ? h("div", { class: "warn" }, each.warning) : null,
          each.assumed ? h("details", { class: "quiet" }, h("summary", {}, "assumed"), each.assumed) : null)])));
  }

  // actions

  const act = quietly(async (one, forList) => {
    if (one.control) return askFor(one);
    if (forList) { view = { ...view, id: null }; opened = null; }
    const answer = await ask("form", { do_what: one.do, for_list: forList });
    if (answer.list) return go({ list: answer.list, ...PLAIN });
    const child = await model.widget_manager.get_model(answer.model);
    const made = await child.widget_manager.create_view(child);
    dropForm();
    formView = made;
    unfold();
    if (forList) show(drawer, header(one.label), h("section", { class: "formed" }));
    const place = drawer.querySelector(".formed");
    place.hidden = false;
    show(place, h("div", { class: "bar" }, h("h3", {}, forList ? "" : one.label), button("edge close-form", quietly(async () => {
      await ask("close form");
      dropForm();
      if (forList) closeDrawer(); else { show(place); place.hidden = true; }
    }), "Close form")));
    if (made.luminoWidget) made.luminoWidget.constructor.attach(made.luminoWidget, place);
    else place.append(made.el);
    place.scrollIntoView({ block: "nearest" });
    place.querySelector("input:not([disabled]), select, textarea")?.focus();
    return undefined;
  });

  /** Ask for what a control of the sandbox takes, where it takes more than the id. */
  function askFor(one) {
    const place = drawer.querySelector(".formed");
    dropForm();
    place.hidden = false;
    const boxes = one.asks.map((each) => {
      if (Array.isArray(each.wants)) return [each, h("select", {}, each.wants.map((choice) => h("option", { value: choice }, choice)))];
      if (each.wants !== "money") return [each, h("input", { placeholder: "optional" })];
      const cents = h("span", { class: "quiet cents" });
      const box = h("input", { placeholder: "12.50, empty for the default", inputmode: "decimal", oninput: () => {
        const typed = box.value.trim(), found = /^(\d{1,15})\.(\d\d)$/.exec(typed);
        cents.textContent = found ? `= ${Number(found[1] + found[2]).toLocaleString("en")} cents` : typed ? "write it as 12.50" : "";
      } });
      return [each, box, cents];
    });
    const run = quietly(async () => {
      const values = Object.fromEntries(boxes.map(([each, box]) => [each.name, box.value]));
      const answer = await ask("control", { do_what: one.do, values });
      show(place);
      place.hidden = true;
      say(answer.text);
    });
    show(place, h("h3", {}, `${one.label} in the sandbox`), h("div", { class: "ask" },
      boxes.map(([each, ...parts]) => h("label", {}, each.label, parts)), button("main run", run, one.label)));
    place.querySelector("input, select, button").focus();
  }

  // keys, changes, life

  root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // a notebook has shortcuts of its own
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !inField && view.list !== "overview") { event.preventDefault(); search.focus(); }
    else if (event.key === "Escape" && !drawer.hidden && !inField) { go({ ...view, id: null }); closeDrawer(); grid.focus(); }
    else if (event.altKey && event.key === "ArrowLeft") { event.preventDefault(); step(past, future); }
    else if (event.altKey && event.key === "ArrowRight") { event.preventDefault(); step(future, past); }
  });
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || !data?.shown || event.altKey) return;
    const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: data.shown - 1 };
    if (event.key === " ") { event.preventDefault(); choose(active, { shiftKey: false }); }
    else if (event.key === "c" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); copy("tsv"); }
    else if (event.key in moves) {
      event.preventDefault();
      const from = active;
      active = Math.min(Math.max(moves[event.key], 0), data.shown - 1);
      const top = active * ROW;
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top + 3 * ROW > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + 3 * ROW - grid.clientHeight;
      if (event.shiftKey) { if (!chosen.size) anchor = from; choose(active, event); } else drawRows();
    } else if (event.key === "Enter" && cache.get(active)) open(cache.get(active).id);
  });
  rows.addEventListener("click", (event) => { // by its place: rows may be drawn anew between press and release
    if (event.target.closest("button")) return;
    const place = Math.floor((event.clientY - rows.getBoundingClientRect().top) / ROW);
    if (!cache.get(place)) return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) return choose(place, event);
    active = anchor = place;
    open(cache.get(place).id);
  });
  let frame = 0;
  grid.addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(drawRows); });
  const resized = new ResizeObserver(() => { if (data && view.list === data.list) { layOut(); drawRows(); } });
  resized.observe(grid);

  /** Show what is there now; `again` reads the list again in the kernel. */
  function refresh(keep, again = false) {
    if (dead) return;
    if (view.list === "overview") drawOverview();
    else load({ keep, again });
    if (view.id) openDetails(view.id, Boolean(formView) || !drawer.querySelector(".formed")?.hidden);
  }

  let ticking = false;
  const tick = async () => {
    if (ticking || dead || document.hidden || !root.isConnected) return;
    ticking = true;
    try {
      const answer = await ask("tick", { stamp });
      if (answer.clock) { clock = new Date(answer.clock).getTime(); info.clock = answer.clock; headline.querySelector(".clock").textContent = `Sandbox clock ${exact(answer.clock, zone())}`; }
      if (answer.changed && stamp !== answer.stamp) { stamp = answer.stamp; refresh(true, view.list !== "rewards"); }
    } catch { /* told already */ }
    ticking = false;
  };

  model.on("msg:custom", heard);
  model.on("comm_live_update", died);
  quietly(async () => {
    info = await ask("start"); // a page without its kernel has the static view
    root.hidden = false;
    stamp = info.stamp;
    hide.textContent = `.${info.static} { display: none; }`;
    if (info.clock) clock = new Date(info.clock).getTime();
    drawHead();
    go((info.as_of && remembered()) || { list: info.list, ...PLAIN, id: info.id, chips: terms(info.filter || "") }, false);
    if (!info.as_of) timer = setInterval(tick, TICK);
    if (info.every) setTimeout(() => location.reload(), info.every * 1000);
  })();
  return () => { clearInterval(timer); resized.disconnect(); model.off("msg:custom", heard); model.off("comm_live_update", died); };
}

/** Show the data of a file: the rows sort, filter and open without a kernel, and are printed as a table. */
function open_file(data, el) {
  const stored = new Stored(data), still = h("table", { class: "print" });
  render({ model: stored, el });
  el.append(still);
  addEventListener("beforeprint", () => {
    const list = [...stored.lists.values()].find((one) => one.name === (el.querySelector(".grid")?.getAttribute("aria-label") || "").split(",")[0].toLowerCase()) || data.lists[0];
    if (!list) return;
    const places = [...list.columns.keys()].filter((place) => list.columns[place].kind !== "hidden");
    const text = (row, place) => { const value = stored.cell(list, row, place); return Array.isArray(value) ? value[0] : value.name || { time: exact, id: short, address: middle }[list.columns[place].kind]?.(value) || String(value); };
    show(still, h("thead", {}, h("tr", {}, places.map((place) => h("th", {}, list.columns[place].label)))),
      h("tbody", {}, (list.ordered || stored.order(list, "", [])).slice(0, PRINTED).map((row) => h("tr", {}, places.map((place) => h("td", {}, text(row, place)))))));
  });
}

export { Stored, bars, written, exact, guarded, money, open_file, parsed };
export default { render };
