// The trainer's board. It reads its data twice a second, and inserts every text as text, never as HTML.
"use strict";
const $ = (id) => document.getElementById(id);
const GLYPHS = { done: "✓", stuck: "!", tried: "◐", begun: "…", untouched: "○" };
const WORDS = { done: "done", stuck: "stuck", tried: "tried", begun: "begun", untouched: "not begun" };
let key = decodeURIComponent(location.hash.slice(1)) || sessionStorage.getItem("trainer-key") || "";
if (key) sessionStorage.setItem("trainer-key", key);  // a reloaded page stays signed in, and the key leaves the address bar
history.replaceState(null, "", location.pathname);
let shown = "", board = null, chosen = null, link = null;

function element(name, text, className, ...children) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  made.append(...children);
  return made;
}

async function ask(path, body) {
  const request = { headers: { "trainer-key": key }, cache: "no-store", signal: AbortSignal.timeout(10000) };
  if (body) {
    request.headers["content-type"] = "application/json";
    Object.assign(request, { method: "POST", body: JSON.stringify(body) });
  }
  const answer = await fetch("board/" + path, request);
  if (!answer.ok) throw Object.assign(new Error((await answer.json()).message), { status: answer.status });
  return answer;
}

function counted(number, one, more) {
  return `${number} ${number === 1 ? one : more || one + "s"}`;
}

function kindOf(result, stuck) {
  if (!result) return "untouched";
  return result.done ? "done" : stuck ? "stuck" : result.tries ? "tried" : "begun";
}

function cell(result, stuck) {
  const kind = kindOf(result, stuck);
  const made = element("td", null, null, element("span", GLYPHS[kind] + (result && result.tries ? ` ${result.tries}` : ""), "pill " + kind));
  made.firstChild.setAttribute("aria-label", WORDS[kind]);
  if (result) {
    const hints = result.hints ? ` ${counted(result.hints, "hint")}${result.last_hint ? " (last)" : ""}` : "";
    made.append(element("span", [hints, result.minutes ? ` ${Math.round(result.minutes)} min` : ""].filter(Boolean).join(","), "small"));
    made.title = `${WORDS[kind]}: ${counted(result.tries, "try", "tries")}, ${counted(result.hints, "hint")}, ${result.minutes ?? 0} minutes of work` + (result.done || !result.last_problem ? "" : `. ${result.last_problem}`);
  }
  return made;
}

function lastProblem(one) {
  const open = board.tasks.map((each) => one.results[each.id]).filter((each) => each && !each.done && each.last_problem);
  const last = open.find((each) => one.stuck.includes(each.task)) || open.at(-1);
  return last ? `${last.task}: ${last.last_problem}` : "";
}

function heads() {
  const lessons = element("tr"), titles = element("tr");
  for (const title of ["Learner", "Done", "Tries", "Hints", "Minutes", "Last problem"]) {
    lessons.append(element("th", "", title === "Learner" ? "first" : null));
    titles.append(element("th", title, /Done|Tries|Hints|Minutes/.test(title) ? "number" : null));
  }
  for (const one of board.tasks) {
    const last = lessons.lastChild;
    if (last.title === one.lesson) last.colSpan += 1;
    else lessons.append(Object.assign(element("th", one.lesson + (board.locked.includes(one.lesson) ? " ■ locked" : ""), "lesson"), { title: one.lesson }));
    const done = board.learners.filter((each) => each.results[one.id] && each.results[one.id].done).length;
    const count = element("span", ` ${done} of ${board.learners.length}`, "small");
    titles.append(Object.assign(element("th", null, null, element("span", one.id), count), { title: one.title, scope: "col" }));
  }
  $("grid").tHead.replaceChildren(lessons, titles);
}

/** Open the details of a learner, or close them. While they are open, actions apply to the learner. The learner's button gets the focus. */
function choose(name) {
  const before = chosen;
  chosen = name;
  $("who").value = name || "all";
  shown = "";
  draw();
  const back = name || before;
  const button = back && document.querySelector(`[data-keep="${CSS.escape("learner " + back)}"]`);
  if (button) button.focus();
}

function rowOf(one) {
  const state = one.seen === null ? "not joined" : one.seen > 60 ? "idle" : "";
  const open = element("button", one.learner);
  open.type = "button";
  open.dataset.keep = "learner " + one.learner;
  open.addEventListener("click", () => choose(chosen === one.learner ? null : one.learner));
  const name = element("th", null, null, open, element("span", state && ` ${state}`, "small"));
  name.scope = "row";
  name.title = one.learner;
  const row = element("tr", null, one.learner === chosen ? "chosen" : null, name);
  const results = Object.values(one.results), done = results.filter((each) => each.done);
  const sum = (rows, member) => rows.reduce((total, each) => total + (each[member] || 0), 0);
  row.append(...[one.done, sum(results, "tries"), sum(results, "hints"), Math.round(sum(done, "minutes"))].map((number) => element("td", String(number), "number")));
  row.append(element("td", lastProblem(one), "problem"), ...board.tasks.map((each) => cell(one.results[each.id], one.stuck.includes(each.id))));
  return row;
}

function linkOf(one) {
  if (!link || link.learner !== one.learner) {
    const show = element("button", "Show the link");
    show.type = "button";
    show.dataset.keep = "link";
    show.addEventListener("click", async () => { link = await (await ask("link?learner=" + encodeURIComponent(one.learner))).json(); drawer(); });
    return [show];
  }
  const picture = Object.assign(element("img", null, "qr"), { src: link.picture, alt: "QR code of " + link.link });
  return [picture, element("pre", link.link, "line")];
}

function places(one) {
  const begun = Object.entries(one.places).map(([name, at]) => `${name} at ${clock(new Date(1000 * at))}`);
  return begun.length ? `Begun: ${begun.join(", ")}.` : "No notebook or drill was begun.";
}

function clock(time) { return time.toTimeString().slice(0, 8); }

function drawer() {
  const one = board.learners.find((each) => each.learner === chosen);
  $("drawer").hidden = !one;
  if (!one) { link = null; return; }
  const close = element("button", "Close");
  close.type = "button";
  close.dataset.keep = "close";
  close.addEventListener("click", () => choose(null));
  const rows = board.tasks.filter((each) => one.results[each.id]).map((each) => {
    const result = one.results[each.id], kind = kindOf(result, one.stuck.includes(each.id));
    const state = element("td", null, null, element("span", `${GLYPHS[kind]} ${WORDS[kind]}`, "pill " + kind));
    const numbers = [result.tries, `${result.hints}${result.last_hint ? " (last)" : ""}`, result.minutes ?? ""];
    return element("tr", null, null, element("td", each.id), state, ...numbers.map((text) => element("td", String(text), "number")), element("td", result.done ? "" : result.last_problem));
  });
  const titles = ["task", "state", "tries", "hints", "minutes", "last problem"].map((title) => element("th", title));
  const table = element("table", null, null, element("thead", null, null, element("tr", null, null, ...titles)), element("tbody", null, null, ...rows));
  $("drawer").replaceChildren(element("header", null, null, element("h2", one.learner), close), rows.length ? table : element("p", "Nothing begun yet.", "quiet"),
    element("p", places(one), "quiet"), ...($("projector").checked ? [] : linkOf(one)));
}

function draw() {
  const learners = board.learners, stuck = learners.filter((one) => one.stuck.length);
  const exercises = board.tasks.filter((one) => one.lesson !== "drills").length;
  $("summary").textContent = `${learners.length} learner${learners.length === 1 ? "" : "s"}, ${learners.reduce((sum, one) => sum + one.done, 0)} of ${learners.length * exercises} exercises done`
    + (stuck.length ? `. Stuck: ${$("projector").checked ? stuck.length : stuck.map((one) => one.learner).join(", ")}` : "")
    + (Object.keys(board.wrong_codes).length ? `. Wrong codes in the last minute: ${Object.entries(board.wrong_codes).map(([address, count]) => `${count} from ${address}`).join(", ")}` : "")
    + (board.paused ? ". PAUSED." : ".") + (board.disk_full ? " THE DISK OF THIS SERVER IS FULL: nothing can be changed." : "");
  document.body.classList.toggle("paused", board.paused || board.disk_full);
  const only = $("only-stuck").checked;
  const seen = (one) => one.seen === null ? 2 : one.seen > 60 ? 1 : 0;
  const text = JSON.stringify([only, chosen, board.tasks, board.locked, learners.map((one) => [one.learner, one.results, one.stuck, one.places, seen(one)])]);
  if (text === shown) return;
  shown = text;
  const focused = document.activeElement && document.activeElement.dataset.keep;
  heads();
  $("grid").tBodies[0].replaceChildren(...(only ? stuck : learners).map(rowOf));
  drawer();
  if (focused) { const again = document.querySelector(`[data-keep="${CSS.escape(focused)}"]`); if (again) again.focus(); }
  const who = $("who").value;
  $("who").replaceChildren(...["all", ...learners.map((one) => one.learner)].map((name) => new Option(name === "all" ? "everyone" : name, name)));
  $("who").value = who || "all";
  if (!$("what").options.length) {
    $("what").replaceChildren(...Object.entries(board.actions).map(([name, one]) => new Option(one.label, name)));
    fields();
  }
}

function fields() {
  const action = board.actions[$("what").value];
  $("arguments").replaceChildren(...(action.fields || []).map((field) => {
    const choices = board.choices[field.choices];
    const input = element(choices ? "select" : "input");
    if (choices) input.append(...choices.map((choice) => new Option(choice, choice)));
    else Object.assign(input, { type: field.kind || "text", value: field.value || "" });
    input.name = field.name;
    return element("label", field.label + " ", null, input);
  }));
}

async function refresh() {
  try {
    board = await (await ask("data")).json();
    document.body.classList.remove("gone");
    draw();
    $("sign-in").hidden = true;
    $("board").hidden = false;
  } catch (error) {
    if (error.status === 401) { $("sign-in").hidden = false; $("board").hidden = true; $("summary").textContent = key ? "This is not the trainer’s key." : ""; return; }
    document.body.classList.add("gone");
    $("summary").textContent = "The class server does not answer; trying again.";
  }
  setTimeout(refresh, 500);
}

async function openCertificates() {
  const tab = window.open("about:blank");
  tab.document.write(await (await ask("certificates")).text());  // a new tab cannot send the trainer's key
  tab.document.close();
}

$("sign-in").addEventListener("submit", (event) => { event.preventDefault(); key = $("key").value; sessionStorage.setItem("trainer-key", key); refresh(); });
$("what").addEventListener("change", fields);
$("only-stuck").addEventListener("change", draw);
$("projector").addEventListener("change", () => { document.body.classList.toggle("projector", $("projector").checked); chosen = null; shown = ""; draw(); });
$("print").addEventListener("click", () => window.print());
$("certificates").addEventListener("click", openCertificates);
$("actions").addEventListener("submit", async (event) => {
  event.preventDefault();
  const what = $("what").value, who = $("who").value;
  const action = board.actions[what], whom = action.for_all || who === "all" ? "everyone" : who;
  if (action.final && !confirm(`${action.label}, for ${whom}? It cannot be undone.`)) { $("said").textContent = "Canceled; nothing was done."; return; }
  const given = Object.fromEntries([...$("arguments").querySelectorAll("input, select")].filter((one) => one.value !== "").map((one) => [one.name, one.type === "number" ? Number(one.value) : one.value]));
  try {
    const answer = await (await ask("act", { learners: who === "all" ? "all" : [who], action: what, arguments: given })).json();
    const done = Object.keys(answer.done).length, failed = Object.entries(answer.failed);
    $("said").textContent = what === "enroll" ? ($("projector").checked ? "Added; the link is in the details." : `Added; the link: ${Object.values(answer.done)[0]}`)
      : failed.length ? `${done} of ${done + failed.length}; failed: ${failed.map(([name, why]) => `${name} (${why})`).join(", ")}` : `${action.label}: done for ${whom} at ${clock(new Date())}.`;
  } catch (error) { $("said").textContent = error.message; }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && chosen) choose(null); });
refresh();
