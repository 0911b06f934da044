// Calls functions of the page's engine: each line of standard input is [function, …arguments], and each result is one line of output.
import { createInterface } from "node:readline";

const [{ List, guarded, written }, { exact, money }, { links, parsed }] = await Promise.all(["engine", "elements", "filter"].map((name) => import(`${process.argv[2]}/${name}.js`)));
const shown = (list, view) => {
  const { rows, lines, all } = list.table(view);
  return { rows: Array.from(rows), lines: Array.from(lines, (line) => list.line(line)), sums: list.sums(all) };
};
const functions = {
  table: (packed, view) => shown(new List(packed), view),
  updated: (packed, changes, view) => { const list = new List(packed); for (const each of changes) list.update(each); return { ...shown(list, view), places: shown(list, {}).lines.map(({ id }) => list.row(id)) }; },
  summary: (packed, view) => { const list = new List(packed); return list.summary(list.table(view).rows); },
  chosen: (packed, view, lines) => { const list = new List(packed), rows = list.chosen(view, lines); return { rows, sums: list.sums(rows), mean: list.mean(rows), values: list.values(rows).rows }; },
  copied: (packed, rows, form) => written(new List(packed).values(rows), form),
  unknown: (packed, text) => new List(packed).unknown(text),
  timed: (packed, view, bars) => { // processor time in milliseconds of a view, or of its distributions (bars), after the work that the idle page does
    const list = new List(packed);
    for (const column of list.columns) list.texts(column);
    const taken = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
    let began = taken();
    const { rows, lines } = list.table(view);
    Array.from(lines.slice(0, 40), (line) => list.line(line));
    if (bars) { began = taken(); list.summary(rows); }
    return taken() - began;
  },
  update: (packed, changes) => { // processor time in milliseconds to apply the changes
    const list = new List(packed);
    for (const column of list.columns) list.texts(column);
    const taken = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
    return changes.map((each) => { const began = taken(); list.update(each); list.table({}); return taken() - began; });
  },
  money, guarded, links, parsed, exact,
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  let answer;
  try { answer = functions[name](...given); } catch (error) { answer = { error: String(error.stack) }; }
  process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);
}
