// The rows of a list. A column is dictionary-encoded: it has its distinct values (`of`) and, for each row, an index into them (`at`).
// Filtering, sorting and grouping read each distinct value once, and then only indexes.
import { isNumber, isTime, money } from "./elements.js";
import { COMPARE, parsed } from "./filter.js";

const BINS = 8, MOST_BARS = 6, DIGITS = 6, MOST_PERIODS = 31, TABLES = 4;
const PERIODS = [13, 10, 7, 4]; // length of a time's text, if cut after the hour, day, month or year
const ARRAYS = { B: Uint8Array, H: Uint16Array, I: Uint32Array };

const number = (value) => { const text = String(value ?? "").replaceAll(",", ""); return text.trim() && Number.isFinite(Number(text)) ? Number(text) : null; };
const stamped = (at) => new Date(at).toISOString().slice(0, 19).replace("T", " ");

/** Decode the index of each row's value from base 64. Without indexes, each row has its own value. */
function places(packed, count) {
  if (!packed) return Int32Array.from({ length: count }, (_, row) => row);
  const [code, text] = packed, bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Int32Array(new ARRAYS[code](bytes.buffer));
}

/** Dictionary-encode a column. If most of its values are distinct, the kernel sends one value for each row. */
function coded(column) {
  if (!column.raw) return column;
  const known = new Map(), { of, shown } = column;
  column.at = column.at.map((place) => {
    let which = known.get(of[place]);
    if (which === undefined) known.set(of[place], which = known.size);
    return which;
  });
  column.of = [...known.keys()];
  if (shown) { column.shown = []; of.forEach((value, place) => { column.shown[known.get(value)] = shown[place]; }); }
  column.raw = false;
  return column;
}

/** The index of each distinct value. */
const indexed = (column) => (column.known ??= new Map(column.of.map((value, which) => [value, which])));

/** The number of decimal places that the numbers need, at most six. */
const decimals = (values) => Math.min(DIGITS, values.reduce((most, value) => Math.max(most, (String(value).split(".")[1] || "").length), 0));

class List {
  constructor(packed) {
    Object.assign(this, packed, { fresh: new Set(), tables: new Map() });
    const unpack = (column) => ({ ...column, at: places(column.at, this.count), raw: !column.at });
    this.columns = packed.columns.map(unpack);
    this.keys = packed.ids ? unpack(packed.ids) : this.columns.find((column) => column.kind === "id" && !column.to) || this.columns[0];
    this.forget();
    this.rows = Int32Array.from({ length: this.count }, (_, row) => row);
    if (this.newest) this.rows = this.sorted(this.rows, this.newest);
    if (this.newest !== null) this.rows.reverse();
  }

  forget() {
    this.tables.clear();
    this.byId = null;
    this.currency = this.columns.find((column) => column.name === "currency");
    this.status = this.columns.find((column) => column.name === "status");
    for (const column of [this.currency, this.status]) if (column) coded(column);
  }

  /** Apply the kernel's changes, which are rows with their positions. The positions of new rows follow those of known rows. */
  update({ at, rows, mark }) {
    const changes = new List(rows), before = this.count, count = Math.max(before, (at.at(-1) ?? -1) + 1), changed = new Set(at);
    const merge = (column, other) => {
      const known = indexed(coded(column)), { size } = known, places = new Int32Array(count);
      if (other.shown) column.shown ??= column.of.map(() => null);
      const whiches = other.of.map((value, which) => {
        if (!known.has(value)) { known.set(value, column.of.push(value) - 1); column.shown?.push(other.shown?.[which] ?? null); }
        return known.get(value);
      });
      places.set(column.at);
      at.forEach((row, place) => { places[row] = whiches[other.at[place]]; });
      column.at = places;
      if (known.size > size) column.ranks = null;
      if (column.pairs) column.texts = column.pairs = null;
    };
    this.columns.forEach((column, which) => merge(column, changes.columns[which]));
    if (!this.columns.includes(this.keys)) merge(this.keys, changes.keys);
    this.rows = this.inserted(this.rows.filter((row) => !changed.has(row)), at);
    Object.assign(this, { count, all: count, mark, notes: rows.notes, digits: { ...this.digits, ...rows.digits }, fresh: new Set(at.filter((row) => row >= before).map((row) => this.id(row))) });
    this.forget();
  }

  /** Merge other rows into rows in the order of the list. Of rows with the same time, the last row comes first. */
  inserted(rows, others) {
    const column = this.newest && this.column(this.newest), time = (row) => (column ? column.of[column.at[row]] ?? -Infinity : 0);
    const isBefore = (a, b) => (this.newest === null ? a < b : time(a) > time(b) || (time(a) === time(b) && a > b));
    const left = [...others].sort((a, b) => (isBefore(a, b) ? -1 : 1)), found = new Int32Array(rows.length + left.length);
    let next = 0, old = 0;
    for (let place = 0; place < found.length; place++) found[place] = next < left.length && (old === rows.length || isBefore(left[next], rows[old])) ? left[next++] : rows[old++];
    return found;
  }

  id(row) { return String(this.keys?.of[this.keys.at[row]] ?? row); }

  /** The row with an id, or undefined if the list does not contain the id. */
  row(id) {
    this.byId ??= new Map(Array.from(this.rows, (row) => [this.id(row), row]));
    return this.byId.get(id);
  }

  /** Find a column by its name, the beginning of its name, or a part of its name. */
  column(name) {
    const wanted = name.toLowerCase().replaceAll(" ", "_");
    for (const test of [(text) => text === wanted, (text) => text.startsWith(wanted), (text) => text.includes(wanted)]) {
      const found = this.columns.find((column) => test(column.name) || test(column.label.toLowerCase().replaceAll(" ", "_")));
      if (found) return found;
    }
    return null;
  }

  /** Whether a table shows a column. Columns without any value are left out. */
  isShown({ kind, of }) { return kind !== "hidden" && (!this.count || of.some((value) => value !== null)); }

  value(column, row) { return column.of[column.at[row]]; }

  code(row) { return (this.currency ? this.value(this.currency, row) || "USD" : "USD").toUpperCase(); }

  money(cents, code) { return money(cents, code, this.digits[code]); }

  /** The currency code of each row. */
  codes(rows = this.rows) {
    return this.currency ? [...new Set(Array.from(new Set(rows.map((row) => this.currency.at[row])), (place) => (this.currency.of[place] || "USD").toUpperCase()))] : ["USD"];
  }

  /** The text of a value that comparisons use. */
  plain({ kind }, value) { return value === null ? "" : isTime(kind) && typeof value === "number" ? `${stamped(value)} UTC` : String(value); }

  /** The text to search for each distinct value, and the index of that text for each row. An amount includes its row's currency. */
  texts(column) {
    const { kind, of, at, shown } = coded(column), { currency } = this;
    const text = (value, which, code) => (value === null ? "" : kind === "status" ? `${value} ${shown[which][2]}`
      : kind === "money" && typeof value === "number" ? this.money(value, code) : shown?.[which] ? `${shown[which]} ${value}` : this.plain(column, value)).toLowerCase();
    if (kind !== "money" || !currency) {
      const texts = column.texts ??= { of: [] };
      for (let which = texts.of.length; which < of.length; which++) texts.of.push(text(of[which], which, "USD"));
      return { ...texts, at };
    }
    if (column.texts) return column.texts;
    const pairs = column.pairs = new Map(), found = at.map((place, row) => {
      const key = place * currency.of.length + currency.at[row];
      if (!pairs.has(key)) pairs.set(key, pairs.size);
      return pairs.get(key);
    });
    return column.texts = { at: found, of: [...pairs.keys()].map((key) => {
      const place = Math.floor(key / currency.of.length), code = currency.of[key % currency.of.length] || "USD";
      return text(of[place], place, code.toUpperCase());
    }) };
  }

  /** Build the indexes for searching and sorting while the page is idle, one column at a time. */
  prepare(next = 0) {
    if (next >= this.columns.length) return;
    setTimeout(() => { this.texts(this.columns[next]); this.ranks(this.columns[next]); this.prepare(next + 1); });
  }

  /** The distinct values that a comparison matches. */
  holding(column, compare, value) {
    const test = COMPARE[compare], { kind, of } = coded(column);
    if (isNumber(kind)) {
      const typed = number(value), wanted = typed === null || kind === "number" ? typed : Number((typed * 100).toFixed(2));
      return of.map((each) => { const found = number(each); return found !== null && wanted !== null && test(found, wanted); });
    }
    const size = isTime(kind) ? value.length : undefined; // 2026-01 matches the entire month
    return of.map((each) => { const text = this.plain(column, each).toLowerCase().slice(0, size); return text !== "" && test(text, value); });
  }

  /** The rows that match every term of a filter. */
  filter(text) {
    let rows = this.rows;
    for (const { column: name, compare, value } of parsed(text)) {
      const column = name && this.column(name);
      if (column && compare !== ":") {
        const holds = this.holding(column, compare, value), { at } = column;
        rows = rows.filter((row) => holds[at[row]]);
        continue;
      }
      const wanted = column || !name ? value : `${name}${compare}${value}`.toLowerCase(), passing = new Uint8Array(this.count);
      for (const { of, at } of (column ? [column] : this.columns).map((each) => this.texts(each))) {
        const holds = of.map((each) => each.includes(wanted));
        if (holds.includes(true)) for (const row of rows) if (holds[at[row]]) passing[row] = 1;
      }
      rows = rows.filter((row) => passing[row]);
    }
    return rows;
  }

  /** Names in a filter that match no column. */
  unknown(text) {
    return [...new Set(parsed(text).map((term) => term.column))].filter((name) => /^\p{L}/u.test(name ?? "") && !this.column(name));
  }

  /** The rank of each distinct value in sort order. An empty value has rank -1. */
  ranks(column) {
    if (column.ranks) return column.ranks;
    const { kind, of, shown, to } = coded(column), numbers = (isNumber(kind) || isTime(kind)) && of.every((value) => value === null || number(value) !== null);
    const keys = of.map((value, which) => (numbers ? Number(value) : (to && shown?.[which]) || value));
    const given = new Set(keys.filter((_, which) => of[which] !== null)), order = numbers ? Float64Array.from(given).sort() : [...given].sort((a, b) => (a > b) - (a < b));
    const ranks = new Map(Array.from(order, (key, rank) => [key, rank]));
    return column.ranks = Int32Array.from(keys, (key, which) => (of[which] === null ? -1 : ranks.get(key)));
  }

  /** Sort rows by a column, descending if "-" precedes its name. Rows without a value come last, and equal rows keep their order. */
  sorted(rows, key) {
    const column = this.column(key.replace(/^-/, "")), ranks = this.ranks(column), { at } = column, count = column.of.length + 1;
    const place = key.startsWith("-") ? (rank) => (rank < 0 ? count - 1 : count - 2 - rank) : (rank) => (rank < 0 ? count - 1 : rank);
    const starts = new Int32Array(count + 1), found = new Int32Array(rows.length);
    for (const row of rows) starts[place(ranks[at[row]]) + 1] += 1;
    for (let each = 0; each < count; each++) starts[each + 1] += starts[each];
    for (const row of rows) found[starts[place(ranks[at[row]])]++] = row;
    return found;
  }

  /** The periods of times as texts: hours, days or months if there are few of them, otherwise years. */
  period(column, rows) {
    const texts = [...new Set(rows.map((row) => column.at[row]))].map((place) => column.of[place]).filter((at) => at !== null).map(stamped);
    return PERIODS.find((size) => {
      const found = new Set();
      return texts.every((text) => found.add(text.slice(0, size)).size <= MOST_PERIODS);
    }) || PERIODS.at(-1);
  }

  /** The rows of each group of a column. Groups are in the order of their first rows, or of their subtotals if all have one currency. */
  groups(rows, name, sort) {
    const column = this.column(name), { of, at } = coded(column), first = sort[0] && this.column(sort[0].replace(/^-/, ""));
    const size = isTime(column.kind) && this.period(column, rows);
    const keys = of.map((value) => (value === null ? "" : size ? stamped(value).slice(0, size) : String(value))), groups = new Map();
    for (const row of rows) {
      const key = keys[at[row]];
      if (!groups.has(key)) groups.set(key, { group: key, value: size ? key : this.cell(column, row), rows: [] });
      groups.get(key).rows.push(row);
    }
    const found = [...groups.values()], back = sort[0]?.startsWith("-") ? -1 : 1;
    if (first?.kind !== "money" || this.codes(rows).length > 1) return found;
    const totals = new Map(found.map((group) => [group, this.sum(first, this.moving(group.rows)) ?? 0]));
    return found.sort((a, b) => back * ((totals.get(a) > totals.get(b)) - (totals.get(a) < totals.get(b))));
  }

  /** The rows of a view, and its lines, which are rows and groups. */
  table({ filter = "", sort = [], group = "", unfolded = [] }) {
    const key = JSON.stringify([filter, sort, group]), known = group && this.columns.some((column) => column.name === group);
    if (!this.tables.has(key)) {
      if (this.tables.size >= TABLES) this.tables.clear();
      let rows = this.filter(filter);
      for (const each of [...sort].reverse()) if (this.column(each.replace(/^-/, ""))) rows = this.sorted(rows, each);
      this.tables.set(key, { rows, groups: known ? this.groups(rows, group, sort) : null });
    }
    const { rows, groups } = this.tables.get(key);
    return { rows: groups ? Int32Array.from(groups.flatMap((each) => each.rows)) : rows, groups, all: rows,
      lines: groups ? groups.flatMap((each) => [each, ...(unfolded.includes(each.group) ? each.rows : [])]) : rows };
  }

  /** The rows of selected lines. A collapsed group contributes all of its rows. */
  chosen(view, lines) {
    const table = this.table(view);
    return lines.flatMap((line) => { const row = table.lines[line]; return row.rows ? (view.unfolded?.includes(row.group) ? [] : row.rows) : row; });
  }

  /** The rows that were not declined, since sums leave declined amounts out. */
  moving(rows) {
    const { status } = this, declined = status ? status.of.indexOf("declined") : -1;
    return declined < 0 ? rows : rows.filter((row) => status.at[row] !== declined);
  }

  /** The exact sum of amounts, or null if no row has an amount. */
  sum({ of, at }, rows) {
    let total = 0, size = 0, count = 0;
    for (const row of rows) {
      const value = of[at[row]];
      if (value === null) continue;
      count += 1;
      total += Number(value);
      size += Math.abs(value);
    }
    if (Number.isSafeInteger(size)) return count ? total : null;
    return rows.reduce((sum, row) => (/^-?\d+$/.test(of[at[row]] ?? "") ? sum + BigInt(of[at[row]]) : sum), 0n);
  }

  /** The sums of the rows' amounts, by column and currency. */
  totals(rows) {
    const moving = this.moving(rows), codes = this.codes(moving).sort();
    const parts = codes.map((code) => [code, codes.length === 1 ? moving : moving.filter((row) => this.code(row) === code)]);
    return this.columns.filter((column) => column.kind === "money").flatMap((column) => {
      const sums = parts.map(([code, of]) => [code, this.sum(column, of)]).filter(([, sum]) => sum !== null);
      return sums.length ? [[column, sums.map(([code, sum]) => this.money(sum, code)).join(" + ")]] : [];
    });
  }

  sums(rows) { return this.totals(rows).map(([column, text]) => [column.label, text]); }

  /** The mean of the first amount column, or nothing if the rows have several currencies. */
  mean(rows) {
    const column = this.columns.find((each) => each.kind === "money");
    const known = column ? this.moving(rows).filter((row) => this.value(column, row) !== null) : [], codes = this.codes(known);
    if (!known.length || codes.length !== 1) return "";
    const twice = 2n * BigInt(this.sum(column, known)) + BigInt(known.length), by = 2n * BigInt(known.length), down = twice / by;
    return this.money(twice < 0n && twice % by ? down - 1n : down, codes[0]);
  }

  /** What a cell displays: a text, a status with its color, a time, or an id with its label. */
  cell(column, row) {
    const place = column.at[row], value = column.of[place];
    if (value === null) return "";
    if (column.kind === "status") return column.shown[place].slice(0, 2);
    if (isTime(column.kind) && typeof value === "number") return new Date(value).toISOString();
    if (column.kind === "money" && typeof value === "number") return this.money(value, this.code(row));
    return column.to && column.shown?.[place] ? { id: value, name: column.shown[place] } : String(value);
  }

  /** What a line of a table displays. */
  line(line) {
    if (line.rows) return { group: line.group, value: line.value, count: line.rows.length, sums: line.sums ??= Object.fromEntries(this.totals(line.rows).map(([column, text]) => [column.name, text])) };
    const id = this.id(line);
    return { id, fresh: this.fresh.has(id), cells: this.columns.map((column) => this.cell(column, line)) };
  }

  /** The distribution of values in each column: the number of empty cells, and bars with label, count and filter. */
  summary(rows) {
    return Object.fromEntries(this.columns.map((column) => {
      const { at, of } = coded(column), counts = new Int32Array(of.length);
      for (const row of rows) counts[at[row]] += 1;
      const present = [...of.keys()].filter((place) => counts[place] && of[place] !== null);
      return [column.name, { missing: rows.length - present.reduce((sum, place) => sum + counts[place], 0), bars: this.bars(column, present, counts) }];
    }));
  }

  bars(column, present, counts) {
    const { name, kind, of, shown } = column, total = present.reduce((sum, place) => sum + counts[place], 0);
    if (!present.length) return [];
    if (isNumber(kind)) return bins(name, kind, present.map((place) => [of[place], counts[place]]), total);
    if (isTime(kind)) {
      const size = this.period({ of, at: present }, [...present.keys()]), found = new Map();
      for (const place of present) { const text = stamped(of[place]).slice(0, size); found.set(text, (found.get(text) || 0) + counts[place]); }
      return [...found].sort().map(([label, count]) => ({ label, count, filter: [`${name}="${label}"`] }));
    }
    if (present.length > 1 && present.length === total) return [];
    const called = (place) => (kind === "status" ? shown[place][2] : shown?.[place] || String(of[place]));
    return present.sort((a, b) => counts[b] - counts[a] || (of[a] < of[b] ? -1 : 1)).slice(0, MOST_BARS).map((place) =>
      ({ label: called(place), count: counts[place], filter: String(of[place]).includes('"') ? [] : [`${name}="${of[place]}"`] }));
  }

  /** Rows for copying. An amount is its minor units and number of decimal places. */
  values(rows) {
    const columns = this.columns.filter((column) => column.kind !== "hidden");
    const value = (column, row) => {
      const found = this.value(column, row);
      if (column.kind === "money" && typeof found === "number") return [found, this.digits[this.code(row)]];
      return found !== null && isTime(column.kind) ? new Date(found).toISOString() : found;
    };
    return { columns, rows: Array.from(rows, (row) => columns.map((column) => value(column, row))) };
  }

  /** Rows as a CSV file. */
  csv(rows) {
    const text = (column, row) => { const value = this.value(column, row); return typeof value === "number" && !isTime(column.kind) ? String(value) : guarded(this.plain(column, value)); };
    return [this.columns.map((column) => guarded(column.name)), ...Array.from(rows, (row) => this.columns.map((column) => text(column, row)))].map((line) => `${line.join(",")}\r\n`).join("");
  }
}

/** Put numbers into bins of equal width. Amounts are in cents, and limits of bins in dollars. The last bin also has all larger numbers. */
function bins(name, kind, counted, total) {
  const digits = kind === "money" ? 2 : decimals(counted.map(([value]) => value));
  const units = counted.map(([value, count]) => [kind === "money" ? Number(value) : Math.trunc(Number((Number(value) * 10 ** digits).toFixed(3))), count]).sort((a, b) => a[0] - b[0]);
  let seen = 0;
  const high = units.find(([, count]) => (seen += count) > Math.floor(total * 19 / 20))[0], low = units[0][0];
  const step = Math.max(1, Math.ceil((high - low + 1) / BINS)), found = Array(BINS).fill(0), limit = (at) => (low + at * step) / 10 ** digits;
  for (const [value, count] of units) found[Math.min(BINS - 1, Math.floor((value - low) / step))] += count;
  return found.map((count, at) => {
    const last = at === BINS - 1, to = limit(at + 1);
    return { label: `${limit(at)} ${last ? "and more" : `to ${to}`}`, count, filter: [`${name}>=${limit(at)}`, ...(last ? [] : [`${name}<${to}`])] };
  });
}

/** Escape a text so that a spreadsheet does not run it as a formula. */
function guarded(text) {
  const safe = /^ *[=+\-@\t\r\n＝＋－＠]|^'/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Format rows for copying, as "tsv" for a spreadsheet, "json" or "python". */
function written({ columns, rows }, form) {
  if (form === "tsv") {
    const text = (value) => {
      if (value === null) return "";
      if (Array.isArray(value)) return (value[0] / 10 ** value[1]).toFixed(value[1]);
      return typeof value === "number" ? value : (/^\s*[=+\-@]/.test(value) ? `'${value}` : value).replace(/[\t\r\n]+/g, " ");
    };
    return [columns.map((column) => column.label), ...rows.map((row) => row.map(text))].map((row) => row.join("\t")).join("\n");
  }
  const found = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at].name, Array.isArray(value) ? value[0] : value])));
  const json = JSON.stringify(found, null, 2);
  return form === "json" ? json : `rows = ${json.replace(/: null(,?)$/gm, ": None$1")}`;
}

export { List, guarded, written };
