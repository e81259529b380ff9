// The panel of a cell: curves, numbers, seeds, learning rates, and the command that trains it again.
"use strict";

const plain = (label, head, rows) => el("div", { class: "wide", role: "region", "aria-label": label,
  tabindex: 0 }, el("table", {}, el("thead", {}, el("tr", {}, head.map((text, place) => el("th",
  { scope: "col", class: place ? "number" : "name" }, text)))), el("tbody", {}, rows.map((row) =>
  el("tr", {}, row.map((text, place) => (place ? el("td", { class: "number" }, text)
    : el("th", { scope: "row", class: "name" }, text))))))));

const lengthChart = (cell, task, measure) => {
  const base = baseline && cellOf(baseline.name, task.name).scores[measure];
  const bands = cell.scores[measure], isBase = cell.remedy === data.baseline;
  const line = (name, kind, one) => one && { name, kind, y: one.mean, low: one.low, high: one.high };
  return chart({ title: `${words(measure)}${lower.has(measure) ? " (less is better)" : ""}`,
    x: task.lengths, log: true, xTitle: `${task.unit}, trained on up to ${task.train_length}`,
    xLabels: task.lengths.map((length, place) => [`${length}`, `${data.multiples[place]}×`]),
    lines: [
      { name: "chance", kind: "chance", y: task.chance?.[measure] ?? [] },
      { name: "length only", kind: "length", y: task.length_only?.[measure] ?? [] },
      isBase ? null : line(data.baseline, "baseline", base),
      ...cell.seeds.map((one) => ({ kind: one.learned ? "seed" : "seed failed",
        y: one.scores[measure] ?? [] })),
      line(cell.remedy, "remedy", bands)].filter(Boolean) });
};
const stepChart = ({ curve }, task) => chart({ title: `${words(task.score)} over training`,
  x: curve.steps, xTitle: "steps", xLabels: curve.steps.map((step) => step.toLocaleString("en")),
  lines: data.multiples.map((multiple, place) => ({ name: `${multiple}×`,
    kind: `step step-${Math.min(place, 4)}`, y: curve.scores.map((row) => row[place]) })) });

const numbersTable = (cell, task, measure) => {
  const base = baseline && cellOf(baseline.name, task.name).scores[measure];
  const row = (name, bands, write) => bands && [name, ...bands.mean.map((mean, place) =>
    (isNumber(mean) ? `${write(mean, 3)} (${interval(at(bands, place), write)})` : "–"))];
  const flat = (name, values) => values && [name, ...values.map((value) => number(value, 3))];
  return plain(`Numbers of ${words(measure)}`, [words(measure),
    ...task.lengths.map((length, place) => `${length} (${data.multiples[place]}×)`)],
  [row(cell.remedy, cell.scores[measure], number),
    cell.remedy === data.baseline ? null : row(data.baseline, base, number),
    row("change", cell.differences?.[measure], signed), flat("chance", task.chance?.[measure]),
    flat("length only", task.length_only?.[measure])].filter(Boolean));
};

const seedTable = ({ seeds }, task) => plain("Seeds", ["seed", "learning rate", "learned", "break length",
  ...data.multiples.map((multiple) => `${multiple}×`)], seeds.map((one) => [`${one.seed}`,
  `${one.learning_rate ?? "–"}`, one.learned ? "yes" : "no",
  isNumber(one.break) ? number(one.break, 1) : one.learned ? `beyond ${task.lengths.at(-1)}` : "–",
  ...data.multiples.map((_, place) => number(one.scores[task.score]?.[place], 3))]));
const rateTable = ({ rates }, task) => plain("Learning rates", ["learning rate",
  `${words(task.score)} in range`, "learned"], rates.map((rate) => [`${rate.learning_rate}`,
  number(rate.in_range, 3), share(rate.learned)]));

const verdictLine = (cell, task) => {
  const parts = [];
  if (cell.reach) parts.push(`reach ${number(cell.reach.mean)} (${interval(cell.reach)})`);
  if (cell.ratio) parts.push(`${times(cell.ratio.mean)} that of ${data.baseline} (${interval(cell.ratio)}`
    + (isNumber(cell.ratio.p) ? `, p ${number(cell.ratio.p, 3)})` : ")"));
  if (cell.learned) parts.push(`${cell.learned[0]} of ${cell.learned[1]} seeds learned `
    + `(${words(task.score)} in range ${lower.has(task.score) ? "past" : "of at least"} ${task.gate})`);
  return el("p", {}, el("span", { class: `badge ${cell.verdict.replace(" ", "-")}` },
    MARKS[cell.verdict] ? MARKS[cell.verdict] + " " : "", SAID[cell.verdict]), " " + parts.join("; "));
};

const copyButton = (text) => {
  const button = el("button", { type: "button", class: "copy", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch { // some browsers keep the clipboard from files: then the text is at least selected
      getSelection().selectAllChildren(byId("command"));
      button.textContent = "Selected";
    }
  });
  return button;
};

// Who it is, the way to the remedies above and below in the matrix, and the way out.
const panelHead = (remedy, task) => {
  const order = [...document.querySelectorAll("#matrix-table tbody th a")].map((link) => link.textContent);
  const place = order.indexOf(remedy.name);
  const go = (sign, label, name) => el("button", { type: "button", disabled: !name, "data-go": true,
    "data-remedy": name ?? "", "data-task": task.name, "aria-label": `${label}: ${name ?? "none"}` }, sign);
  const close = el("button", { type: "button", class: "close" }, "Close");
  close.addEventListener("click", () => panel.close());
  return el("header", {}, el("h2", { id: "panel-title", tabindex: -1, autofocus: true },
    breakable(remedy.name), ` on ${task.name}`), go("↑", "Remedy above", order[place - 1]),
  go("↓", "Remedy below", order[place + 1]), close);
};

const panelResults = (cell, task) => [
  el("div", { class: "charts" }, task.measures.map((measure) => lengthChart(cell, task, measure)),
    cell.curve ? stepChart(cell, task) : null),
  el("p", { class: "note" }, "Means and bands (95 % intervals) are over seeds that learned the training "
    + "lengths. Thin lines are seeds, dotted if they did not. Curves over training are means over all "
    + "seeds, a line per multiple of the training length."),
  el("details", {}, el("summary", {}, "The numbers"),
    task.measures.map((measure) => numbersTable(cell, task, measure))),
  el("div", { class: "pair" },
    el("div", {}, el("h3", {}, `Seeds: ${words(task.score)} by length`), seedTable(cell, task)),
    el("div", {}, el("h3", {}, "Learning rates"), rateTable(cell, task)))];

const panelRecipe = (cell, remedy, task) => [
  el("h3", {}, "Recipe"),
  el("p", {}, `${remedy.model}, ${remedy.parameters?.toLocaleString("en") ?? "?"} parameters, with `
    + `${remedy.parts.map((part) => part.name).join(" + ")}; ${task.name} on up to `
    + `${task.train_length} ${task.unit}${task.steps ? `, ${task.steps.toLocaleString("en")} steps` : ""}.`),
  cell.command ? el("div", { class: "command" }, el("pre", { id: "command", tabindex: 0 }, cell.command),
    copyButton(cell.command)) : ""];

const drawPanel = () => {
  const task = tasks.get(state.task), remedy = remedies.get(state.remedy);
  if (!task || !remedy) return panel.open && panel.close();
  const cell = cellOf(remedy.name, task.name), measured = Object.keys(cell.scores).length > 0;
  panel.replaceChildren(panelHead(remedy, task), verdictLine(cell, task),
    ...(measured ? panelResults(cell, task) : []), ...panelRecipe(cell, remedy, task));
  hideTip();
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
  return byId("panel-title").focus();
};
