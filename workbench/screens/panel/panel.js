// The page's side of a panel, which shows the rows of a kernel or of a file (`Stored`). Every text is set as text, nothing is
// fetched, and the browser keeps only which columns are hidden and pinned, their widths, and how times are shown.

const ROW = 32, CHUNK = 100, WAIT = 120, TICK = 3000, BUSY = 80, KEEP = "workbench-panel", PRINTED = 5000;
const WIDTHS = { id: 96, address: 132, time: 112, wall: 112, money: 124, number: 88, status: 168, text: 130 };
const GROUPS = [["", ["text", "status", "number"]], ["Amounts", ["money"]], ["References", ["id", "address"]], ["Times", ["time", "wall"]]];
const CLOCKS = { time: "by the sandbox's clock", wall: "by this machine's clock" };
const PLAIN = { id: null, chips: [], text: "", sort: [], group: "", unfolded: [] }; // a list without a filter, an order or groups
let panels = 0;

const isTime = (kind) => kind === "time" || kind === "wall", isNumber = (kind) => kind === "money" || kind === "number";

/** Make an element: `h("button", {class: "edge", onclick}, "Save")`. Strings become text. */
function h(tag, props = {}, ...children) {
  const made = props.xmlns ? document.createElementNS(props.xmlns, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (isNothing(value)) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  show(made, ...children);
  return made;
}

/** Make what the kernel describes: a text, or tag, properties and content of an element. */
const drawn = (one) => (Array.isArray(one) ? h(one[0], one[1], one.slice(2).map(drawn)) : one);

/** Make a button; `more` is its label, if that is not its text, or further properties. */
const button = (look, onclick, text, more) => h("button", { class: look, onclick, ...(more?.at ? { "aria-label": more } : more) }, text);
const title = (text) => h("h3", {}, text);
const span = (look, ...children) => h("span", { class: look }, ...children);
const option = ([value, text], now) => h("option", { value, selected: value === now }, text);
const aside = (text) => span("quiet", text);
const grouped = (count) => count.toLocaleString("en");
const rowsOf = (count) => `${grouped(count)} row${count === 1 ? "" : "s"}`;
const bare = (key) => key.replace(/^-/, ""); // the column of an order, which may descend
const isNothing = (value) => value === undefined || value === null || value === false;
const show = (where, ...children) => where.replaceChildren(...children.flat(Infinity).filter((one) => !isNothing(one) && one !== ""));
const div = (look, ...children) => h("div", { class: look }, ...children);
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** Write a time in full, in a time zone: `2026-11-21 07:42:10 UTC`. */
function exact(text, zone = "UTC") {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return `${at.toLocaleString("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" })} ${zone}`;
}
const short = (text) => (text.length > 12 ? text.slice(0, 8) : text);
const middle = (text) => (text.length > 16 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text);

/** Say how long ago a time was, seen from `now`; the date, if that is more than a month. */
function ago(text, now) {
  const at = new Date(text), seconds = (now - at) / 1000, size = Math.abs(seconds);
  if (Number.isNaN(size)) return text;
  if (size < 45) return "just now";
  const [unit, name] = size < 3600 ? [60, "min"] : size < 86400 ? [3600, "h"] : [86400, "d"], words = `${Math.round(size / unit)} ${name}`;
  if (size < 30 * 86400) return seconds > 0 ? `${words} ago` : `in ${words}`;
  return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

const kept = () => { try { return JSON.parse(localStorage.getItem(KEEP)) || {}; } catch { return {}; } };
const keep = (name, value) => { try { localStorage.setItem(KEEP, JSON.stringify({ ...kept(), [name]: value })); } catch { /* a page without storage */ } };

const COMPARE = { "=": (a, b) => a === b, "!=": (a, b) => a !== b, ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b };
const TERM = /(?:([\w.]*\w)(:|>=|<=|!=|=|>|<))?(?:"([^"]*)"|(\S+))/gu;

/** Read a filter as the kernel does: `status:declined amount>200 merchant:"Coats and More" coffee`. */
function parsed(text) {
  return [...text.matchAll(TERM)].map(([, name, compare, quoted, bare]) =>
    ({ column: name || null, compare: compare || ":", value: (quoted || bare || "").toLowerCase() })).filter((one) => one.value);
}

/** The terms of a filter as they are typed: words, and comparisons with a column. */
const terms = (text) => text.match(TERM) || [];
const compares = (term) => parsed(term)[0]?.column;

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

function tally(values) {
  const counts = new Map();
  for (const one of values) counts.set(one, (counts.get(one) || 0) + 1);
  return counts;
}

/** A time as text, and how much of it names the periods of some times. */
const stamped = (at) => new Date(at).toISOString().replace("T", " ");
const period = (times) => PERIODS.find((size) => new Set(times.map((at) => stamped(at).slice(0, size))).size <= 31) || 4;

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
    return found.map((count, at) => {
      const last = at === BINS - 1, to = limit(at + 1);
      return { label: `${limit(at)} ${last ? "and more" : `to ${to}`}`, count, filter: [`${name}>=${limit(at)}`, ...(last ? [] : [`${name}<${to}`])] };
    });
  }
  if (isTime(kind)) {
    const size = period(values);
    return [...tally(values.map((one) => stamped(one).slice(0, size)))].sort().map(([label, count]) => ({ label, count, filter: [`${name}="${label}"`] }));
  }
  const found = tally(values);
  if (found.size > 1 && found.size === values.length) return [];
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MOST).map(([value, count]) =>
    ({ label: called(value), count, filter: String(value).includes('"') ? [] : [`${name}="${value}"`] }));
}

/** Write rows to be copied: "tsv" for a spreadsheet, "json", or "python". */
function written({ columns, rows }, form) {
  if (form === "tsv") {
    const text = (value) => {
      if (value === null) return "";
      if (Array.isArray(value)) return (value[0] / 10 ** value[1]).toFixed(value[1]);
      return typeof value === "number" ? value : (/^\s*[=+\-@]/.test(value) ? `'${value}` : value).replace(/[\t\r\n]+/g, " ");
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
    this.tables = new Map();
    this.lists = new Map(data.lists.map((one) => [one.name, one]));
    for (const list of data.lists) {
      list.columns.forEach((one, number) => {
        const { of, at } = list.stored[number];
        one.values = of ? at.map((place) => (place === null ? null : of[place])) : at;
      });
      list.rows = [...(list.columns[0]?.values || []).keys()];
      list.currency = list.columns.find((one) => one.name === "currency")?.values;
      list.own = list.columns.find((one) => one.kind === "id" && !one.to) || list.columns[0];
    }
  }

  on(event, act) { if (event === "msg:custom") this.heard = act; }
  off() { this.heard = () => {}; }

  send(asked) {
    let answer;
    try { answer = this[asked.do.replace(" ", "_")](asked); } catch (error) { answer = { error: error.message }; }
    queueMicrotask(() => this.heard({ answer: asked.ask, ...answer }));
  }

  start() { return this.data.info; }
  overview() { return { tiles: this.data.tiles }; }
  close_form() { return {}; }

  id(list, row) { return list.ids ? list.ids[row] : String(list.own?.values[row] ?? row); }

  /** Find a column by its name, its beginning, or a part of it. */
  column({ columns }, name) {
    const wanted = name.toLowerCase().replaceAll(" ", "_");
    for (const test of [(text) => text === wanted, (text) => text.startsWith(wanted), (text) => text.includes(wanted)]) {
      const found = columns.find((one) => test(one.name) || test(one.label.toLowerCase().replaceAll(" ", "_")));
      if (found) return found;
    }
    return null;
  }

  /** A value as the text that is searched and compared. */
  plain({ values, kind }, row) { return values[row] === null ? "" : isTime(kind) ? exact(values[row]) : String(values[row]); }

  name({ to }, value) { return to && this.data.names[value]; }

  shown(list, column, row) {
    const value = column.values[row], name = this.name(column, value);
    if (value !== null && column.kind === "status") return `${value} ${this.data.statuses[value][2]}`;
    if (column.kind === "money" && typeof value === "number") return this.written(value, this.code(list, row));
    return name ? `${name} ${value}` : this.plain(column, row);
  }

  code(list, row) { return (list.currency?.[row] || "USD").toUpperCase(); }

  written(cents, code) { return money(cents, code, this.data.digits[code]); }

  fits(list, { column: name, compare, value }) {
    const column = name && this.column(list, name);
    if (!column) {
      const text = name ? `${name}${compare}${value}`.toLowerCase() : value;
      list.searched ??= list.rows.map((row) => list.columns.map((one) => this.shown(list, one, row)).join("\x1f").toLowerCase());
      return (row) => list.searched[row].includes(text);
    }
    if (compare === ":") return (row) => this.shown(list, column, row).toLowerCase().includes(value);
    const { kind, values } = column, test = COMPARE[compare];
    if (isNumber(kind)) {
      const typed = number(value), wanted = typed === null || kind === "number" ? typed : Number((typed * 100).toFixed(2));
      return (row) => { const found = number(values[row] ?? ""); return found !== null && wanted !== null && test(found, wanted); };
    }
    const size = isTime(kind) ? value.length : undefined; // 2026-01 covers the month
    return (row) => { const text = this.plain(column, row).toLowerCase().slice(0, size); return text !== "" && test(text, value); };
  }

  /** The numbers of the rows that pass a filter, in an order; rows without a value come last. */
  order(list, filter, sort) {
    let { rows } = list;
    for (const term of parsed(filter)) rows = rows.filter(this.fits(list, term));
    for (const key of [...sort].reverse()) {
      const column = this.column(list, bare(key)), back = key.startsWith("-") ? -1 : 1;
      const values = column.values.map((value) => this.name(column, value) ?? value);
      const given = rows.filter((row) => values[row] !== null);
      const numbers = given.every((row) => number(values[row]) !== null), by = (row) => (numbers ? Number(values[row]) : values[row]);
      given.sort((a, b) => back * ((by(a) > by(b)) - (by(a) < by(b))));
      rows = [...given, ...rows.filter((row) => values[row] === null)];
    }
    return rows;
  }

  cell(list, column, row) {
    const value = column.values[row], name = this.name(column, value);
    if (value === null || value === "") return "";
    if (column.kind === "status") return this.data.statuses[value].slice(0, 2);
    if (isTime(column.kind)) return new Date(value).toISOString();
    return name ? { id: value, name } : this.shown(list, column, row);
  }

  /** The rows of each group of a column, in the order of their first rows, or of their subtotals in one currency. */
  groups(list, rows, name, sort) {
    const column = this.column(list, name), { values, kind } = column, first = sort[0] && this.column(list, bare(sort[0]));
    const size = isTime(kind) && period(rows.map((row) => values[row]).filter((at) => at !== null));
    const groups = new Map();
    for (const row of rows) {
      const key = values[row] === null ? "" : size ? stamped(values[row]).slice(0, size) : String(values[row]);
      if (!groups.has(key)) groups.set(key, { group: key, value: size ? key : this.cell(list, column, row), rows: [] });
      groups.get(key).rows.push(row);
    }
    const found = [...groups.values()], back = sort[0]?.startsWith("-") ? -1 : 1;
    if (first?.kind !== "money" || new Set(rows.map((row) => this.code(list, row))).size > 1) return found;
    for (const one of found) one.total = this.moving(list, one.rows).reduce((sum, row) => sum + (Number(first.values[row]) || 0), 0);
    return found.sort((a, b) => back * (a.total - b.total));
  }

  /** What a view shows: the rows that pass its filter, and what is on each line, a row or a group. */
  table({ list: name, filter = "", sort = [], group, unfolded = [] }) {
    const list = this.lists.get(name), key = JSON.stringify([name, filter, sort, group]);
    if (!this.tables.has(key)) {
      if (this.tables.size > 3) this.tables.clear();
      const rows = this.order(list, filter, sort), groups = group && this.groups(list, rows, group, sort);
      this.tables.set(key, { groups, rows: groups ? groups.flatMap((one) => one.rows) : rows });
    }
    const { groups, rows } = this.tables.get(key);
    return { list, rows, lines: groups ? groups.flatMap((one) => [one, ...(unfolded.includes(one.group) ? one.rows : [])]) : rows };
  }

  /** The rows of some lines; a folded group has all of its rows. */
  chosen({ places, ...asked }) {
    const { list, lines } = this.table(asked);
    return { list, rows: places.flatMap((place) => (asked.unfolded?.includes(lines[place].group) ? [] : lines[place].rows || lines[place])) };
  }

  line(list, line) {
    if (!line.rows) return { id: this.id(list, line), new: false, cells: list.columns.map((one) => this.cell(list, one, line)) };
    const { group, value, rows } = line;
    return { group, value, count: rows.length, sums: Object.fromEntries(this.totals(list, rows).map(([one, text]) => [one.name, text])) };
  }

  rows(asked) {
    const { list, rows, lines } = this.table(asked), { first, count, more } = asked, { columns } = list;
    const window = { list: list.name, first, rows: lines.slice(first, first + count).map((line) => this.line(list, line)) };
    if (more) return window;
    if (!asked.beside) this.last = asked;
    const names = new Set(parsed(asked.filter).map((one) => one.column));
    const unknown = [...names].filter((one) => /^\p{L}/u.test(one ?? "") && !this.column(list, one));
    const notes = [...list.notes, ...unknown.map((one) => `No column is called ${one}: it is searched as text.`)];
    return { ...window, shown: rows.length, lines: lines.length, all: list.rows.length, notes, columns, sums: this.sums(list, rows), actions: [], views: this.views[list.name] || {} };
  }

  /** The sums of the amounts of rows, by column and currency. */
  totals(list, rows) {
    return list.columns.filter((one) => one.kind === "money").flatMap((one) => {
      const totals = new Map();
      for (const row of this.moving(list, rows)) {
        const code = this.code(list, row);
        if (typeof one.values[row] === "number") totals.set(code, (totals.get(code) || 0) + one.values[row]);
      }
      return totals.size ? [[one, [...totals].sort().map(([code, cents]) => this.written(cents, code)).join(" + ")]] : [];
    });
  }

  /** The rows that are not declined: an amount that was declined is in no sum. */
  moving(list, rows) {
    const status = list.columns.find((one) => one.name === "status")?.values;
    return status ? rows.filter((row) => status[row] !== "declined") : rows;
  }

  sums(list, rows) { return this.totals(list, rows).map(([one, text]) => [one.label, text]); }

  /** How the values of each column are distributed, of the rows that pass the filter. */
  summary(asked) {
    const { list, rows } = this.table(asked);
    const called = ({ kind, to }, value) => (kind === "status" ? this.data.statuses[value][2] : this.name({ to }, value) || String(value));
    return { columns: Object.fromEntries(list.columns.map((one) => {
      const given = rows.map((row) => one.values[row]).filter((value) => value !== null);
      return [one.name, { missing: rows.length - given.length, bars: bars(one, given, (value) => called(one, value)) }];
    })) };
  }

  select(asked) {
    const { list, rows } = this.chosen(asked);
    return { count: rows.length, sums: this.sums(list, rows), mean: this.mean(list, rows) };
  }

  mean(list, rows) {
    const values = list.columns.find((one) => one.kind === "money")?.values;
    const known = this.moving(list, rows).filter((row) => typeof values?.[row] === "number"), codes = new Set(known.map((row) => this.code(list, row)));
    if (codes.size !== 1) return "";
    const total = known.reduce((sum, row) => sum + values[row], 0);
    return this.written(Math.floor((2 * total + known.length) / (2 * known.length)), [...codes][0]);
  }

  values(asked) {
    const { list, rows } = this.chosen(asked), columns = list.columns.filter((one) => one.kind !== "hidden");
    const value = ({ values, kind }, row) => {
      const found = values[row];
      if (kind === "money" && typeof found === "number") return [found, this.data.digits[this.code(list, row)]];
      return found !== null && isTime(kind) ? new Date(found).toISOString() : found;
    };
    return { columns, rows: rows.map((row) => columns.map((one) => value(one, row))) };
  }

  details({ list: name, id }) {
    const list = this.lists.get(name), row = this.row(list, id);
    if (row === undefined) throw new Error(`${list.label} has no ${id}`);
    const facts = list.columns.map((one) => ({ ...one, value: this.cell(list, one, row) })).filter((one) => one.kind !== "hidden" && one.value !== "");
    const links = Object.entries(this.data.linked[name] || {}).filter(([to]) => this.lists.has(to)).map(([to, column]) =>
      ["button", { class: "link", "data-list": to, "data-filter": `${column}=${id}` }, this.lists.get(to).label]);
    return { list: name, id, facts, actions: [], sections: links.length ? [["section", {}, ["h3", {}, "Related"], ["div", { class: "actions" }, ...links]]] : [] };
  }

  row(list, id) { return list?.rows.find((row) => this.id(list, row) === id); }

  find({ id, to }) {
    const list = [to, ...this.lists.keys()].find((name) => this.row(this.lists.get(name), id) !== undefined);
    if (!list) throw new Error(`${id} is not in this file`);
    return { list, id };
  }

  view({ list, name, view }) {
    const views = { ...this.views[list], [name]: view };
    if (!view) delete views[name];
    return { views: this.views[list] = views };
  }

  /** Save the rows shown, in their order, as a file of values separated by commas. */
  export(asked) {
    const { list, rows } = this.table(asked);
    const text = (one, row) => (typeof one.values[row] === "number" && one.kind !== "time" ? String(one.values[row]) : guarded(this.plain(one, row)));
    const lines = [list.columns.map((one) => guarded(one.name)), ...rows.map((row) => list.columns.map((one) => text(one, row)))];
    const address = URL.createObjectURL(new Blob([`${lines.map((line) => line.join(",")).join("\r\n")}\r\n`], { type: "text/csv" }));
    const link = h("a", { href: address, download: `${list.name.replaceAll(" ", "-")}.csv` });
    link.click();
    URL.revokeObjectURL(address);
    return { text: `${rowsOf(rows.length)} in ${link.download}` };
  }
}

/** Show a panel; with `of`, which a panel gives, the table of a second view of it. */
function render({ model, el, of }) {
  const uid = `wbp-${++panels}`, waiting = new Map(), press = of?.press || { late: new Set() };
  let asked = 0, busy = 0, dead = false, info = of?.info, stamp = null, turns = 0, timer = 0, second = null;
  let view = { list: "overview", ...PLAIN };
  let chosen = new Set(), anchor = 0; // the places of the selected rows, and where a range begins
  let past = [], future = [], data = null, cache = new Map(), pending = new Set(), active = 0, opened = null, formView = null, held = null, opener = null, acted = "", clock = Date.now();
  const zone = () => ({ UTC: "UTC", here: HERE })[kept().times];

  const hide = h("style"), headline = div("head");
  const line = h("div", { class: "say", role: "status", hidden: true });
  const nav = h("nav", "Lists");
  const search = h("input", { class: "search", type: "search", "aria-label": "Search or filter", placeholder: "Search, or status:declined amount>200   ( / )" });
  const buttons = div("buttons"), tools = div("tools", search, buttons), chips = div("chips"), inputs = div("inputs"), notes = div("notes quiet");
  const heads = h("div", { role: "rowgroup", class: "heads" }), rows = h("div", { role: "rowgroup", class: "rows" });
  const grid = h("div", { class: "grid", role: "grid", tabindex: 0 }, heads, rows);
  const foot = h("div", { class: "foot", role: "status" });
  const tiles = h("div", { class: "tiles", role: "group", "aria-label": "Overview", tabindex: 0 });
  const called = div("called"), main = div("main-part");
  const drawer = h("div", { class: "drawer", role: "region", "aria-label": "Details", tabindex: -1, hidden: true });
  const root = of ? main : h("div", { class: "wbp", "data-lm-suppress-shortcuts": "true", hidden: true }, hide, headline, line,
    div("body", nav, div("work", main, drawer)));
  show(el, root);

  function ask(what, more = {}) {
    if (of) return of.ask(what, { ...more, beside: true });
    if (dead) return Promise.reject(new Error(""));
    const number = ++asked;
    if (what !== "tick" && !busy) busy = setTimeout(() => { root.ariaBusy = true; }, BUSY);
    return new Promise((resolve, reject) => {
      waiting.set(number, { what, resolve, reject });
      model.send({ ask: number, do: what, ...more });
    });
  }

  function rest() {
    if ([...waiting.values()].some((one) => one.what !== "tick")) return;
    clearTimeout(busy);
    busy = 0;
    root.ariaBusy = null;
  }

  /** Draw while nothing is pressed: what is replaced between press and release is not clicked. */
  const drawLater = (draw) => { if (press.down) press.late.add(draw); else draw(); };

  root.addEventListener("pointerdown", (event) => {
    if (of || !event.target.closest("button, .rows .row")) return;
    press.down = true;
    const release = () => setTimeout(() => { // after the click
      press.down = false;
      for (const draw of press.late) { press.late.delete(draw); draw(); }
    });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, release, { once: true, capture: true });
  });

  const heard = (message) => drawLater(() => answered(message));
  function answered(message) {
    if (message.event === "changed") { stamp = message.stamp; say(message.text, false, message.undo); refresh(true); }
    if (message.event === "go" && info) go({ list: message.list, ...PLAIN, id: message.id || null, chips: terms(message.filter || "") });
    const waiter = waiting.get(message.answer);
    if (!waiter) return;
    waiting.delete(message.answer);
    rest();
    if (message.error) { say(message.error, true); waiter.reject(new Error("")); } else waiter.resolve(message);
  }

  /** Do something that asks the kernel; its errors are already told. */
  const quietly = (act) => (...given) => Promise.resolve(act(...given)).catch((error) => error.message && say(error.message, true));

  function died() {
    if (dead) return;
    dead = true;
    clearInterval(timer);
    waiting.clear();
    rest();
    root.classList.add("dead");
    say("The kernel stopped: this shows what was read before.", true);
    const place = el.closest(".jp-CodeCell");
    if (place) line.append(button("main again", () => { // as Ctrl+Enter does in its notebook
      place.querySelector(".jp-InputPrompt").dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
      place.tabIndex = -1;
      place.focus();
      place.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true }));
    }, "Run the cell again"));
  }

  const undo = quietly(async () => { await ask("undo"); go({ ...view, id: null }); });

  function say(text, wrong = false, undone = false) {
    if (of) return of.say(text, wrong);
    line.hidden = !text;
    line.className = wrong ? "say wrong" : "say";
    return show(line, span("", text), undone && button("edge undo", undo, "Undo"), button("edge", () => say(""), "×", "Dismiss message"));
  }

  function cell(value, column, whole = false) {
    if (Array.isArray(value)) return span(`pill ${value[1]}`, value[0]);
    if (value === "" || value === null) return "";
    if (isTime(column.kind)) {
      const words = ago(value, column.kind === "wall" ? Date.now() : of ? of.clock() : clock), full = exact(value, zone());
      return h("span", { title: `${zone() ? words : full}, ${CLOCKS[column.kind]}` }, whole ? `${words} · ${full}` : zone() ? full : words);
    }
    if (column.kind === "id" || column.kind === "address") {
      const id = value.id || value, text = value.name || (whole ? id : column.kind === "id" ? short(id) : middle(id));
      const shown = column.to
        ? button(value.name ? "link" : "link mono", (event) => { event.stopPropagation(); follow(id, column.to); }, text, { title: id, tabindex: whole ? 0 : -1 })
        : h("span", { class: "mono", title: id }, text);
      return whole ? span("ref", shown, value.name && h("span", { class: "mono quiet", title: id }, short(id)), copier(id)) : shown;
    }
    if (column.kind === "number" && /\.\d{5}/.test(value)) return h("span", { title: value }, Number(value).toFixed(4)); // a rate
    return String(value);
  }

  const copier = (text) => button("copy icon edge", quietly(async (event) => {
    await navigator.clipboard.writeText(text);
    event.target.classList.add("done");
  }), "", { "aria-label": `Copy ${text}`, title: "Copy" });

  function go(next, remember = true) {
    if (remember && (next.list !== view.list || next.id !== view.id)) { past.push(view); future = []; }
    const list = next.list !== view.list, same = !list && String(next.sort) === String(view.sort) && next.group === view.group && full(next) === full(view);
    view = next;
    search.value = view.text;
    if (list) { data = null; active = 0; grid.scrollTop = 0; single(); }
    show(nav, info.lists.map((one) => button("", () => go({ list: one.name, ...PLAIN }), one.label, { "aria-current": one.name === view.list && "page" })));
    addressed();
    if (view.list === "overview") { drawOverview(); closeDrawer(); return; }
    if (!same || !data) load({}); else drawRows();
    if (view.id) openDetails(view.id); else closeDrawer();
  }

  /** Keep the view in the address of a file, which is the same when it is loaded again. */
  function addressed() {
    if (info.as_of && !of) history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(view))}`);
  }

  function remembered() {
    try {
      const held = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      if (label(held.list)) return { ...PLAIN, ...held };
    } catch { /* the address of the file has no view */ }
    return null;
  }

  function step(from, to) {
    if (from.length) { to.push(view); go(from.pop(), false); }
  }

  const follow = of?.follow || quietly(async (id, to) => {
    const found = await ask("find", { id, to });
    go({ list: found.list, ...PLAIN, id: found.id });
  });

  function drawHead() {
    show(headline, button("edge", () => step(past, future), "←", "Back"), button("edge", () => step(future, past), "→", "Forward"), h("strong", {}, "Workbench"), info.environment && span(`where ${info.environment}`, info.environment.toUpperCase()),
      info.tenant && span("tenant", `Tenant ${info.tenant}`), span("quiet host", info.host), info.key && span("quiet key", `key ${info.key}`),
      span("quiet far clock", info.clock && !info.as_of ? `Sandbox clock ${exact(info.clock, zone())}` : ""), times(),
      info.as_of ? button("edge theme", theme, "Light or dark") : button("edge refresh", () => refresh(true, true), "Refresh"));
  }

  function times() {
    const now = kept().times || "ago", ways = { ago: "Times: ago", UTC: "Times: UTC", ...(HERE !== "UTC" && { here: `Times: ${HERE}` }) };
    return h("select", { class: "times", "aria-label": "How times are shown", onchange: (event) => { keep("times", event.target.value); drawHead(); refresh(true); } },
      Object.entries(ways).map((one) => option(one, now)));
  }

  function theme() {
    const page = document.documentElement.dataset, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    page.theme = (page.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  }

  const drawOverview = quietly(async () => {
    show(main, tiles);
    const answer = await ask("overview");
    show(tiles, answer.tiles.map((one) => div("tile-of", button("tile", () => go({ list: one.list, ...PLAIN, chips: terms(one.filter) }),
      [aside(one.label), h("b", {}, one.figure), aside(one.note)]),
    one.column && !info.as_of && button("link explain", () => explain(one), "Explain", `Explain ${one.label}`))));
  });

  /** Open the list of what a number is made of. */
  const explain = of?.explain || quietly(async (number) => {
    const found = await ask("explain", number);
    if (!label(found.name)) info.lists.push(found);
    data = null;
    go({ list: found.name, ...PLAIN });
  });

  const full = (one) => [...one.chips, one.text.trim()].filter(Boolean).join(" ");
  const question = (first) => ({ list: view.list, filter: full(view), sort: view.sort, group: view.group, unfolded: view.unfolded, first, count: CHUNK });

  const chunk = (place) => Math.floor(place / CHUNK) * CHUNK;

  /** Change what the table shows, and read it. */
  function change(next, how = {}) {
    view = { ...view, name: "", ...next };
    addressed();
    return load(how);
  }

  const load = quietly(async ({ again, values, keep: stay }) => {
    const turn = ++turns, list = view.list;
    const first = stay ? chunk(grid.scrollTop / ROW) : 0;
    const answer = await ask("rows", { ...question(first), again, inputs: values });
    if (turn !== turns || list !== view.list) return;
    const fresh = !data || data.list !== list;
    data = answer;
    if (!stay && chosen.size) { chosen = new Set(); told(); }
    cache = new Map(answer.rows.map((row, place) => [answer.first + place, row]));
    pending = new Set();
    if (!stay) { active = 0; grid.scrollTop = 0; }
    if (main.firstChild !== called) show(main, called, tools, chips, inputs, notes, grid, foot);
    if (fresh) drawTools();
    drawInputs();
    drawChips();
    drawTable();
  });

  const more = quietly(async (first) => {
    const turn = turns;
    pending.add(first);
    const answer = await ask("rows", { ...question(first), more: true });
    if (turn !== turns) return;
    answer.rows.forEach((row, place) => cache.set(answer.first + place, row));
    drawRows();
  });

  const setting = (what) => kept()[what]?.[view.list];
  const set = (what, value) => keep(what, { ...kept()[what], [view.list]: value });
  const pinned = () => setting("pinned");
  /** The columns shown: the pinned one, the first, and the status, which a narrow table must not cut; then the others. */
  function columns() {
    const first = pinned(), not = hidden(), rank = (one) => (one.name === first ? 0 : !one.place ? 1 : one.kind === "status" ? 2 : 3);
    return data.columns.map((one, place) => ({ ...one, place, look: `cell${isNumber(one.kind) ? " right" : ""}${one.name === first ? " pinned" : ""}` }))
      .filter((one) => one.kind !== "hidden" && !not.has(one.name)).sort((a, b) => rank(a) - rank(b));
  }
  const hidden = () => new Set(view.hidden || setting("hidden") || []);
  const width = (column) => setting("widths")?.[column.name] || Math.max((zone() && CLOCKS[column.kind] ? 176 + 7 * (zone().length - 3) : WIDTHS[column.kind]) || WIDTHS.text, 8.8 * column.label.length + 40);

  /** Give every column its width, and what is left to those of text. */
  function layOut() {
    const shown = columns(), texts = shown.filter((one) => one.kind === "text" && !setting("widths")?.[one.name]);
    const spare = Math.max(0, grid.clientWidth - shown.reduce((sum, one) => sum + width(one), 0));
    const share = Math.floor(spare / texts.length);
    root.style.setProperty("--wbp-columns", shown.map((one) => `${width(one) + (texts.includes(one) ? share : 0)}px`).join(" "));
  }

  function drawTable() {
    const shown = columns();
    show(heads, !shown.length ? null : h("div", { class: "row", role: "row", "aria-rowindex": 1 }, shown.map((one) => {
      const key = view.sort.find((each) => bare(each) === one.name), way = key && (key === one.name ? "ascending" : "descending");
      return h("div", { class: one.look, role: "columnheader", "aria-sort": way || "none" },
        button(`sort-${one.name}`, (event) => sort(one.name, event.shiftKey), one.label + (way ? (way === "ascending" ? " ▲" : " ▼") : ""), { title: `Sort by ${one.label}; with Shift as a further column. Shift and an arrow change its width.`, onkeydown: (event) => nudge(event, one) }),
        h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => drag(event, one) }));
    })));
    grid.hidden = !shown.length;
    layOut();
    grid.ariaLabel = `${label()}, ${data.shown} rows`;
    grid.ariaRowCount = data.lines + 1;
    grid.role = view.group ? "treegrid" : "grid";
    rows.style.height = `${data.lines * ROW}px`;
    show(called, of || second ? [title(view.name || label()), of && button("edge", of.close, "×", "Close the second view")] : []);
    show(notes, data.notes.map((one) => h("div", {}, one)));
    const all = rowsOf(data.all);
    const none = !data.shown && full(view);
    show(foot, span("count", none ? "0 matches" : data.shown === data.all ? all : `${grouped(data.shown)} of ${all}`),
      none && button("edge clear", () => filter([], ""), "Clear filter"), sums(data.sums));
    drawSummary();
    drawRows();
  }

  /** The sums of the first and the last column of amounts, and of all on hover. */
  function sums(found) {
    const texts = found.map((one) => `Σ ${one.join(" ")}`), ends = new Set([texts[0], texts.at(-1)]);
    return h("span", { class: "sums quiet far", title: texts.join("\n") }, [...ends].join(" · "));
  }

  const drawSummary = quietly(async () => {
    heads.querySelector(".summary")?.remove();
    if (!kept().summary || !data.shown || data.first === undefined) return;
    const turn = turns, answer = await ask("summary", question(0));
    if (turn !== turns || heads.querySelector(".summary")) return;
    heads.append(h("div", { class: "row summary", role: "row" }, columns().map((one) => {
      const { missing, bars: found } = answer.columns[one.name], most = Math.max(1, ...found.map((bar) => bar.count));
      return gridcell(one.look, missing > 0 && `${grouped(missing)} without a value`, found.map((bar) => {
        const text = `${bar.label}: ${rowsOf(bar.count)}`;
        const pressed = (event) => (event.shiftKey && !info.as_of ? explain({ list: view.list, filter: [full(view), ...bar.filter].join(" "), column: one.kind === "money" ? one.name : "" })
          : filter([...view.chips, ...bar.filter], view.text));
        const style = `--size: ${Math.round(100 * bar.count / most)}%`;
        return button("bar", pressed, "", { title: info.as_of ? text : `${text}; Shift explains`, "aria-label": `Show ${text}`, disabled: !bar.filter.length || !bar.count, style });
      }));
    })));
  });

  function choose(place, event) {
    if (event.shiftKey) chosen = new Set(Array.from({ length: Math.abs(place - anchor) + 1 }, (_, at) => Math.min(anchor, place) + at));
    else { if (chosen.has(place)) chosen.delete(place); else chosen.add(place); anchor = place; }
    active = place;
    drawRows();
    told();
  }

  /** Show the rows of a group, or hide them; other rows that are selected stay so. */
  function fold(place) {
    const { group, count } = cache.get(place), open = view.unfolded.includes(group), last = open ? place + count : place;
    chosen = new Set([...chosen].filter((at) => at < place || at > last).map((at) => (at < place ? at : open ? at - count : at + count)));
    active = anchor = place;
    change({ unfolded: open ? view.unfolded.filter((one) => one !== group) : [...view.unfolded, group] }, { keep: true }).then(told);
  }

  const places = () => [...chosen].sort((a, b) => a - b);

  const told = quietly(async () => {
    const turn = turns, answer = await ask("select", { ...question(0), places: places() });
    if (turn !== turns) return;
    foot.querySelector(".chosen")?.remove();
    if (!answer.count) return;
    foot.append(span("chosen", `${grouped(answer.count)} selected`, answer.sums[0] ? ` · Σ ${answer.sums[0].join(" ")}` : "", answer.mean ? ` · mean ${answer.mean}` : "",
      Object.entries({ tsv: "Copy", json: "Copy as JSON", python: "Copy as Python" }).map(([form, text]) => button("edge", () => copy(form), text))));
  });

  const copy = quietly(async (form) => {
    const values = await ask("values", { ...question(0), places: chosen.size ? places() : [active] });
    await navigator.clipboard.writeText(written(values, form));
    say(`Copied ${rowsOf(values.rows.length)}.`);
  });

  const gridcell = (look, title, ...content) => h("div", { class: look, role: "gridcell", title }, content);

  function drawRows() {
    if (!data || view.list === "overview") return;
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 8);
    const last = Math.min(data.lines, first + Math.ceil(grid.clientHeight / ROW) + 16);
    const shown = columns(), made = [], id = of ? of.id() : view.id;
    for (let place = first; place < last; place++) {
      const row = cache.get(place);
      if (!row) {
        if (!pending.has(chunk(place))) more(chunk(place));
        continue;
      }
      const open = row.group === undefined ? null : String(view.unfolded.includes(row.group));
      const look = ["row", row.new && "new", place === active && "active", id && id === row.id && "opened", chosen.has(place) && "chosen"].filter(Boolean).join(" ");
      made.push(h("div", { class: look, role: "row", id: `${uid}-${place}`, style: `top: ${place * ROW}px`,
        "aria-rowindex": place + 2, "aria-selected": chosen.has(place), "aria-level": view.group ? 1 + !open : null, "aria-expanded": open },
      open ? groupCells(row, shown)
        : shown.map((one) => gridcell(one.look, one.kind === "text" ? row.cells[one.place] : one.kind === "status" && row.cells[one.place][0], cell(row.cells[one.place], one)))));
    }
    show(rows, made);
    grid.setAttribute("aria-activedescendant", data.lines ? `${uid}-${active}` : "");
  }

  /** The cells of a group: value and count before the first amount, then each subtotal in its column. */
  function groupCells(row, shown) {
    const by = data.columns.find((one) => one.name === view.group), amount = shown.findIndex((one, at) => at && row.sums[one.name]);
    const before = amount < 0 ? shown.length : amount, own = row.sums[shown[0].name];
    const head = gridcell("cell group", row.group, cell(row.value, isTime(by.kind) ? {} : by) || aside(`no ${by.label.toLowerCase()}`), aside(` ${rowsOf(row.count)}`), own && ` Σ ${own}`);
    head.style.gridColumn = `span ${before}`;
    return [head, ...shown.slice(before).map((one) => gridcell(one.look, row.sums[one.name], row.sums[one.name]))];
  }

  const label = (list = view.list) => info.lists.find((one) => one.name === list)?.label;

  function drawTools() {
    const popup = (text, name, build) => button(`edge ${name}`, (event) => toggle(event.currentTarget, build), text, { "aria-haspopup": "true" });
    shut();
    show(buttons, of ? null : data.actions.map((one) => button("edge do", () => act(one, true), one.label)),
      button("edge summarize", (event) => {
        keep("summary", !kept().summary);
        event.currentTarget.ariaPressed = Boolean(kept().summary);
        drawSummary();
      }, "Summary", { "aria-pressed": Boolean(kept().summary) }), popup("Columns and views", "choose", chooser), popup("Export", "export", exporter));
  }

  function drawChips() {
    const by = data.columns.find((one) => one.name === view.group);
    show(chips, by && button("chip", () => change({ group: "", unfolded: [] }), `by ${by.label} ×`, "Remove the groups"), view.chips.map((one, place) => button("chip", () => filter(view.chips.filter((_, other) => other !== place), view.text), `${one} ×`, `Remove filter ${one}`)));
  }

  function drawInputs() {
    if (!data.inputs) return show(inputs);
    if (inputs.childElementCount && inputs.contains(document.activeElement)) return;
    const boxes = data.inputs.map(({ name, label: text, choices, options, hint }) => {
      const look = `in-${name}`, list = options && `${uid}-${name}`, now = data.values[name];
      const box = choices ? h("select", { class: look }, choices.map((one) => option(one, now)))
        : h("input", { class: look, list, placeholder: hint, value: now });
      return { name, box, row: h("label", {}, text, box, list && h("datalist", { id: list }, options.map((value) => h("option", { value })))) };
    });
    const read = () => load({ values: Object.fromEntries(boxes.map((one) => [one.name, one.box.value])) });
    show(inputs, boxes.map((one) => one.row), button("main read", read, "Read rewards"));
  }

  function sort(name, further) {
    const now = view.sort.find((one) => bare(one) === name), next = now ? (now === name ? [`-${name}`] : []) : [name];
    change({ sort: [...(further ? view.sort.filter((one) => one !== now) : []), ...next] });
  }

  function filter(terms_, text, more) {
    if (search.value !== text) search.value = text;
    change({ chips: terms_, text, ...more });
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
    set("widths", { ...setting("widths"), [column.name]: Math.max(48, Math.round(pixels)) });
    layOut();
  }

  function nudge(event, column) {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!event.shiftKey || event.altKey || !step) return;
    event.preventDefault();
    widen(column, event.currentTarget.parentElement.offsetWidth + step);
  }

  function shut() {
    const pop = tools.querySelector(".pop");
    pop?.remove();
    return pop;
  }

  function toggle(button, build) {
    const name = button.textContent;
    if (shut()?.ariaLabel === name) return;
    const pop = h("div", { class: "pop", role: "group", "aria-label": name }, build());
    opener = button;
    tools.append(pop);
    pop.querySelector("button, input, select")?.focus();
  }

  function chooser() {
    const name = h("input", { "aria-label": "Name of the view", placeholder: "Name of the view" });
    const store = async (which, one) => { data.views = (await ask("view", { list: view.list, name: which, view: one })).views; };
    const save = quietly(async () => {
      const which = name.value.trim(), { chips: on, text, sort: by, group } = view;
      if (!which) return name.focus();
      await store(which, { chips: on, text, sort: by, hidden: [...hidden()], group });
      shut();
      say(`Saved the view ${which}.`);
      });
    const conceal = (names) => { if (of) view.hidden = names; else set("hidden", names); };
    const use = (which, one) => {
      conceal(one.hidden);
      shut();
      filter(one.chips, one.text, { sort: one.sort, group: one.group, unfolded: [], name: which });
    };
    const forget = quietly(async (which, row) => { await store(which, null); row.remove(); });
    const known = data.columns.filter((one) => one.kind !== "hidden"), groups = known.filter((one) => one.kind !== "money" && (one.kind !== "id" || one.to));
    return [h("label", {}, title("Group by"), h("select", { onchange: (event) => change({ group: event.target.value, unfolded: [] }) },
      [["", "nothing"], ...groups.map((one) => [one.name, one.label])].map((one) => option(one, view.group)))),
    title("Columns"), ...known.map((one) => {
      const box = h("input", { type: "checkbox", onchange: () => {
        const now = hidden();
        if (box.checked) now.delete(one.name); else now.add(one.name);
        conceal([...now]);
        drawTable();
      } });
      box.checked = !hidden().has(one.name);
      const pin = () => { set("pinned", one.name === pinned() ? null : one.name); shut(); drawTable(); };
      return h("div", {}, h("label", {}, box, one.label), button("copy", pin, one.name === pinned() ? "Unpin" : "Pin", { "aria-label": `Pin ${one.label}`, "aria-pressed": one.name === pinned() }));
    }), title("Views"), ...Object.entries(data.views).map(([which, one]) => {
      const row = div("", button("", () => use(which, one), which), !of && button("copy", () => { shut(); beside(which, one); }, "Beside", `Show view ${which} beside`),
        button("copy", () => forget(which, row), "Delete", `Delete view ${which}`));
      return row;
    }), div("actions", name, button("edge", save, "Save view"))];
  }

  function single() {
    second?.end();
    second = null;
  }

  /** Show a saved view of the list next to its table. */
  function beside(name, one) {
    single();
    const el = div("second"), close = () => { single(); drawTable(); grid.focus(); };
    second = { info, press, ask, say, follow, explain, close, clock: () => clock, id: () => view.id, view: { ...PLAIN, ...one, list: view.list, name },
      open(id) { open(id); second.draw(); }, end() { resized(); el.remove(); } };
    main.after(el);
    const resized = render({ el, of: second });
    drawTable();
  }

  function exporter() {
    const write = quietly(async (file) => {
      shut();
      say((await ask("export", { ...question(0), file })).text);
    });
    const python = quietly(async () => {
      const { code } = await ask("export", { list: view.list, file: "python" });
      const pop = tools.querySelector(".pop");
      if (pop) show(pop, title("This view in Python"), h("pre", { tabindex: 0 }, code), copier(code));
      pop?.querySelector("pre").focus();
    });
    return [div("quiet", "The rows shown, in their order"), ...Object.entries(info.files).map(([file, text]) => button("", () => write(file), text)),
      !info.as_of && button("", python, "As Python")];
  }

  const open = of?.open || ((id) => go({ ...view, id }));

  function closeDrawer() {
    if (opened || formView) ask("close form").catch(() => {});
    dropForm();
    opened = null;
    drawer.hidden = true;
    show(drawer);
  }

  const formed = () => drawer.querySelector(".formed");

  function dropForm() {
    formView?.remove();
    formView = null;
  }

  function leave() {
    go({ ...view, id: null });
    grid.focus();
  }

  function header(text) {
    return h("header", {}, h("h2", {}, text), button("edge close", leave, "×", "Close details"));
  }

  const openDetails = quietly(async (id, keepForm = false) => {
    const list = view.list;
    if (!keepForm) dropForm();
    const answer = await ask("details", { list, id });
    if (list !== view.list || id !== view.id) return;
    opened = answer;
    const held = keepForm ? formed() : null;
    drawer.hidden = false;
    const lost = drawer.contains(document.activeElement) && !held?.contains(document.activeElement); // what had the focus is replaced
    const name = answer.facts.find((one) => one.kind === "text" && one.value)?.value || answer.id;
    show(drawer, header(String(name)), actions(answer), held || h("section", { class: "formed", hidden: true }), facts(answer), answer.sections.map(drawn));
    for (const one of drawer.querySelectorAll("time")) show(one, cell(one.dateTime, { kind: "time" }));
    if (answer.private) unmasked(answer);
    if (!keepForm) { drawer.scrollTop = 0; drawer.scrollIntoView({ block: "nearest" }); }
    if (lost) drawer.focus();
  });

  function actions(answer) {
    if (!answer.actions.length) return null;
    return h("section", { class: "actions", "aria-label": "Actions" }, answer.actions.map((one) => button("edge do", () => act(one, false), one.label)));
  }

  function facts(answer) {
    const groups = GROUPS.map(([name, kinds]) => [name, answer.facts.filter((one) => kinds.includes(one.kind))]).filter(([, found]) => found.length);
    return h("section", { class: "facts" }, groups.map(([name, found]) => [name && title(name),
      h("dl", {}, found.map((one) => [h("dt", {}, one.label), h("dd", {}, cell(one.value, one, true),
        one.explain ? [" ", button("link explain", () => explain({ list: answer.list, id: answer.id, column: one.name }), "Explain", `Explain ${one.label}`)] : null)]))]));
  }

  /** Offer the private values of what is open, for a minute. */
  function unmasked(answer) {
    const inner = drawer.querySelector(".record"), masked = [...inner.childNodes];
    const unmask = button("edge reveal", quietly(async () => {
      const shown = await ask("reveal", { list: answer.list, id: answer.id });
      show(inner, div("warn", `Shown for ${shown.seconds} seconds; recorded in the journal.`), drawn(shown.fields));
      unmask.hidden = true;
      setTimeout(() => { show(inner, masked); unmask.hidden = false; }, shown.seconds * 1000);
    }), "Show private values for 60 s");
    inner.before(unmask);
  }

  drawer.addEventListener("click", (event) => {
    const { list, filter: chip, id, to } = event.target.dataset;
    if (list) go({ list, ...PLAIN, chips: [chip] });
    else if (id) follow(id, to);
  });

  const closeForm = quietly(async () => {
    const place = formed();
    if (formView) await ask("close form");
    dropForm();
    if (!opened) closeDrawer(); else { show(place); place.hidden = true; }
    [...root.querySelectorAll("button.do")].find((one) => one.textContent === acted)?.focus();
  });

  const act = quietly(async (one, forList) => {
    acted = one.label;
    if (one.control) return askFor(one);
    if (forList) { view = { ...view, id: null }; opened = null; }
    const answer = await ask("form", { do_what: one.do, label: one.label, for_list: forList });
    if (answer.list) return go({ list: answer.list, ...PLAIN });
    const child = await model.widget_manager.get_model(answer.model);
    const made = await child.widget_manager.create_view(child);
    dropForm();
    formView = made;
    drawer.hidden = false;
    if (forList) show(drawer, header(one.label), h("section", { class: "formed" }));
    const place = formed();
    place.hidden = false;
    show(place, div("bar", title(forList ? "" : one.label), button("edge close-form", () => closeForm(), "Close form")));
    if (made.luminoWidget) made.luminoWidget.constructor.attach(made.luminoWidget, place);
    else place.append(made.el);
    place.scrollIntoView({ block: "nearest" });
    place.querySelector("input:not([disabled]), select, textarea")?.focus();
  });

  /** Ask for what a control of the sandbox takes, where it takes more than the id. */
  function askFor(one) {
    const place = formed();
    dropForm();
    place.hidden = false;
    const boxes = one.asks.map((each) => {
      if (Array.isArray(each.wants)) return [each, h("select", {}, each.wants.map((choice) => h("option", { value: choice }, choice)))];
      if (each.wants !== "money") return [each, h("input", { placeholder: "optional" })];
      const cents = span("quiet cents");
      const box = h("input", { placeholder: "12.50, empty for the default", inputmode: "decimal", oninput: () => {
        const typed = box.value.trim(), found = /^(\d{1,15})\.(\d\d)$/.exec(typed);
        cents.textContent = found ? `= ${Number(found[1] + found[2]).toLocaleString("en")} cents` : typed ? "write it as 12.50" : "";
      } });
      return [each, box, cents];
    });
    const run = quietly(async () => {
      const values = Object.fromEntries(boxes.map(([each, box]) => [each.name, box.value]));
      await ask("control", { do_what: one.do, values });
      show(place);
      place.hidden = true;
    });
    show(place, title(`${one.label} in the sandbox`), div("ask",
      boxes.map(([each, ...parts]) => h("label", {}, each.label, parts)), button("main run", run, one.label)));
    place.querySelector("input, select, button").focus();
  }

  /** Close what was opened last: a menu, a form, or the details; its opener has the focus again. */
  function escape() {
    if (shut()) opener.focus();
    else if (formed() && !formed().hidden) closeForm();
    else if (!drawer.hidden) leave();
    else return false;
    return true;
  }

  const usable = (one) => one?.isConnected && !one.disabled && !one.closest("[hidden]");
  const known = (one) => [one.tagName, one.className, one.ariaLabel || one.textContent.replace(/[ ▲▼]+$/, "")].join();

  /** Give the focus of what was removed or hidden to its like, to what opened it, or to the part that is shown. */
  function refocus() {
    if (!held || usable(held) || (document.activeElement !== document.body && root.contains(document.activeElement) && usable(document.activeElement))) return;
    const alike = known(held), like = [...root.querySelectorAll(held.tagName)].find((one) => known(one) === alike && usable(one));
    const part = [drawer, grid, nav.querySelector("[aria-current=page]")].find((one) => usable(one) && one.offsetParent);
    const next = like || (held.closest(".pop") && usable(opener) ? opener : part);
    held = null;
    next?.focus({ preventScroll: true });
  }

  if (!of) {
    root.addEventListener("focusin", (event) => { held = event.target; });
    root.addEventListener("focusout", (event) => queueMicrotask(() => {
      if (held === event.target && usable(held) && document.hasFocus() && !root.contains(document.activeElement)) held = null; // a person left
    }));
    new MutationObserver(refocus).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "disabled"] });
  }

  if (!of) root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // a notebook has shortcuts of its own
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName), inForm = formView?.el.contains(event.target);
    if (event.key === "Escape" && !(inField && inForm) && event.target !== search && escape()) return;
    const act_ = event.altKey ? { ArrowLeft: () => step(past, future), ArrowRight: () => step(future, past) }[event.key]
      : event.key === "/" && !inField && view.list !== "overview" && (() => search.focus());
    if (act_) { event.preventDefault(); act_(); }
  });
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || !data?.lines || event.altKey) return;
    const row = cache.get(active), page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: data.lines - 1 };
    if (event.key === " ") { event.preventDefault(); choose(active, { shiftKey: false }); }
    else if (event.key === "c" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); copy("tsv"); }
    else if (event.key in moves) {
      event.preventDefault();
      const from = active;
      active = Math.min(Math.max(moves[event.key], 0), data.lines - 1);
      grid.scrollTop = Math.min(active * ROW, Math.max(grid.scrollTop, (active + 3) * ROW - grid.clientHeight));
      if (event.shiftKey) { if (!chosen.size) anchor = from; choose(active, event); } else drawRows();
    } else if (row?.group !== undefined) {
      if (event.key === "Enter" || event.key === (view.unfolded.includes(row.group) ? "ArrowLeft" : "ArrowRight")) { event.preventDefault(); fold(active); }
    } else if (event.key === "Enter" && row) open(row.id);
  });
  rows.addEventListener("click", (event) => {
    const box = event.target.closest("button") ? null : event.target.closest(".row"), place = box?.ariaRowIndex - 2;
    if (!cache.get(place)) return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) return choose(place, event);
    active = anchor = place;
    if (box.ariaExpanded) fold(place); else open(cache.get(place).id);
  });
  let frame = 0;
  grid.addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => drawLater(drawRows)); });
  const sized = new ResizeObserver(() => { if (data && view.list === data.list) { layOut(); drawLater(drawRows); } });
  sized.observe(grid);

  /** Show what is there now; `again` reads the list again in the kernel. */
  function refresh(keep, again = false) {
    if (dead) return;
    if (view.list === "overview") drawOverview();
    else load({ keep, again });
    second?.load({ keep });
    if (view.id) openDetails(view.id, Boolean(formView) || !formed()?.hidden);
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

  if (of) {
    Object.assign(of, { load, draw: drawRows });
    view = of.view;
    search.value = view.text;
    load({});
    return () => sized.disconnect();
  }
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
  return () => { clearInterval(timer); sized.disconnect(); model.off("msg:custom", heard); model.off("comm_live_update", died); };
}

/** Show the data of a file, which is printed as a table. */
function open_file(data, el) {
  const stored = new Stored(data), still = h("table", { class: "print" });
  render({ model: stored, el });
  el.append(still);
  addEventListener("beforeprint", () => {
    if (!data.lists.length) return;
    const { list, rows } = stored.table(stored.last || { list: data.lists[0].name });
    const columns = list.columns.filter((one) => one.kind !== "hidden"), write = { time: exact, id: short, address: middle };
    const text = (value, { kind }) => (Array.isArray(value) ? value[0] : value.name || (write[kind] || String)(value));
    show(still, h("thead", {}, h("tr", {}, columns.map((one) => h("th", {}, one.label)))),
      h("tbody", {}, rows.slice(0, PRINTED).map((row) => h("tr", {}, columns.map((one) => h("td", {}, text(stored.cell(list, one, row), one)))))));
  });
}

export { Stored, bars, written, exact, guarded, money, open_file, parsed };
export default { render };
