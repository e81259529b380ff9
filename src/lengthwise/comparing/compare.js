// The tables of the page, what is chosen in them, and the panel of a cell. All that a reader chose
// stands behind the # of the address, so that a link shows the same.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const panel = byId("panel"), tip = byId("tip");
const MARKS = { helps: "▲", harms: "▼", "not learned": "×", "not done": "○" };
const SAID = { helps: "helps", harms: "harms", unclear: "not separated from the baseline",
  baseline: "the baseline", "not learned": "did not learn the training lengths", "not done": "not done" };

const keyOf = (remedy, task) => JSON.stringify([remedy, task]);
const cells = new Map(data.cells.map((cell) => [keyOf(cell.remedy, cell.task), { ...cell,
  scores: cell.scores ?? {}, seeds: cell.seeds ?? [], rates: cell.rates ?? [] }]));
const tasks = new Map(data.tasks.map((task) => [task.name, task]));
const remedies = new Map(data.remedies.map((remedy) => [remedy.name, remedy]));
const sections = document.querySelectorAll("details.remedy");
const anchors = new Map(data.remedies.map((remedy, place) => [remedy.name, sections[place].id]));
const lower = new Set(data.lower_is_better);
const baseline = data.remedies.find((remedy) => remedy.baseline);
const cellOf = (remedy, task) => cells.get(keyOf(remedy, task))
  ?? { remedy, task, verdict: "not done", scores: {}, seeds: [], rates: [] };

// What is chosen

const START = { sort: "reach", order: "down", by: "reach", turn: "down", show: "reach", as: "value",
  measure: "", family: "", model: "", theme: "", remedy: "", task: "" };
const state = { ...START };

const readAddress = () => {
  const text = location.hash.slice(1);
  if (text && !text.includes("=")) { // a place on the page
    const target = byId(text);
    if (target?.tagName === "DETAILS") target.open = true;
    target?.scrollIntoView();
    return false;
  }
  const given = new URLSearchParams(text);
  for (const name of Object.keys(START)) state[name] = given.get(name) ?? START[name];
  for (const select of document.querySelectorAll("select")) {
    select.value = state[select.name];
    if (select.selectedIndex < 0) select.value = state[select.name] = START[select.name];
  }
  return true;
};
const writeAddress = (step) => {
  const changed = Object.entries(state).filter(([name, value]) => value !== START[name]);
  const address = "#" + new URLSearchParams(changed);
  if (step) history.pushState(null, "", address); // the way back closes the panel
  else history.replaceState(null, "", address);
};

// Tables that are sorted by their headings. A column is {key, label, value(row), cell(row), first};
// `names` are those under which the state keeps column and direction.

const fill = (table, columns, rows, names, foot) => {
  const [by, turn] = names;
  const heads = columns.map((column) => el("th", { scope: "col", class: column.kind ?? "number" },
    el("button", { type: "button", "data-key": column.key }, column.label,
      el("span", { class: "arrow", "aria-hidden": "true" })), column.below));
  const lines = rows.map((row) => ({ row, tr: el("tr", { class: row.baseline ? "base" : null },
    columns.map((column) => column.cell(row))) }));
  const body = el("tbody");
  const sort = () => {
    const [key, sign] = [state[by], state[turn] === "up" ? 1 : -1];
    const column = columns.find((one) => one.key === key) ?? columns.find((one) => one.key === "reach");
    const known = (value) => value !== null && value !== undefined;
    const compare = ({ row: one }, { row: other }) => {
      const [a, b] = [column.value(one), column.value(other)];
      if (!known(a) || !known(b)) return known(b) - known(a); // what is not known comes last
      return sign * (a > b ? 1 : a < b ? -1 : 0);
    };
    body.append(...[...lines].sort(compare).map((line) => line.tr));
    heads.forEach((head, place) => {
      if (columns[place] !== column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      head.querySelector(".arrow").textContent = columns[place] !== column ? "" : sign > 0 ? "↑" : "↓";
    });
  };
  const head = el("thead", {}, el("tr", {}, heads));
  head.addEventListener("click", (event) => {
    const key = event.target.closest("button")?.dataset.key;
    if (key === undefined) return;
    const other = state[turn] === "up" ? "down" : "up";
    state[turn] = state[by] === key ? other : columns.find((one) => one.key === key).first ?? "down";
    state[by] = key;
    sort();
    writeAddress();
  });
  table.replaceChildren(head, body, ...(foot ?? []));
  sort();
};

const shownRemedies = () => data.remedies.filter((one) => !state.model || one.model === state.model);
const nameCell = (remedy) => el("th", { scope: "row", class: "name" },
  el("a", { href: "#" + anchors.get(remedy.name) }, breakable(remedy.name)),
  remedy.baseline ? el("small", { class: "block" }, " baseline") : null,
  data.models.length > 1 ? el("small", { class: "block" }, remedy.model) : null);
const nameColumn = { key: "name", label: "Remedy", kind: "name", first: "up",
  value: (one) => one.name.toLowerCase(), cell: nameCell };
const numberCell = (text, below) => el("td", { class: "number" }, text,
  below ? el("small", { class: "block" }, below) : null);

const drawReach = () => {
  const rows = shownRemedies(), axis = rangeAxis(rows.map((one) => one.reach));
  const places = (rank) => (!rank ? "–" : rank[0] === rank[1] ? `${rank[0]}` : `${rank[0]}–${rank[1]}`);
  const chance = ({ p }) => (!isNumber(p) ? "–" : p < 0.001 ? "< 0.001" : number(p, 3));
  const listed = (mark, names) => (names.length ? `${mark} ${names.length}` : "–");
  const more = (one) => (isNumber(one.more_parameters) ? one.more_parameters.toLocaleString("en",
    { signDisplay: "exceptZero" }).replace("-", "−") : "–");
  fill(byId("reach-table"), [
    { key: "rank", label: "Rank", first: "up", value: ({ rank }) => rank && rank[0] * 1e4 + rank[1],
      cell: (one) => numberCell(places(one.rank)) },
    nameColumn,
    { key: "reach", label: "Reach", value: ({ reach }) => reach?.mean,
      cell: ({ reach }) => numberCell(el("b", {}, number(reach?.mean)), interval(reach)) },
    { key: "low", label: "95 % interval", kind: "plot", below: rangeHead(axis),
      value: ({ reach }) => reach?.low, cell: ({ reach }) => el("td", { class: "plot" },
        range(axis, reach, baseline?.reach)) },
    { key: "ratio", label: "Ratio", value: ({ ratio }) => ratio?.mean,
      cell: ({ ratio }) => numberCell(times(ratio?.mean), interval(ratio)) },
    { key: "p", label: "p", first: "up", value: ({ ratio }) => ratio?.p,
      cell: ({ ratio }) => numberCell(chance(ratio ?? {})) },
    { key: "fixed", label: "By fixed rule", value: ({ reach_fixed: fixed }) => fixed?.mean,
      cell: ({ reach_fixed: fixed }) => numberCell(number(fixed?.mean), interval(fixed)) },
    { key: "helps", label: "Helps", value: ({ helps }) => helps.length,
      cell: ({ helps }) => numberCell(listed("▲", helps)) },
    { key: "harms", label: "Harms", first: "up", value: ({ harms }) => harms.length,
      cell: ({ harms }) => numberCell(listed("▼", harms)) },
    { key: "learned", label: "Learned", value: ({ learned }) => part(learned),
      cell: ({ learned }) => numberCell(share(learned)) },
    { key: "cost", label: "Cost", first: "up", value: ({ cost }) => cost?.mean,
      cell: ({ cost }) => numberCell(times(cost?.mean), interval(cost)) },
    { key: "parameters", label: "Parameters", first: "up", value: (one) => one.parameters,
      cell: (one) => numberCell(one.parameters?.toLocaleString("en") ?? "–", more(one)) },
  ], rows, ["sort", "order"]);
};

// The matrix

const at = (bands, place) => bands
  && { mean: bands.mean[place], low: bands.low[place], high: bands.high[place] };

// What a cell shows now: its number, the text of it, and how much better than the baseline it is.
const reading = (cell, task) => {
  const changed = state.as === "change";
  if (state.show === "reach") {
    const ratio = cell.ratio?.mean, value = (changed ? cell.ratio : cell.reach)?.mean;
    return { value, text: changed ? times(value) : number(value), better: ratio > 0 ? Math.log2(ratio) : 0 };
  }
  if (state.show === "learned") {
    const own = part(cell.learned), base = baseline && part(cellOf(baseline.name, task.name).learned);
    const change = isNumber(own) && isNumber(base) ? own - base : null;
    return { value: changed ? change : own, better: change ?? 0,
      text: changed ? signed(change) : share(cell.learned) };
  }
  const place = Number(state.show), measure = state.measure || task.score;
  const change = at(cell.differences?.[measure], place)?.mean;
  const value = changed ? change : at(cell.scores[measure], place)?.mean;
  return { value, text: changed && isNumber(value) ? signed(value) : number(value),
    better: (change ?? 0) * (lower.has(measure) ? -1 : 1) };
};

const cellButton = (cell, text, attributes) => el("button", { type: "button", class: "cell",
  "data-remedy": cell.remedy, "data-task": cell.task,
  "aria-label": `${cell.remedy} on ${cell.task}: ${text}, ${SAID[cell.verdict]}`, ...attributes },
  MARKS[cell.verdict] ? el("span", { class: "mark" }, MARKS[cell.verdict]) : null, text);

const drawMatrix = () => {
  const rows = shownRemedies(), scored = !["reach", "learned"].includes(state.show);
  const shown = data.tasks.filter((task) => (!state.family || task.family === state.family)
    && (!scored || !state.measure || task.measures.includes(state.measure)));
  const read = new Map(rows.flatMap((remedy) => shown.map((task) => {
    const cell = cellOf(remedy.name, task.name);
    return [keyOf(remedy.name, task.name), { cell, ...reading(cell, task) }];
  })));
  const least = state.show === "reach" ? Math.log2(1.5) : 0.2;
  const most = Math.max(least, ...[...read.values()].map(({ better }) => Math.abs(better)));
  const matrixCell = (remedy, task) => {
    const { cell, text, better } = read.get(keyOf(remedy.name, task.name));
    const coloured = !["not learned", "not done", "baseline"].includes(cell.verdict) && better;
    const shade = !coloured ? cell.verdict.replace(" ", "-") : better > 0 ? "more" : "less";
    const td = el("td", { class: `number ${shade}` }, cellButton(cell, text, { tabindex: -1 }));
    if (coloured) td.style.setProperty("--strength", `${(60 * Math.abs(better)) / most}%`);
    return td;
  };
  const first = (task) => (scored && lower.has(state.measure || task.score) ? "up" : "down");
  const columns = [nameColumn, { key: "reach", label: "Reach", value: ({ reach }) => reach?.mean,
    cell: ({ reach }) => numberCell(number(reach?.mean)) }, ...shown.map((task) => ({
    key: "task:" + task.name, label: task.name, first: first(task),
    below: el("small", { class: "block" }, scored ? words(state.measure || task.score)
      : task.learned === false ? "nothing learned it" : task.family),
    value: (remedy) => read.get(keyOf(remedy.name, task.name)).value,
    cell: (remedy) => matrixCell(remedy, task) }))];
  const reference = (name, key) => el("tr", {}, el("th", { scope: "row", class: "name" }, name),
    el("td"), shown.map((task) => numberCell(
      number(task[key]?.[state.measure || task.score]?.[Number(state.show)]))));
  fill(byId("matrix-table"), columns, rows, ["by", "turn"], scored && state.as === "value" && rows.length
    ? [el("tfoot", {}, reference("chance", "chance"), reference("length only", "length_only"))] : []);
  byId("matrix-table").querySelector("button.cell")?.setAttribute("tabindex", "0");
  const end = state.show === "reach" ? times(2 ** most) : signed(most);
  const other = state.show === "reach" ? `×${number(2 ** -most)}` : signed(-most);
  byId("legend").replaceChildren(el("span", { class: "key" }, `worse, ${other}`,
    el("span", { class: "scale", "aria-hidden": "true" }), `better than ${data.baseline}, ${end}`),
    ...Object.entries(MARKS).map(([verdict, mark]) => el("span", { class: "key" },
      el("span", { class: "mark" }, mark), " " + SAID[verdict])));
};

// The hint at a cell: mean, interval, chance and the baseline that knows the length alone.

const hint = (cell) => {
  const task = tasks.get(cell.task), measure = state.measure || task.score;
  const line = (label, text) => [el("dt", {}, label), el("dd", {}, text)];
  const rows = [line("verdict", SAID[cell.verdict])];
  if (cell.learned) rows.push(line("learned", `${cell.learned[0]} of ${cell.learned[1]} seeds`));
  if (cell.reach) rows.push(line("reach", `${number(cell.reach.mean)} (${interval(cell.reach)})`));
  if (cell.ratio) rows.push(line("ratio", `${times(cell.ratio.mean)} (${interval(cell.ratio)})`));
  const place = ["reach", "learned"].includes(state.show) ? data.multiples.length - 1 : Number(state.show);
  const score = at(cell.scores[measure], place), change = at(cell.differences?.[measure], place);
  if (score) {
    rows.push(line(`${words(measure)} at ${data.multiples[place]}×`,
      `${number(score.mean, 3)} (${interval(score)})`));
    if (change) rows.push(line("change", `${signed(change.mean, 3)} (${interval(change, signed)})`));
    rows.push(line("chance", number(task.chance?.[measure]?.[place], 3)),
      line("length only", number(task.length_only?.[measure]?.[place], 3)));
  }
  return [el("b", {}, `${cell.remedy} on ${cell.task}`), el("dl", {}, rows.flat())];
};
const hideTip = () => {
  tip.hidden = true;
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
};
const showTip = (button) => {
  hideTip();
  tip.replaceChildren(...hint(cellOf(button.dataset.remedy, button.dataset.task)));
  tip.hidden = false;
  button.setAttribute("aria-describedby", "tip");
  const box = button.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const below = box.bottom + 6 + own.height < innerHeight;
  tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - own.width - 8))}px`;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(4, box.top - own.height - 6)}px`;
};

// What a reader does

const draw = () => {
  const dark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").title = `Show the page in ${dark ? "light" : "dark"} colours`;
  byId("theme").hidden = false;
  drawReach();
  drawMatrix();
  drawPanel();
};
const openCell = (remedy, task) => {
  Object.assign(state, { remedy, task });
  writeAddress(!panel.open);
  drawPanel();
};
sections.forEach((section, place) => section.addEventListener("toggle", () => section
  .querySelector(".cells").replaceChildren(...data.tasks.map(({ name }) => {
    const cell = cellOf(data.remedies[place].name, name);
    return cellButton(cell, `${name} ${number(cell.reach?.mean)}`);
  })), { once: true }));

document.addEventListener("click", ({ target }) => {
  const cell = target.closest("button.cell, button[data-go]");
  if (cell) openCell(cell.dataset.remedy, cell.dataset.task);
  if (target === panel) panel.close(); // beside it
  const link = target.closest("a[href^='#remedy-']");
  if (link) byId(link.hash.slice(1)).open = true;
});
document.addEventListener("change", ({ target }) => {
  if (!(target.name in START)) return;
  state[target.name] = target.value;
  writeAddress();
  draw();
});
for (const name of ["pointerover", "focusin"]) {
  document.addEventListener(name, ({ target }) => {
    const cell = target.closest?.("button.cell");
    if (cell) return showTip(cell);
    // The page moves under a pointer at rest: what the keyboard reached keeps its hint.
    const kept = document.querySelector("[aria-describedby=tip]:focus-visible");
    return kept || hideTip();
  });
}
addEventListener("scroll", () => { // a cell that got the focus may still be on its way into sight
  const cell = document.querySelector("button.cell[aria-describedby=tip]");
  if (cell) showTip(cell);
}, { capture: true, passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
  const cell = event.target.closest?.("#matrix-table button.cell");
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (!cell || !(event.key in moves)) return;
  event.preventDefault();
  const [down, right] = moves[event.key], row = cell.closest("tr");
  const other = row.parentNode.rows[row.rowIndex - 1 + down];
  const next = other?.cells[cell.closest("td").cellIndex + right]?.querySelector("button.cell");
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
byId("theme").addEventListener("click", () => {
  state.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  writeAddress();
  draw();
});
panel.addEventListener("close", () => {
  const [remedy, task] = [state.remedy, state.task];
  Object.assign(state, { remedy: "", task: "" });
  writeAddress();
  const opener = [...document.querySelectorAll("#matrix-table button.cell")].find((button) =>
    button.dataset.remedy === remedy && button.dataset.task === task);
  if (document.activeElement === document.body) opener?.focus();
});
addEventListener("hashchange", () => readAddress() && draw());
readAddress();
draw();
