// Runs calls of the panel's script: each line of standard input is [function, data, …arguments], each answer a line.
import { createInterface } from "node:readline";

const { Stored, money, guarded, parsed, exact, written } = await import(process.argv[2]);
const functions = {
  order: (data, list, filter, sort) => { const stored = new Stored(data); return stored.order(stored.lists.get(list), filter, sort); },
  summary: (data, asked) => { const stored = new Stored(data); stored.rows({ ...asked, first: 0, count: 0 }); return stored.summary(asked); },
  select: (data, asked) => { const stored = new Stored(data); stored.rows({ ...asked, first: 0, count: 0 }); return stored.select(asked); },
  values: (data, asked) => { const stored = new Stored(data); stored.rows({ ...asked, first: 0, count: 0 }); return stored.values(asked); },
  answer: (data, asked) => new Stored(data)[asked.do](asked),
  money, guarded, parsed, exact, written,
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  let answer;
  try { answer = functions[name](...given); } catch (error) { answer = { error: error.message }; }
  process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);
}
