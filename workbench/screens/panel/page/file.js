// A panel in an HTML file. The file's data answers the page's requests, and printing shows a table.
import { download, exact, h, middle, rowsOf, short, show } from "./elements.js";
import { List } from "./engine.js";
import { render } from "./panel.js";

const PRINTED = 5000;

class File {
  constructor(data) {
    this.data = data;
    this.lists = new Map(data.lists.map((list) => [list.name, new List({ ...list, actions: [] })]));
  }

  on(event, act) { if (event === "msg:custom") this.heard = act; }
  off() { this.heard = () => {}; }

  send(asked) {
    let answer;
    try { answer = this[asked.do](asked); } catch (error) { answer = { error: error.message }; }
    queueMicrotask(() => this.heard({ answer: asked.ask, ...answer }));
  }

  start() {
    const lists = [...(this.data.overview ? [{ name: "overview", label: "Overview" }] : []), ...this.data.lists.map(({ name, label }) => ({ name, label }))];
    return { environment: "", host: "", key: "", tenant: null, static: "none", files: { csv: "CSV" }, id: null, as_of: true, lists, list: lists[0].name, ...this.data.info };
  }

  overview({ part }) { return part === "tiles" ? { tiles: this.data.overview.tiles } : { [part]: this.data.overview[part] }; }
  rows({ list }) { return { held: this.lists.get(list) }; }
  close_form() { return {}; }

  details({ list: name, id }) {
    const list = this.lists.get(name);
    if (list.row(id) === undefined) throw new Error(`${list.label} has no ${id}`);
    return { list: name, id, actions: [] };
  }

  find({ id, to }) {
    const list = [to, ...this.lists.keys()].find((name) => this.lists.get(name)?.row(id) !== undefined);
    if (!list) throw new Error(`${id} is not in this file`);
    return { list, id };
  }

  export({ list: name, rows }) {
    const list = this.lists.get(name), file = `${name.replaceAll(" ", "-")}.csv`;
    download(file, list.csv(rows), "text/csv");
    return { text: `${rowsOf(rows.length)} in ${file}` };
  }
}

/** Show the data of a file, and print it as a table. */
function open_file(data, el) {
  const file = new File(data), still = h("table", { class: "print" });
  render({ model: file, el });
  el.append(still);
  addEventListener("beforeprint", () => {
    const list = file.shown?.().list || file.lists.values().next().value;
    if (!list) return;
    const rows = file.shown?.().rows || list.table({}).rows, columns = list.columns.filter((column) => list.isShown(column));
    const write = { time: exact, id: short, address: middle };
    const text = (value, { kind }) => (Array.isArray(value) ? value[0] : value.name || (write[kind] || String)(value));
    show(still, h("thead", {}, h("tr", {}, columns.map((column) => h("th", {}, column.label)))),
      h("tbody", {}, Array.from(rows.slice(0, PRINTED), (row) => h("tr", {}, columns.map((column) => h("td", {}, text(list.cell(column, row), column)))))));
  });
}

export { File, open_file };
