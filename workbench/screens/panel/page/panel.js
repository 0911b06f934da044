// A panel, with its lists, overview, details and forms of a record, undo, and focus. The page holds the rows of the lists. A kernel or a
// file (`File`) answers its requests. The browser stores how columns and times are shown.
import { keepFocus, usable } from "../../forms/focus.js";
import { button, div, exact, h, HERE, keep, kept, option, show, span, title } from "./elements.js";
import { drawFields, drawSections } from "./details.js";
import { List } from "./engine.js";
import { links, terms } from "./filter.js";
import { makeOverview } from "./overview.js";
import { PLAIN, drawCell, makeTable, zone } from "./table.js";

const TICK = 3000, BUSY = 80;
const GROUPS = [["", ["text", "status", "number"]], ["Amounts", ["money"]], ["References", ["id", "address"]], ["Times", ["time", "wall"]]];

function render({ model, el }) {
  const waiting = new Map(), lists = new Map(), stale = new Set(), late = new Set();
  let asked = 0, busy = 0, dead = false, info = {}, stamp = null, turns = 0, timer = 0, second = null, pressed = false;
  let loaded = Promise.resolve(), view = { list: "overview", ...PLAIN }, past = [], future = [], opened = null, formView = null, acted = "", clock = Date.now();

  const hide = h("style"), headline = div("head"), line = h("div", { class: "say", role: "status", hidden: true }), nav = h("nav", { "aria-label": "Lists" });
  const drawer = h("div", { class: "drawer", role: "region", "aria-label": "Details", tabindex: -1, hidden: true }), work = div("work", drawer);
  const root = h("div", { class: "wbp", "data-lm-suppress-shortcuts": "true", hidden: true }, hide, headline, line, div("body", nav, work));
  show(el, root);

  function ask(what, more = {}) {
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

  /** Draw while nothing is pressed, because an element that is replaced between press and release gets no click. */
  const drawLater = (draw) => { if (pressed) late.add(draw); else draw(); };

  root.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("button, .rows .row")) return;
    pressed = true;
    const release = () => setTimeout(() => { // runs after the click
      pressed = false;
      for (const draw of late) { late.delete(draw); draw(); }
    });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, release, { once: true, capture: true });
  });

  const heard = (message) => drawLater(() => answered(message));
  function answered(message) {
    if (message.event === "changed") { stamp = message.stamp; say(message.text, false, message.undo); refresh(); }
    if (message.event === "go" && info.lists) go({ list: message.list, ...PLAIN, id: message.id || null, chips: terms(message.filter || "") });
    const waiter = waiting.get(message.answer);
    if (!waiter) return;
    waiting.delete(message.answer);
    rest();
    if (message.error) { say(message.error, true); waiter.reject(new Error("")); } else waiter.resolve(message);
  }

  /** Run an action that asks the kernel. Its errors have already been shown. */
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
    if (place) line.append(button("main again", () => { // works like Ctrl+Enter in the panel's notebook
      place.querySelector(".jp-InputPrompt").dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
      place.tabIndex = -1;
      place.focus();
      place.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true }));
    }, "Run the cell again"));
  }

  const undo = quietly(async () => { await ask("undo"); go({ ...view, id: null }); });

  function say(text, wrong = false, undone = false) {
    line.hidden = !text;
    line.className = wrong ? "say wrong" : "say";
    show(line, span("", text), undone && button("edge undo", undo, "Undo"), button("edge", () => say(""), "×", "Dismiss message"));
  }


  /** Return a list by name. The first request reads the list, and later requests only its changes. `early` shows the first rows of a long list. */
  async function held(name, how, early) {
    let list = lists.get(name);
    if (list && !how && !stale.has(name)) return list;
    let found = await ask("rows", { list: name, mark: list?.mark, first: Boolean(early && !list && !how), ...how });
    if (found.partial) {
      early(new List(found));
      found = await ask("rows", { list: name });
    }
    if (found.at) list.update(found); else lists.set(name, list = found.held || new List(found));
    stale.delete(name);
    return list;
  }

  const label = (list) => info.lists.find((one) => one.name === list)?.label;

  /** Read the list in view. Show it from its beginning, or where it was scrolled to before. */
  const load = quietly((stay, how) => (loaded = read(stay, how)));
  async function read(stay, how) {
    const turn = ++turns, name = view.list, now = () => turn === turns && view.list === name; // true while nothing else was opened
    const put = (list, same) => {
      if (main.el.parentNode !== work) work.replaceChildren(main.el, ...(second ? [second.el] : []), drawer);
      main.open(list, view, same);
    };
    let partial = false;
    const early = (list) => { if (now()) { partial = true; put(list, stay); } };
    const list = await held(name, how, main.full(view) || view.sort.length || view.group ? null : early);
    if (!now()) return;
    put(list, stay || partial);
    if (second) second.open(list, second.view, true);
    list.prepare();
  }

  const host = {
    quietly, drawLater, ask, say,
    get info() { return info; },
    clock: () => clock, opened: () => view.id, besides: () => Boolean(second),
    changed(next) { view = { ...next, id: view.id }; addressed(); },
    open: (id) => go({ ...main.view, id }),
    act: (one, forList) => act(one, forList),
    go, beside, explain: quietly(explain),
    part: (name, part) => load(false, { part }),
    read: (name, user) => load(false, { user }),
    follow: quietly(async (id, to) => {
      const found = await ask("find", { id, to });
      go({ list: found.list, ...PLAIN, id: found.id });
    }),
  };
  const main = makeTable(host), overview = makeOverview(host);

  function go(next, remember = true) {
    if (remember && (next.list !== view.list || next.id !== view.id)) { past.push(view); future = []; }
    const other = next.list !== view.list, same = !other && main.list?.name === next.list && String(next.sort) === String(view.sort) && next.group === view.group && main.full(next) === main.full(view);
    view = next;
    if (other) single();
    show(nav, info.lists.map((one) => button("", () => go({ list: one.name, ...PLAIN }), one.label, { "aria-current": one.name === view.list && "page" })));
    const current = nav.querySelector("[aria-current]");
    if (current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2; // a narrow page shows only some of the buttons
    addressed();
    if (view.list === "overview") { drawOverview(); closeDrawer(); return; }
    const ready = same && !stale.has(view.list) ? main.drawRows() : load(false);
    if (view.id) openDetails(view.id, ready); else closeDrawer();
  }

  /** Store the view in the file's address, so that a reload shows the same view. */
  function addressed() {
    if (info.as_of) history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(view))}`);
  }

  function remembered() {
    try {
      const found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      if (label(found.list)) return { ...PLAIN, ...found };
    } catch { /* the address of the file contains no view */ }
    return null;
  }

  function step(from, to) {
    if (from.length) { to.push(view); go(from.pop(), false); }
  }

  function single() {
    second?.end();
    second?.el.remove();
    second = null;
  }

  /** Show a saved view of the list next to its table. */
  function beside(name, one) {
    single();
    const close = () => { single(); main.drawTable(); main.grid.focus(); };
    second = makeTable({ ...host, info, changed: null, besides: () => true }, close);
    second.el.classList.add("second");
    main.el.after(second.el);
    second.open(main.list, { ...PLAIN, ...one, list: view.list, name });
    main.drawTable();
  }

  /** Open the list of the rows behind a number. */
  async function explain({ filter, ...number }) {
    if (filter !== undefined) {
      const list = await held(number.list);
      number = { ...number, mark: list.mark, rows: Array.from(list.filter(filter), (row) => list.first + row) };
    }
    const found = await ask("explain", number);
    if (!label(found.name)) info.lists.push(found);
    lists.delete(found.name);
    view = { ...view, list: "" };
    go({ list: found.name, ...PLAIN }, false);
  }


  function drawHead() {
    show(headline, button("edge", () => step(past, future), "←", "Back"), button("edge", () => step(future, past), "→", "Forward"), h("strong", {}, "Workbench"), info.environment && span(`where ${info.environment}`, info.environment.toUpperCase()),
      info.tenant && span("tenant", `Tenant ${info.tenant}`), span("quiet host", info.host), info.key && span("quiet key", `key ${info.key}`),
      span("quiet ends clock", info.clock && !info.as_of ? `Sandbox clock ${exact(info.clock, zone())}` : ""), times(),
      info.as_of ? button("edge theme", theme, "Light or dark") : button("edge refresh", () => { [...lists.keys()].forEach((name) => stale.add(name)); refresh(true); }, "Refresh"));
  }

  function times() {
    const now = kept().times || "ago", ways = { ago: "Times: ago", UTC: "Times: UTC", ...(HERE !== "UTC" && { here: `Times: ${HERE}` }) };
    return h("select", { class: "times", "aria-label": "How times are shown", onchange: (event) => {
      keep("times", event.target.value);
      drawHead();
      main.drawTable();
      second?.drawTable();
      if (view.id) openDetails(view.id, null, true);
    } }, Object.entries(ways).map((one) => option(one, now)));
  }

  function theme() {
    const page = document.documentElement.dataset, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    page.theme = (page.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  }

  function drawOverview() {
    if (overview.el.parentNode !== work) work.replaceChildren(overview.el, drawer);
    overview.draw();
  }


  function closeDrawer() {
    if (opened || formView) ask("close_form").catch(() => {});
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
    main.grid.focus();
  }

  const header = (text) => h("header", {}, h("h2", {}, text), button("edge close", leave, "×", "Close details"));

  const openDetails = quietly(async (id, ready, keepForm = false) => {
    const name = view.list;
    if (!keepForm) dropForm();
    const [answer] = await Promise.all([ask("details", { list: name, id }), ready]);
    if (name !== view.list || id !== view.id) return;
    const list = lists.get(name) || main.list, row = list.row(id);
    opened = answer;
    const kept_ = keepForm ? formed() : null, facts = row === undefined ? [] : list.columns.map((one) => ({ ...one, value: list.cell(one, row) })).filter((one) => one.kind !== "hidden" && one.value !== "");
    drawer.hidden = false;
    const lost = drawer.contains(document.activeElement) && !kept_?.contains(document.activeElement); // the element with the focus is replaced
    const heading = facts.find((one) => one.kind === "text")?.value || id;
    show(drawer, header(String(heading)), actions(answer), kept_ || h("section", { class: "formed", hidden: true }), drawFacts(answer, facts), drawSections({ ...answer, links: links(name, id).filter(({ list: to }) => label(to)) }, label));
    for (const one of drawer.querySelectorAll("time")) show(one, drawCell(host, one.dateTime, { kind: "time" }));
    if (answer.private) unmasked(answer);
    if (!keepForm) { drawer.scrollTop = 0; drawer.scrollIntoView({ block: "nearest" }); }
    if (lost) drawer.focus();
  });

  function actions(answer) {
    if (!answer.actions.length) return null;
    return h("section", { class: "actions", "aria-label": "Actions" }, answer.actions.map((one) => button("edge do", () => act(one, false), one.label)));
  }

  function drawFacts(answer, facts) {
    const groups = GROUPS.map(([name, kinds]) => [name, facts.filter((one) => kinds.includes(one.kind))]).filter(([, found]) => found.length);
    return h("section", { class: "facts" }, groups.map(([name, found]) => [name && title(name),
      h("dl", {}, found.map((one) => [h("dt", {}, one.label), h("dd", {}, drawCell(host, one.value, one, true),
        answer.explained?.includes(one.name) && /[1-9]/.test(one.value) ? [" ", button("link explain", () => host.explain({ list: answer.list, id: answer.id, column: one.name }), "Explain", `Explain ${one.label}`)] : null)]))]));
  }

  /** Offer to show the private values of the open record for a minute. */
  function unmasked(answer) {
    const inner = drawer.querySelector(".record"), masked = [...inner.childNodes];
    const unmask = button("edge reveal", quietly(async () => {
      const shown = await ask("reveal", { list: answer.list, id: answer.id });
      show(inner, div("warn", `Shown for ${shown.seconds} seconds; recorded in the journal.`), drawFields(shown.fields, answer.id));
      unmask.hidden = true;
      setTimeout(() => { show(inner, masked); unmask.hidden = false; }, shown.seconds * 1000);
    }), "Show private values for 60 s");
    inner.before(unmask);
  }

  drawer.addEventListener("click", (event) => {
    const { list, filter: chip, id, to } = event.target.dataset;
    if (list) go({ list, ...PLAIN, chips: [chip] });
    else if (id) host.follow(id, to);
  });

  const closeForm = quietly(async () => {
    const place = formed();
    if (formView) await ask("close_form");
    dropForm();
    if (!opened) closeDrawer(); else { show(place); place.hidden = true; }
    [...root.querySelectorAll("button.do")].find((one) => one.textContent === acted)?.focus();
  });

  const act = quietly(async (one, forList) => {
    acted = one.label;
    if (one.control) return askFor(one);
    if (forList) { view = { ...view, id: null }; opened = null; }
    const answer = await ask("form", { do_what: one.do, label: one.label, list: forList ? view.list : null });
    if (answer.list) { lists.delete(answer.list); return go({ list: answer.list, ...PLAIN }); }
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

  /** Ask for the arguments of a sandbox control other than the id. */
  function askFor(one) {
    const place = formed();
    dropForm();
    place.hidden = false;
    const boxes = Object.entries(one.asks).map(([name, wants]) => ({ name, wants, label: name[0].toUpperCase() + name.slice(1).replaceAll("_", " ") })).map((each) => {
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


  /** Close the menu, form or details that was opened last. The focus returns to the element that opened it. */
  function escape() {
    const open_ = [second, main].find((table) => table?.shut());
    if (open_) open_.opener().focus();
    else if (formed() && !formed().hidden) closeForm();
    else if (!drawer.hidden) leave();
    else return false;
    return true;
  }

  keepFocus(root, (lost) => {
    const opener = main.opener(), part = [drawer, main.grid, nav.querySelector("[aria-current=page]")].find((one) => usable(one) && one.offsetParent);
    return lost.closest(".pop") && usable(opener) ? opener : part;
  });

  root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the shortcuts of a notebook must not run
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName), inForm = formView?.el.contains(event.target);
    if (event.key === "Escape" && !(inField && inForm) && event.target !== main.search && escape()) return;
    const act_ = event.altKey ? { ArrowLeft: () => step(past, future), ArrowRight: () => step(future, past) }[event.key]
      : event.key === "/" && !inField && view.list !== "overview" && (() => loaded.finally(() => main.search.focus()));
    if (act_) { event.preventDefault(); act_(); }
  });


  /** Show the current state. With `again`, the kernel rereads the list in view. */
  function refresh(again = false) {
    if (dead) return;
    for (const name of lists.keys()) stale.add(name);
    if (view.list === "overview") drawOverview();
    else load(true, again ? { again } : undefined);
    if (view.id) openDetails(view.id, null, Boolean(formView) || !formed()?.hidden);
  }

  let ticking = false;
  const tick = async () => {
    if (ticking || dead || document.hidden || !root.isConnected) return;
    ticking = true;
    try {
      const answer = await ask("tick", { stamp });
      if (answer.clock) { clock = new Date(answer.clock).getTime(); info.clock = answer.clock; headline.querySelector(".clock").textContent = `Sandbox clock ${exact(answer.clock, zone())}`; }
      if (answer.changed && stamp !== answer.stamp) { stamp = answer.stamp; refresh(); }
    } catch { /* the error has already been shown */ }
    ticking = false;
  };

  model.on("msg:custom", heard);
  model.on("comm_live_update", died);
  model.shown = () => (main.list ? main.shown() : {});
  quietly(async () => {
    info = await ask("start"); // without a kernel, the page keeps its static view
    root.hidden = false;
    stamp = info.stamp;
    hide.textContent = `.${info.static} { display: none; }`;
    if (info.clock) clock = new Date(info.clock).getTime();
    drawHead();
    go((info.as_of && remembered()) || { list: info.list, ...PLAIN, id: info.id, chips: terms(info.filter || "") }, false);
    if (!info.as_of) timer = setInterval(tick, TICK);
    else document.addEventListener("keydown", (event) => { // nothing else in a file handles keys
      if (event.key === "/" && event.target === document.body && view.list !== "overview") { event.preventDefault(); main.search.focus(); }
    });
    if (info.every) setTimeout(() => location.reload(), info.every * 1000);
  })();
  return () => { clearInterval(timer); main.end(); second?.end(); model.off("msg:custom", heard); model.off("comm_live_update", died); };
}

export { render };
