// The table of a list, with its tools, filter, headers, visible rows and selection. A panel shows one table, or two side by side.
import { HERE, ago, aside, button, div, exact, grouped, h, isNumber, isTime, keep, kept, middle, option, rowsOf, short, show, span, title } from "./elements.js";
import { written } from "./engine.js";
import { compares, terms } from "./filter.js";

const ROW = 32, WAIT = 60, SLIM = 480;
const WIDTHS = { id: 96, address: 132, time: 104, wall: 104, number: 88, text: 130 }; // minimum widths of columns in pixels, by kind
const CLOCKS = { time: "by the sandbox's clock", wall: "by this machine's clock" };
const PLAIN = { id: null, chips: [], text: "", sort: [], group: "", unfolded: [] }; // a list that is not filtered, sorted or grouped
const bare = (key) => key.replace(/^-/, ""); // the name of the sorted column, without the sign for descending order
const zone = () => ({ UTC: "UTC", here: HERE })[kept().times];
let tables = 0;

/** Make a table of a panel. `second`, given for the second of two tables, closes it. */
function makeTable(host, second) {
  const uid = `wbp-${++tables}`;
  const search = h("input", { class: "search", type: "search", "aria-label": "Search or filter", placeholder: "Search, or status:declined amount>200   ( / )" });
  const buttons = div("buttons"), tools = div("tools", search, buttons), chips = div("chips"), inputs = div("inputs"), notes = div("notes quiet");
  const heads = h("div", { role: "rowgroup", class: "heads" }), rows = h("div", { role: "rowgroup", class: "rows" });
  const grid = h("div", { class: "grid", role: "grid", tabindex: 0 }, heads, rows), foot = h("div", { class: "foot", role: "status" }), called = div("called");
  const el = div("main-part", called, tools, chips, inputs, notes, grid, foot);
  let slim = false, view = { ...PLAIN }, list = null, table = null, opener = null;
  let chosen = new Set(), anchor = 0, active = 0; // selected lines, start of a range, and line with the keyboard focus

  const full = (one = view) => [...one.chips, one.text.trim()].filter(Boolean).join(" ");

  /** Change what the table shows. */
  function change(next, stay = false) {
    view = { ...view, name: "", ...next };
    host.changed?.(view);
    draw(stay);
  }

  /** Show a list from its beginning, or where it was scrolled to before. */
  function open(shown, next, stay = false) {
    const other = list?.name !== shown.name;
    list = shown;
    view = next;
    if (search.value !== view.text) search.value = view.text;
    if (other) drawTools();
    draw(stay && !other);
  }

  function draw(stay) {
    const at = stay && table?.lines[active], held = at === undefined || at === false ? null : at.rows ? at.group : list.id(at);
    table = list.table({ ...view, filter: full() });
    if (!stay) { chosen = new Set(); active = 0; grid.scrollTop = 0; } else if (held !== null) { const row = list.row(held), place = table.lines.indexOf(row); if (place >= 0) active = place; }
    drawInputs();
    drawChips();
    drawTable();
  }

  const setting = (what) => kept()[what]?.[view.list];
  const set = (what, value) => keep(what, { ...kept()[what], [view.list]: value });
  const pinned = () => setting("pinned");
  const hidden = () => new Set(view.hidden || setting("hidden") || []);

  const isSlim = () => grid.clientWidth < SLIM;

  /** The displayed columns in order: pinned, first, status, text, amounts (which a narrow table must not cut off), and all other columns. */
  function columns() {
    const first = pinned(), not = hidden(), amounts = list.columns.findIndex((one) => one.kind === "money");
    slim = isSlim();
    const rank = (one) => (one.name === first ? 0 : !one.place && !(slim && isTime(one.kind)) ? 1 : one.kind === "status" ? 2 : one.place < amounts && one.kind === "text" ? 3 : one.kind === "money" ? 4 : 5);
    return list.columns.map((one, place) => ({ ...one, place, look: `cell${isNumber(one.kind) ? " right" : ""}${one.name === first ? " pinned" : ""}` }))
      .filter((one) => list.isShown(one) && !not.has(one.name)).sort((a, b) => rank(a) - rank(b));
  }

  const pen = document.createElement("canvas").getContext("2d");

  /** The width of a text in the table's font. */
  function breadth(texts, weight = "") {
    const { fontSize, fontFamily } = getComputedStyle(grid); // with forced colors, `font` is empty
    pen.font = `${weight} ${fontSize} ${fontFamily}`;
    return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
  }

  /** The width of a column, as a person chose it or as its header and values require. */
  function width({ name, kind, label, of, shown }) {
    const own = setting("widths")?.[name], head = breadth([label], "600") + 18;
    if (own) return own;
    if (zone() && CLOCKS[kind]) return Math.max(head, 160 + 7 * (zone().length - 3));
    if (kind === "status") return Math.max(head, breadth(shown.map((each) => each?.[0] || "")) + 30);
    if (kind !== "money") return Math.max(head, WIDTHS[kind] || WIDTHS.text);
    const largest = of.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0);
    return Math.max(head, breadth(list.codes().map((code) => list.money(largest, code))) + 17);
  }

  /** Set the width of every column, and give the remaining width to text columns. */
  function layOut() {
    if (!list) return;
    const shown = columns(), texts = shown.filter((one) => one.kind === "text" && !setting("widths")?.[one.name]), widths = new Map(shown.map((one) => [one, width(one)]));
    const spare = Math.max(0, grid.clientWidth - [...widths.values()].reduce((sum, one) => sum + one, 0)), share = Math.floor(spare / texts.length);
    el.style.setProperty("--wbp-columns", shown.map((one) => `${widths.get(one) + (texts.includes(one) ? share : 0)}px`).join(" "));
  }

  function drawTable() {
    const shown = columns(), count = table.rows.length;
    show(heads, !shown.length ? null : h("div", { class: "row", role: "row", "aria-rowindex": 1 }, shown.map((one) => {
      const key = view.sort.find((each) => bare(each) === one.name), way = key && (key === one.name ? "ascending" : "descending");
      return h("div", { class: one.look, role: "columnheader", "aria-sort": way || "none" },
        button(`sort-${one.name}`, (event) => sort(one.name, event.shiftKey), one.label + (way ? (way === "ascending" ? " ▲" : " ▼") : ""), { title: `Sort by ${one.label}; with Shift as a further column. Shift and an arrow change its width.`, onkeydown: (event) => nudge(event, one) }),
        h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => drag(event, one) }));
    })));
    grid.hidden = !shown.length;
    layOut();
    grid.ariaLabel = `${list.label}, ${count} rows`;
    grid.ariaRowCount = table.lines.length + 1;
    grid.role = view.group ? "treegrid" : "grid";
    rows.style.height = `${table.lines.length * ROW}px`;
    show(called, second || host.besides() ? [title(view.name || list.label), second && button("edge", second, "×", "Close the second view")] : []);
    show(notes, [...list.notes, ...list.unknown(full()).map((name) => `No column is called ${name}: it is searched as text.`)].map((one) => h("div", {}, one)), parts());
    const all = rowsOf(list.partial ? list.all : list.count), none = !count && full();
    show(foot, span("count", none ? "0 matches" : count === list.count ? all : `${grouped(count)} of ${all}`),
      none && button("edge clear", () => filter([], ""), "Clear filter"), list.partial ? aside("Reading the other rows …") : sums(list.sums(table.all)));
    drawSummary();
    drawRows();
    drawChosen();
  }

  /** Show which part of a long list is visible, with links to the other parts. */
  function parts() {
    if (list.all <= list.most || list.partial) return null;
    const part = list.first / list.most, last = Math.ceil(list.all / list.most) - 1, column = list.columns.find((one) => isTime(one.kind));
    const ends = column ? [list.count - 1, 0].map((row) => list.cell(column, row).slice(0, 10)).join(" to ") : `rows ${grouped(list.first + 1)} to ${grouped(list.first + list.count)}`;
    return div("parts", `${rowsOf(list.all)} in ${last + 1} parts of ${grouped(list.most)} by time; this is part ${part + 1}: ${ends}. Search, order and sums are of this part. `,
      part < last && button("edge", () => host.part(list.name, part + 1), "Older"), part > 0 && button("edge", () => host.part(list.name, part - 1), "Newer"));
  }

  /** The sums of the first and last amount columns. Hovering shows the sums of all amount columns. */
  function sums(found) {
    const texts = found.map((one) => `Σ ${one.join(" ")}`), ends = new Set([texts[0], texts.at(-1)]);
    return h("span", { class: "sums quiet ends", title: texts.join("\n") }, [...ends].join(" · "));
  }

  function drawSummary() {
    heads.querySelector(".summary")?.remove();
    if (!kept().summary || !table.rows.length || list.partial) return;
    const summary = list.summary(table.rows);
    heads.append(h("div", { class: "row summary", role: "row" }, columns().map((one) => {
      const { missing, bars } = summary[one.name], most = Math.max(1, ...bars.map((bar) => bar.count));
      return gridcell(one.look, missing > 0 && `${grouped(missing)} without a value`, bars.map((bar) => {
        const text = `${bar.label}: ${rowsOf(bar.count)}`;
        return button("bar", () => filter([...view.chips, ...bar.filter], view.text), "", { title: text, "aria-label": `Show ${text}`, disabled: !bar.filter.length || !bar.count, style: `--size: ${Math.round(100 * bar.count / most)}%` });
      }));
    })));
  }

  function choose(place, event) {
    if (event.shiftKey) chosen = new Set(Array.from({ length: Math.abs(place - anchor) + 1 }, (_, at) => Math.min(anchor, place) + at));
    else { if (chosen.has(place)) chosen.delete(place); else chosen.add(place); anchor = place; }
    active = place;
    selected();
  }

  function selected() {
    drawRows();
    drawChosen();
    if (!host.info.as_of) host.ask("select", { list: list.name, mark: list.mark, rows: absolute(chosenRows()) }).catch(() => {});
  }

  /** Expand or collapse a group. Other rows stay selected. */
  function fold(place) {
    const { group, rows: of } = table.lines[place], open_ = view.unfolded.includes(group), last = open_ ? place + of.length : place;
    chosen = new Set([...chosen].filter((at) => at < place || at > last).map((at) => (at < place ? at : open_ ? at - of.length : at + of.length)));
    active = anchor = place;
    view = { ...view, unfolded: open_ ? view.unfolded.filter((one) => one !== group) : [...view.unfolded, group] };
    table = list.table({ ...view, filter: full() });
    drawTable();
  }

  const chosenRows = () => list.chosen({ ...view, filter: full() }, [...chosen].sort((a, b) => a - b));
  const absolute = (found) => Array.from(found, (row) => list.first + row);

  function drawChosen() {
    foot.querySelector(".chosen")?.remove();
    const found = chosen.size ? chosenRows() : [];
    if (!found.length) return;
    const [first] = list.sums(found), mean = list.mean(found);
    foot.append(span("chosen", `${grouped(found.length)} selected`, first ? ` · Σ ${first.join(" ")}` : "", mean ? ` · mean ${mean}` : "",
      Object.entries({ tsv: "Copy", json: "Copy as JSON", python: "Copy as Python" }).map(([form, text]) => button("edge", () => copy(form), text))));
  }

  const copy = host.quietly(async (form) => {
    const values = list.values(chosen.size ? chosenRows() : [table.lines[active]].flatMap((line) => line.rows || line));
    await navigator.clipboard.writeText(written(values, form));
    host.say(`Copied ${rowsOf(values.rows.length)}.`);
  });

  const gridcell = (look, hint, ...content) => h("div", { class: look, role: "gridcell", title: hint }, content);

  function drawRows() {
    if (!list) return;
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 8), last = Math.min(table.lines.length, first + Math.ceil(grid.clientHeight / ROW) + 16);
    const shown = columns(), made = [], id = host.opened();
    for (let place = first; place < last; place++) {
      const line = list.line(table.lines[place]), group = line.group !== undefined, open_ = group && view.unfolded.includes(line.group);
      const look = ["row", line.fresh && "new", place === active && "active", id && id === line.id && "opened", chosen.has(place) && "chosen"].filter(Boolean).join(" ");
      made.push(h("div", { class: look, role: "row", id: `${uid}-${place}`, style: `top: ${place * ROW}px`,
        "aria-rowindex": place + 2, "aria-selected": chosen.has(place), "aria-level": view.group ? 1 + !group : null, "aria-expanded": group ? String(open_) : null },
      group ? groupCells(line, shown) : shown.map((one) => rowCell(one, line))));
    }
    show(rows, made);
    grid.setAttribute("aria-activedescendant", table.lines.length ? `${uid}-${active}` : "");
  }

  function rowCell(one, line) {
    const value = line.cells[one.place], made = gridcell(one.look, one.kind === "text" ? value : one.kind === "status" && value[0], cell(value, one));
    const held = one.kind === "status" && list.columns.findIndex((other) => other.name === "held_cents");
    if (value && held >= 0 && held !== false) made.ariaLabel = `${value[0].replace(/^\S+ /, "")}${/[1-9]/.test(line.cells[held]) ? `, held ${line.cells[held]}` : ""}`;
    return made;
  }

  /** The cells of a group. Its value and count precede the first amount, and each subtotal is in its column. */
  function groupCells(line, shown) {
    const by = list.column(view.group), amount = shown.findIndex((one, at) => at && line.sums[one.name]), before = amount < 0 ? shown.length : amount, own = line.sums[shown[0].name];
    const head = gridcell("cell group", line.group, cell(line.value, isTime(by.kind) ? {} : by) || aside(`no ${by.label.toLowerCase()}`), aside(` ${rowsOf(line.count)}`), own && ` Σ ${own}`);
    head.style.gridColumn = `span ${before}`;
    return [head, ...shown.slice(before).map((one) => gridcell(one.look, line.sums[one.name], line.sums[one.name]))];
  }

  const cell = (value, column, whole) => drawCell(host, value, column, whole);

  function drawTools() {
    const popup = (text, name, build) => button(`edge ${name}`, (event) => toggle(event.currentTarget, build), text, { "aria-haspopup": "true" });
    shut();
    show(buttons, second ? null : list.actions.map((one) => button("edge do", () => host.act(one, true), one.label)),
      button("edge summarize", (event) => {
        keep("summary", !kept().summary);
        event.currentTarget.ariaPressed = Boolean(kept().summary);
        drawSummary();
      }, "Summary", { "aria-pressed": Boolean(kept().summary) }), popup("Columns and views", "choose", chooser), popup("Export", "export", exporter));
  }

  function drawChips() {
    const by = view.group && list.columns.find((one) => one.name === view.group);
    show(chips, by && button("chip", () => change({ group: "", unfolded: [] }), `by ${by.label} ×`, "Remove the groups"), view.chips.map((one, place) => button("chip", () => filter(view.chips.filter((_, other) => other !== place), view.text), `${one} ×`, `Remove filter ${one}`)));
  }

  function drawInputs() {
    if (!list.users) return show(inputs);
    if (inputs.childElementCount && inputs.contains(document.activeElement)) return;
    const known = `${uid}-users`, box = h("input", { class: "in-user", list: known, value: list.user });
    show(inputs, h("label", {}, "User", box, h("datalist", { id: known }, list.users.map((each) => h("option", { value: each })))),
      button("main read", () => host.read(list.name, box.value), "Read rewards"));
  }

  function sort(name, further) {
    const now = view.sort.find((one) => bare(one) === name), next = now ? (now === name ? [`-${name}`] : []) : [name];
    change({ sort: [...(further ? view.sort.filter((one) => one !== now) : []), ...next] });
  }

  function filter(on, text, more) {
    if (search.value !== text) search.value = text;
    change({ chips: on, text, ...more });
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

  /** Close the open menu. */
  function shut() {
    const pop = tools.querySelector(".pop");
    pop?.remove();
    return pop;
  }

  function toggle(by, build) {
    const name = by.textContent;
    if (shut()?.ariaLabel === name) return;
    const pop = h("div", { class: "pop", role: "group", "aria-label": name }, build());
    opener = by;
    tools.append(pop);
    pop.querySelector("button, input, select")?.focus();
  }

  function chooser() {
    const name = h("input", { "aria-label": "Name of the view", placeholder: "Name of the view" });
    const views = () => Object.entries(setting("views") || {}), others = (which) => views().filter(([other]) => other !== which);
    const save = () => {
      const which = name.value.trim(), { chips: on, text, sort: by, group } = view;
      if (!which) return name.focus();
      set("views", Object.fromEntries([...others(which), [which, { chips: on, text, sort: by, hidden: [...hidden()], group }]]));
      shut();
      host.say(`Saved the view ${which}.`);
    };
    const conceal = (names) => { if (second) view.hidden = names; else set("hidden", names); };
    const use = (which, one) => {
      conceal(one.hidden);
      shut();
      filter(one.chips, one.text, { sort: one.sort, group: one.group, unfolded: [], name: which });
    };
    const forget = (which, row) => { set("views", Object.fromEntries(others(which))); row.remove(); };
    const known = list.columns.filter((one) => list.isShown(one)), groups = known.filter((one) => one.kind !== "money" && (one.kind !== "id" || one.to));
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
    }), title("Views"), ...views().map(([which, one]) => {
      const row = div("", button("", () => use(which, one), which), !second && button("copy", () => { shut(); host.beside(which, one); }, "Beside", `Show view ${which} beside`),
        button("copy", () => forget(which, row), "Delete", `Delete view ${which}`));
      return row;
    }), div("actions", name, button("edge", save, "Save view"))];
  }

  function exporter() {
    const write = host.quietly(async (file) => {
      shut();
      host.say((await host.ask("export", { list: list.name, mark: list.mark, file, rows: absolute(table.rows), filter: full() })).text);
    });
    return [div("quiet", "The rows shown, in their order"), ...Object.entries(host.info.files).map(([file, text]) => button("", () => write(file), text))];
  }

  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || !table?.lines.length || event.altKey) return;
    const line = table.lines[active], page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2), last = table.lines.length - 1, held = event.ctrlKey || event.metaKey;
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: last };
    if (event.key === " ") { event.preventDefault(); choose(active, { shiftKey: false }); }
    else if (event.key === "c" && held) { event.preventDefault(); copy("tsv"); }
    else if (event.key === "a" && held) { event.preventDefault(); chosen = new Set(table.lines.keys()); selected(); }
    else if (event.key in moves) {
      event.preventDefault();
      const from = active;
      active = Math.min(Math.max(moves[event.key], 0), last);
      grid.scrollTop = Math.min(active * ROW, Math.max(grid.scrollTop, (active + 3) * ROW - grid.clientHeight));
      if (event.shiftKey) { if (!chosen.size) anchor = from; choose(active, event); } else drawRows();
    } else if (line.rows) {
      if (event.key === "Enter" || event.key === (view.unfolded.includes(line.group) ? "ArrowLeft" : "ArrowRight")) { event.preventDefault(); fold(active); }
    } else if (event.key === "Enter") host.open(list.id(line));
  });
  rows.addEventListener("click", (event) => {
    const box = event.target.closest("button") ? null : event.target.closest(".row"), place = box?.ariaRowIndex - 2;
    if (!box) return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) return choose(place, event);
    active = anchor = place;
    if (box.ariaExpanded) fold(place); else host.open(list.id(table.lines[place]));
  });
  let frame = 0;
  grid.addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => host.drawLater(drawRows)); });
  const sized = new ResizeObserver(() => { if (table) host.drawLater(slim === isSlim() ? () => { layOut(); drawRows(); } : drawTable); });
  sized.observe(grid);

  return { el, grid, search, tools, open, change, drawRows, drawTable: () => list && drawTable(), shut, opener: () => opener, full, end: () => sized.disconnect(),
    get view() { return view; }, get list() { return list; }, shown: () => ({ list, rows: table.rows }), rowsOf: (filter_) => absolute(list.table({ filter: filter_ }).rows) };
}

/** Draw a value of a column. With `whole`, as in details, an id is complete and has a button that copies it. */
function drawCell(host, value, column, whole = false) {
  if (Array.isArray(value)) return span(`pill ${value[1]}`, value[0]);
  if (value === "" || value === null) return "";
  if (isTime(column.kind)) {
    const words = ago(value, column.kind === "wall" ? Date.now() : host.clock()), long = exact(value, zone());
    return h("span", { title: `${zone() ? words : long}, ${CLOCKS[column.kind]}` }, whole ? `${words} · ${long}` : zone() ? long : words);
  }
  if (column.kind === "id" || column.kind === "address") {
    const id = value.id || value, text = value.name || (whole ? id : column.kind === "id" ? short(id) : middle(id));
    const shown = column.to
      ? button(value.name ? "link" : "link mono", (event) => { event.stopPropagation(); host.follow(id, column.to); }, text, { title: id, tabindex: whole ? 0 : -1 })
      : h("span", { class: "mono", title: id }, text);
    return whole ? span("ref", shown, value.name && h("span", { class: "mono quiet", title: id }, short(id)), copier(host, id)) : shown;
  }
  if (column.kind === "number" && /\.\d{5}/.test(value)) return h("span", { title: value }, Number(value).toFixed(4)); // a rate is rounded
  return String(value);
}

const copier = (host, text) => button("copy icon edge", host.quietly(async (event) => {
  await navigator.clipboard.writeText(text);
  event.target.classList.add("done");
}), "", { "aria-label": `Copy ${text}`, title: "Copy" });

export { PLAIN, drawCell, makeTable, zone };
