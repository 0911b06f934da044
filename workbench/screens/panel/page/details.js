// The details of a record below its facts: its history, its states, related lists and records, and all fields.
import { aside, div, drawn, h, span, title } from "./elements.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const RELATED = [["Events", "event"], ["Deliveries", "delivery"], ["Requests", "request"]];

const linkTo = (id, to, text, look = "link") => h("button", { class: look, "data-id": id, "data-to": to }, text);

/** Draw the fields of a record as a text, a table, or labels with values. The id of another record is a link. */
function drawFields(block, id) {
  if (block.lines) {
    const text = block.lines.join("\n");
    if (UUID.test(text) && text !== id) return linkTo(text, "any", text, "link mono");
    return block.role.startsWith("status") ? span("pill other", text) : text;
  }
  if (block.columns) {
    return h("table", {}, h("thead", {}, h("tr", {}, block.columns.map((name) => h("th", {}, name)))),
      h("tbody", {}, block.rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, drawFields(cell, id)))))));
  }
  const assumed = (text) => text && h("details", { class: "quiet" }, h("summary", {}, "assumed"), text);
  return h("div", {}, [...block.words, ...block.notes].map((text) => div("quiet", text)), block.code.map((code) => h("pre", { tabindex: 0 }, code)),
    h("dl", {}, block.rows.map(({ label, value, warning, assumed: why }) =>
      [h("dt", {}, label), h("dd", {}, drawFields(value, id), warning && div("warn", warning), assumed(why))])));
}

/** Draw a related record, which expands to its fields or its JSON. */
function folded(item, to, kind, id) {
  const at = item.at && `${item.at.slice(0, 19).replace("T", " ")} UTC`;
  return h("details", {}, h("summary", {}, item.title, " ", aside(at)), item.id !== id && linkTo(item.id, to, `Open ${kind}`),
    item.json ? h("pre", { tabindex: 0 }, item.json) : drawFields(item.fields, id));
}

/** Draw the sections of details. `labels` has the displayed name of each list. */
function drawSections({ id, timeline = [], states, links, fields, ...related }, labels) {
  const section = (name, text, more, ...content) => h("section", { class: `related-${name.toLowerCase()}`, ...more }, title(text), ...content);
  const happened = timeline.map((entry) => h("li", {}, span("", entry.title), div("amount", entry.amount), h("time", { datetime: entry.at || "" })));
  return [
    happened.length > 0 && section("Timeline", "Timeline", {}, h("ol", { class: "timeline" }, happened)),
    states && section("States", "States", { tabindex: 0, role: "region", "aria-label": "States" }, drawn(states)),
    links.length > 0 && section("Related", "Related", {}, div("actions", links.map(({ list, filter }) => h("button", { class: "link", "data-list": list, "data-filter": filter }, labels(list))))),
    ...RELATED.map(([name, kind]) => {
      const found = related[name.toLowerCase()] || [];
      return found.length > 0 && section(name, `${name} (${found.length})`, {}, found.map((item) => folded(item, name.toLowerCase(), kind, id)));
    }),
    fields && h("section", {}, h("details", { open: fields.code?.length > 0 }, h("summary", {}, fields.code?.length ? "File" : "All fields"), div("record", drawFields(fields, id)))),
  ];
}

export { drawFields, drawSections };
