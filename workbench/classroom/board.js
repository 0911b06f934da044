// The trainer's board: asks the class server once a second, and sets text only as text.
"use strict";
const $ = (id) => document.getElementById(id);
const FIELDS = {
  note: [["text", "Note", "text"]],
  deposit: [["amount", "Amount in dollars", "text"]],
  add_fault: [["kind", "Fault", ["lost", "status", "slow_body", "refused", "reset", "closed", "duplicate", "bad_signature"]], ["times", "Times", "number"]],
  advance: [["days", "Days", "number"], ["hours", "Hours", "number"]],
  lock: [["lesson", "Lesson", []]], unlock: [["lesson", "Lesson", []]],
};
let key = decodeURIComponent(location.hash.slice(1));
let shown = "";
let lessons = [];

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function ask(path, body) {
  const request = { headers: { "trainer-key": key }, cache: "no-store" };
  if (body) Object.assign(request, { method: "POST", body: JSON.stringify(body) });
  const answer = await fetch("board/" + path, request);
  if (!answer.ok) throw Object.assign(new Error((await answer.json()).message), { status: answer.status });
  return answer;
}

function pill(result, stuck) {
  const details = result && `${result.tries} tries, ${result.hints} hints` + (result.minutes === null ? "" : `, ${result.minutes} min`);
  if (!result) return element("span", "○", "pill open");
  const kind = result.done ? (result.confirmed ? "done" : "reported") : stuck ? "stuck" : "tried";
  const made = element("span", { done: "✓", reported: "✓", stuck: "!", tried: "◐" }[kind] + ` ${result.tries}` + (result.hints ? ` +${result.hints}h` : ""), "pill " + kind);
  made.title = details + (result.last_problem ? `: ${result.last_problem}` : "");
  return made;
}

function draw(board) {
  lessons = board.lessons;
  const learners = board.learners;
  const stuck = learners.filter((one) => one.stuck.length);
  $("summary").textContent = `${learners.length} learners, ${learners.reduce((sum, one) => sum + one.done, 0)} of ${learners.length * board.exercises.length} exercises done`
    + (stuck.length ? `. Stuck: ${stuck.map((one) => one.learner).join(", ")}` : ".");
  const text = JSON.stringify([board.exercises, learners.map((one) => [one.learner, one.results, one.stuck, one.locked, one.seen === null ? 2 : one.seen > 60 ? 1 : 0])]);
  if (text === shown) return;
  shown = text;
  const head = element("tr");
  for (const title of ["Learner", "Done", "Last problem", ...board.exercises.map((one) => one.id)]) {
    const cell = element("th", title);
    cell.scope = "col";
    cell.title = (board.exercises.find((one) => one.id === title) || {}).title || "";
    head.append(cell);
  }
  $("grid").tHead.replaceChildren(head);
  $("grid").tBodies[0].replaceChildren(...learners.map((one) => {
    const row = element("tr");
    const name = element("th", one.learner + (one.seen === null ? " (not joined)" : one.seen > 60 ? " (idle)" : "") + (one.locked.length ? ` ■ ${one.locked.length} locked` : ""));
    name.scope = "row";
    name.title = one.locked.length ? "Locked: " + one.locked.join(", ") : one.learner;
    const open = board.exercises.map((each) => one.results[each.id]).filter((each) => each && !each.done && each.last_problem);
    row.append(name, element("td", String(one.done), "number"), element("td", open.length ? `${open.at(-1).exercise}: ${open.at(-1).last_problem}` : "", "problem"));
    for (const each of board.exercises) {
      const cell = element("td");
      cell.append(pill(one.results[each.id], one.stuck.includes(each.id)));
      row.append(cell);
    }
    return row;
  }));
  const who = $("who").value;
  $("who").replaceChildren(...["all", ...learners.map((one) => one.learner)].map((name) => {
    const made = element("option", name === "all" ? "everyone" : name);
    made.value = name;
    return made;
  }));
  $("who").value = who || "all";
  if (!$("arguments").childElementCount) fields();
}

function fields() {
  $("arguments").replaceChildren(...(FIELDS[$("what").value] || []).map(([name, label, kind]) => {
    const made = element("label", label + " ");
    const choices = name === "lesson" ? lessons : kind;
    const input = element(Array.isArray(choices) ? "select" : "input");
    if (Array.isArray(choices)) input.append(...choices.map((choice) => element("option", choice)));
    else input.type = kind;
    input.name = name;
    made.append(input);
    return made;
  }));
}

async function refresh() {
  try {
    draw(await (await ask("data")).json());
    $("sign-in").hidden = true;
    $("board").hidden = false;
  } catch (error) {
    if (error.status === 401) { $("sign-in").hidden = false; $("board").hidden = true; $("summary").textContent = key ? "This is not the trainer’s key." : ""; return; }
    $("summary").textContent = "The class server does not answer; trying again.";
  }
  setTimeout(refresh, 1000);
}

async function download(path) {
  const made = element("a");
  made.href = URL.createObjectURL(await (await ask(path)).blob());
  made.download = path;
  made.click();
}

$("sign-in").addEventListener("submit", (event) => { event.preventDefault(); key = $("key").value; refresh(); });
$("what").addEventListener("change", fields);
$("csv").addEventListener("click", () => download("results.csv"));
$("json").addEventListener("click", () => download("results.json"));
$("print").addEventListener("click", () => print());
$("actions").addEventListener("submit", async (event) => {
  event.preventDefault();
  const what = $("what").value, who = $("who").value;
  if (what === "reset" && !confirm(`Reset the sandbox of ${who === "all" ? "everyone" : who}?`)) return;
  const given = Object.fromEntries([...$("arguments").querySelectorAll("input, select")].filter((one) => one.value !== "").map((one) => [one.name, one.type === "number" ? Number(one.value) : one.value]));
  try {
    await ask("act", { learners: who === "all" ? "all" : [who], action: what, arguments: given });
    $("said").textContent = `Done for ${who === "all" ? "everyone" : who}.`;
  } catch (error) { $("said").textContent = error.message; }
});
refresh();
