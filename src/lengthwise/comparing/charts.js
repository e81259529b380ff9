// Elements, numbers as people read them, and charts as inline SVG. No library, no request.
"use strict";

// Children are nodes or texts; a text never becomes markup, whatever it says.
const make = (parent, tag, attributes = {}, ...children) => {
  const node = parent === "svg" ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
};
const el = (...all) => make("html", ...all);
const svg = (...all) => make("svg", ...all);

const isNumber = (value) => typeof value === "number";
const number = (value, digits = 2) => {
  if (!isNumber(value)) return "–";
  // Two digits are for columns that should line up; where there is room, nothing small becomes 0.
  const small = digits > 2 && value !== 0 && Math.abs(value) < 10 ** -digits / 2;
  const text = small ? value.toPrecision(1) : value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
};
const signed = (value, digits = 2) => (value > 0 ? "+" : "") + number(value, digits);
const times = (value) => (isNumber(value) ? "×" + number(value) : "–");
const share = (pair) => (pair?.[1] ? `${pair[0]}/${pair[1]}` : "–");
const part = (pair) => (pair?.[1] ? pair[0] / pair[1] : null);
const breakable = (name) => name.split(/(?<=\+)/).flatMap((part) => [part, el("wbr")]);
const words = (name) => name.replaceAll("_", " ");
const interval = (one, write = number) => {
  if (!one || !isNumber(one.mean)) return "";
  if (!isNumber(one.low) && !isNumber(one.high)) return "no interval";
  const end = (value, without) => (isNumber(value) ? write(value) : without);
  return `${end(one.low, "−∞")} to ${end(one.high, "∞")}`;
};

// Reach with its whiskers on an axis that all rows share; open whiskers have no bound.
const RANGE_WIDTH = 150;
const rangeAxis = (estimates) => {
  const ends = estimates.flatMap((one) => (one ? [one.low, one.mean, one.high] : []));
  const known = ends.filter((value) => isNumber(value) && value > 0).concat(1);
  const low = Math.log2(Math.min(...known)) - 0.1, high = Math.log2(Math.max(...known)) + 0.1;
  const place = (value) => 4 + ((Math.log2(value) - low) / (high - low)) * (RANGE_WIDTH - 8);
  const ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32].filter(
    (tick) => Math.log2(tick) >= low && Math.log2(tick) <= high);
  return { place, ticks };
};
const rangeHead = ({ place, ticks }) => svg("svg", { viewBox: `0 0 ${RANGE_WIDTH} 14`,
  class: "range", "aria-hidden": "true" },
  ticks.map((tick) => svg("text", { x: place(tick), y: 11, "text-anchor": "middle" }, `${tick}×`)));
const range = ({ place, ticks }, one, baseline) => {
  const line = (x1, x2, y1, y2, kind) => svg("line", { x1, x2, y1, y2, class: kind });
  const parts = ticks.map((tick) => line(place(tick), place(tick), 0, 22, "grid"));
  if (baseline && isNumber(baseline.mean)) {
    parts.push(line(place(baseline.mean), place(baseline.mean), 0, 22, "base"));
  }
  if (one && isNumber(one.mean)) {
    for (const [end, edge] of [[one.low, 0], [one.high, RANGE_WIDTH]]) {
      if (!isNumber(one.low) && !isNumber(one.high)) break;
      const x = isNumber(end) && end > 0 ? place(end) : edge;
      parts.push(line(place(one.mean), x, 11, 11, "whisker"));
      if (x !== edge) parts.push(line(x, x, 7, 15, "whisker"));
    }
    parts.push(svg("circle", { cx: place(one.mean), cy: 11, r: 4, class: "dot" }));
  }
  return svg("svg", { viewBox: `0 0 ${RANGE_WIDTH} 22`, class: "range", "aria-hidden": "true" }, parts);
};

// A chart of lines: {title, xTitle, x, xLabels, log, lines: [{name, kind, y, low, high}]}. Lines
// with a name are labelled at their right end.
const WIDTH = 360, HEIGHT = 240, LEFT = 34, RIGHT = 94, TOP = 10, BOTTOM = 46;
const chart = ({ title, xTitle, x, xLabels, log, lines }) => {
  const flat = lines.flatMap((line) => [line.y, line.low ?? [], line.high ?? []].flat());
  const seen = flat.filter(isNumber);
  // Bands of shares may go beyond 0 and 1, which is no reason for another axis.
  const shares = lines.every((line) => line.y.every((y) => !isNumber(y) || (y >= 0 && y <= 1)));
  const [bottom, top] = shares || !seen.length ? [0, 1] : [Math.min(...seen, 0), Math.max(...seen)];
  const scale = log ? (value) => Math.log(Math.max(value, 1e-9)) : (value) => value;
  const first = log ? scale(Math.min(...x)) : 0, last = scale(Math.max(...x));
  const px = (value) => LEFT + ((scale(value) - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const clamp = (value) => Math.min(Math.max(value, bottom), top);
  const py = (value) => HEIGHT - BOTTOM
    - ((clamp(value) - bottom) / (top - bottom || 1)) * (HEIGHT - BOTTOM - TOP);
  const parts = [];
  for (let tick = 0; tick <= 4; tick += 1) {
    const value = bottom + ((top - bottom) * tick) / 4;
    parts.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(value), y2: py(value), class: "grid" }),
      svg("text", { x: LEFT - 6, y: py(value) + 4, "text-anchor": "end" }, number(value)));
  }
  x.forEach((value, place) => [xLabels[place]].flat().forEach((text, row) => parts.push(
    svg("text", { x: px(value), y: HEIGHT - BOTTOM + 14 + 12 * row, "text-anchor": "middle" }, text))));
  parts.push(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, "text-anchor": "middle",
    y: HEIGHT - BOTTOM + 18 + 12 * [xLabels[0]].flat().length }, xTitle));
  const labels = [];
  for (const line of lines) {
    const known = line.y.map((y, place) => [x[place], y, line.low?.[place], line.high?.[place]])
      .filter(([, y]) => isNumber(y));
    if (!known.length) continue;
    const banded = known.filter(([, , low, high]) => isNumber(low) && isNumber(high));
    const points = (rows, column) => rows.map((row) => `${px(row[0])},${py(row[column])}`);
    if (banded.length > 1) {
      parts.push(svg("polygon", { class: `band ${line.kind}`,
        points: [...points(banded, 3), ...points(banded, 2).reverse()].join(" ") }));
    }
    parts.push(svg("polyline", { class: `line ${line.kind}`, points: points(known, 1).join(" ") }));
    if (["remedy", "baseline"].includes(line.kind)) {
      parts.push(...known.map((row) => svg("circle", { cx: px(row[0]), cy: py(row[1]), r: 2.5,
        class: `point ${line.kind}` })));
    }
    if (line.name) labels.push({ ...line, at: py(known.at(-1)[1]) + 4 });
  }
  // Labels keep 12 units apart: neighbours that are too near push each other away.
  labels.sort((one, other) => one.at - other.at);
  for (let round = 0; round < 40; round += 1) {
    labels.forEach((one, place) => {
      const next = labels[place + 1], lack = next ? Math.max(12 - (next.at - one.at), 0) / 2 : 0;
      if (next) next.at += lack;
      one.at = Math.min(Math.max(one.at - lack, TOP), HEIGHT - BOTTOM + 16);
    });
  }
  labels.forEach((one) => {
    const short = one.name.length > 12 ? one.name.slice(0, 11) + "…" : one.name;
    parts.push(svg("text", { x: WIDTH - RIGHT + 9, y: one.at, class: `label ${one.kind}` }, short,
      svg("title", {}, one.name)));
  });
  return el("figure", {}, el("figcaption", {}, title),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, parts));
};
