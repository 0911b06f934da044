// The overview. It shows tasks for people, then the filters, tiles and charts of the history.
import { aside, button, div, drawn, h, option, show, title } from "./elements.js";
import { terms } from "./filter.js";
import { PLAIN } from "./table.js";

const LINE = { width: 96, height: 24 };
const RANGES = [["today", "Today"], ["week", "Last 7 days"], ["month", "This month"], ["last", "Last month"], ["quarter", "Last 90 days"], ["year", "Last 365 days"], ["custom", "From … to …"]];
const DAYS = [{ name: "since", label: "From", type: "date" }, { name: "until", label: "To", type: "date" }];
const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

/** Draw values as a sparkline. */
function sparkline(values) {
  if (values.length < 2) return null;
  const low = Math.min(...values), span = Math.max(...values) - low || 1, { width, height } = LINE;
  const points = values.map((value, at) => `${(at * width / (values.length - 1)).toFixed(1)},${(height - 2 - (value - low) / span * (height - 4)).toFixed(1)}`).join(" ");
  return drawn(["svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, ["polyline", { points }]]);
}

/** Make the overview of a panel. */
function makeOverview(host) {
  const needs = h("section", { class: "needs", "aria-label": "What needs a person" }), bar = h("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() });
  const tiles = div("tiles"), charts = div("charts"), el = h("div", { class: "overview", role: "group", "aria-label": "Overview", tabindex: 0 }, needs, bar, tiles, charts);
  let filters = {}, turns = 0;

  const lead = (to) => host.go({ list: to.list, ...PLAIN, chips: terms(to.filter) });

  function drawNeeds(found) {
    show(needs, found.length ? h("ul", {}, found.map((each) => h("li", {}, button("need", () => lead(each), each.text), each.note && aside(` ${each.note}`)))) : h("p", { class: "quiet calm" }, "✓ Nothing needs attention."));
  }

  function drawFilters(values) {
    const fields = !values ? [] : [{ name: "range", label: "Range", choices: RANGES }, ...(values.range === "custom" ? DAYS : []), { name: "zone", label: "Time zone", options: ZONES }];
    const focused = bar.contains(document.activeElement) && document.activeElement.name;
    show(bar, fields.map(({ name, label, choices, options, type }) => {
      const value = values[name], list = options && `wbp-${name}`, set = (event) => { filters = { ...filters, [name]: event.target.value }; draw(); };
      return h("label", {}, label, choices ? h("select", { name, onchange: set }, choices.map((each) => option(each, value))) : h("input", { name, type, list, value, onchange: set }),
        list && h("datalist", { id: list }, options.map((each) => h("option", { value: each }))));
    }));
    if (focused) bar.elements[focused]?.focus();
  }

  function drawTile(tile) {
    const inside = [aside(tile.label), h("b", {}, tile.figure), sparkline(tile.line), aside(tile.note), tile.change && aside(tile.change)];
    return div("tile-of", tile.list ? button("tile", () => lead(tile), inside) : div("tile", inside),
      tile.column && !host.info.as_of && button("link explain", () => host.explain({ list: tile.list, column: tile.column, filter: tile.filter }), "Explain", `Explain ${tile.label}`));
  }

  function drawCharts(found) {
    show(charts, found.map((each) => h("section", { class: "chart" }, title(each.title), button("link", () => lead(each), `Open ${each.list}`, `${each.title}: open ${each.list}`), drawn(each.chart))));
  }

  /** Read the tasks for people, then the tiles, then the charts. Show each part when it arrives. */
  const draw = host.quietly(async () => {
    const turn = ++turns;
    el.ariaBusy = "true";
    try {
      for (const [part, make] of [["attention", drawNeeds], ["tiles", (found) => { drawFilters(found.filters); show(tiles, found.tiles.map(drawTile)); }], ["charts", drawCharts]]) {
        const answer = await host.ask("overview", { part, filters });
        if (turn !== turns) return;
        make(answer[part] && part !== "tiles" ? answer[part] : answer);
      }
    } finally { if (turn === turns) el.ariaBusy = null; }
  });

  return { el, draw };
}

export { makeOverview };
