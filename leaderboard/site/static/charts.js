"use strict";
// Draws the charts of a contest's page with uPlot, from the CSV files beside it. data/curves/CONTEST.js hands over
// their texts, which also works from file://. With scripts off, pictures stand in the charts' places.

const MARKS = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
  "M-3.6,-3.6H3.6V3.6H-3.6Z",
  "M0,-4.6L4.2,3.4H-4.2Z",
  "M0,-5L5,0L0,5L-5,0Z",
  "M0,4.6L4.2,-3.4H-4.2Z",
  "M-4.4,-1.5H-1.5V-4.4H1.5V-1.5H4.4V1.5H1.5V4.4H-1.5V1.5H-4.4Z",
  "M-4.5,-3L-3,-4.5L0,-1.5L3,-4.5L4.5,-3L1.5,0L4.5,3L3,4.5L0,1.5L-3,4.5L-4.5,3L-1.5,0Z",
  "M0,-5L1.5,-1.5L5,-1.5L2.2,0.8L3.2,4.6L0,2.3L-3.2,4.6L-2.2,0.8L-5,-1.5L-1.5,-1.5Z",
];
const DASHES = [[], [8, 3, 2, 3], [2, 3], [8, 3, 2, 3, 2, 3]];
const PUBLISHED = [5, 4];
const FONT = "12px system-ui, sans-serif";
const NEAR = 0.012; // points that differ by less than this share of the axis look like one
const DEEPEST = 5;
const REACH = 40; // pixels from the pointer to the point that it names
const NAME = 24;
const drawn = [];

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (line) => variable(`--s${line.style % MARKS.length}`);
const cycle = (line) => Math.floor(line.style / MARKS.length);
const mark = (line) => MARKS[(line.style + 3 * cycle(line)) % MARKS.length];
const dashes = (line) => (line.published ? PUBLISHED : DASHES[cycle(line) % DASHES.length]);
const number = (value) => (Math.abs(value) < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(0));

// The rows of a CSV text as objects; what guards a spreadsheet against formulas is taken off.
function csv(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*))(,|\n)/g)) {
    rows.at(-1).push((quoted?.replaceAll('""', '"') ?? plain).replace(/^'(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/, ""));
    if (end === "\n") rows.push([]);
  }
  const [names, ...values] = rows.filter((row) => row.length);
  return values.map((row) => Object.fromEntries(names.map((name, k) => [name, row[k]])));
}

// Lines of a curve: measured ones first, so that published ones are drawn on top.
function grouped(rows) {
  const lines = new Map();
  for (const row of rows) {
    const published = row.published === "1", key = `${row.published} ${row.line}`;
    if (!lines.has(key)) lines.set(key, { title: row.line, style: Number(row.style), published, at: new Map() });
    lines.get(key).at.set(Number(row.percent), { mean: Number(row.mean), error: Number(row.std_err) });
  }
  return [...lines.values()].sort((a, b) => a.published - b.published);
}

function range(lines, scale) {
  const points = lines.flatMap((line) => [...line.at.values()]);
  if (scale === "unit") { // from a fifth below the lowest point on, so that curves use the room
    const least = Math.min(...points.map(({ mean, error }) => mean - error));
    return [Math.max(0, Math.floor(5 * least - 0.1) / 5) - 0.02, 1.02];
  }
  const high = Math.max(...points.map(({ mean, error }) => mean + error));
  if (scale === "logarithmic") {
    const least = Math.min(...points.map(({ mean }) => mean).filter((mean) => mean > 0));
    const low = Math.min(Math.max(least, 1e-3), 1e299);
    return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(Math.min(Math.max(high, 2 * low), 1e300)))];
  }
  const low = Math.min(0, ...points.map(({ mean, error }) => mean - error));
  return [low, high + 0.05 * (high - low || 1)];
}

// How many of the lines above hide each measured line, at more than half of its points: it is drawn wider.
function hidden(lines, first, height) {
  const hides = (upper, lower) => {
    const shared = [...lower.at.keys()].filter((percent) => upper.at.has(percent));
    const near = shared.filter((p) => Math.abs(height(upper.at.get(p).mean) - height(lower.at.get(p).mean)) < NEAR);
    return near.length > Math.floor(shared.length / 2);
  };
  return lines.map((line, k) => (line.published ? 0
    : Math.min(lines.slice(k + 1).filter((upper) => !upper.published && first.has(upper.title) && hides(upper, line)).length, DEEPEST)));
}

function powers(low, high) {
  const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
  const step = Math.ceil((last - first) / 8) || 1;
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => 10 ** (first + k * step));
}

function axis(more) {
  const soft = () => variable("--soft");
  const grid = { stroke: () => variable("--rule"), width: 1 };
  return { stroke: soft, font: FONT, labelFont: FONT, labelGap: 0, labelSize: 20, grid, ticks: { show: false }, filter: (u, splits) => splits, ...more };
}

// Makes a chart that is as wide as its place, with a note on the point next to the pointer.
function make(place, options, data, points) {
  const size = () => {
    const width = place.clientWidth;
    return { width, height: Math.round(Math.min(340, Math.max(260, 0.57 * width))) };
  };
  const note = document.createElement("div");
  note.className = "note";
  const near = (u) => {
    const { left, top } = u.cursor;
    const away = ({ x, y }) => Math.hypot(u.valToPos(x, "x") - left, u.valToPos(y, "y") - top);
    const seen = left < 0 ? [] : points.filter(({ k, x }) => u.series[k].show && x >= u.scales.x.min && x <= u.scales.x.max);
    const best = seen.reduce((one, other) => (one === null || away(other) < away(one) ? other : one), null);
    note.hidden = best === null || away(best) > REACH;
    if (note.hidden) return;
    note.textContent = best.text;
    const room = u.over.clientWidth - note.offsetWidth;
    note.style.left = `${Math.max(0, Math.min(room, u.valToPos(best.x, "x") - note.offsetWidth / 2))}px`;
    note.style.top = `${u.valToPos(best.y, "y") - note.offsetHeight - 8}px`;
  };
  options.hooks.setCursor = [near];
  const cursor = { points: { show: false }, y: false };
  const chart = new uPlot({ ...size(), legend: { show: false }, cursor, ...options }, data, place);
  note.hidden = true;
  chart.over.append(note);
  new ResizeObserver(() => place.clientWidth !== chart.width && chart.setSize(size())).observe(place);
  drawn.push(chart);
  place.chart = chart;
}

function curve(place, rows) {
  const figure = place.closest("figure"), lines = grouped(rows), scale = place.dataset.scale;
  const [low, high] = range(lines, scale), logarithmic = scale === "logarithmic";
  const at = (value) => (logarithmic ? Math.min(Math.max(value, low), high) : value);
  const height = (value) => (logarithmic ? Math.log(at(value) / low) / Math.log(high / low) : (value - low) / (high - low));
  const named = JSON.parse(place.dataset.shown || "[]");
  const first = new Set(lines.map((line) => line.title).filter((title) => !named.length || named.includes(title)));
  const depths = hidden(lines, first, height);
  const percents = [...new Set(rows.map((row) => Number(row.percent)))].sort((a, b) => a - b);
  const data = [percents], series = [{}], bands = [], points = [];
  lines.forEach((line, i) => {
    const values = (sign) => percents.map((p) => (line.at.has(p) ? at(line.at.get(p).mean + sign * line.at.get(p).error) : null));
    const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
    const width = line.published ? 1.5 : 2 + 4 * depths[i], k = series.length;
    data.push(values(1), values(-1), values(0));
    series.push(edge, { ...edge }, { stroke: () => colour(line), width, dash: dashes(line), spanGaps: true, points: { show: false } });
    bands.push({ series: [k, k + 1], fill: () => colour(line) + (line.published ? "14" : "29") });
    for (const [p, { mean, error }] of line.at) {
      points.push({ k: k + 2, x: p, y: at(mean), text: `${line.title}, ${p} %: ${number(mean)} ± ${Number(error.toPrecision(2))}` });
    }
  });
  const marks = (u, k) => {
    if (k % 3 || !k) return;
    const line = lines[k / 3 - 1], shape = new Path2D(mark(line)), c = u.ctx, { min, max } = u.scales.x;
    c.save();
    c.setLineDash([]);
    c.strokeStyle = colour(line);
    c.fillStyle = line.published ? variable("--paper") : colour(line);
    c.lineWidth = line.published ? 1.2 : 4 * depths[k / 3 - 1] || 1;
    percents.forEach((p, i) => {
      if (u.data[k][i] === null || p < min || p > max) return;
      c.setTransform(uPlot.pxRatio, 0, 0, uPlot.pxRatio, u.valToPos(p, "x", true), u.valToPos(u.data[k][i], "y", true));
      c.fill(shape);
      c.stroke(shape);
    });
    c.restore();
  };
  const y = logarithmic ? { splits: () => powers(low, high) } : {};
  make(place, {
    scales: {
      x: { time: false, range: (u, least, most) => (least === most ? [0, 100] : [least, most]) },
      y: { distr: logarithmic ? 3 : 1, range: [low, high] },
    },
    axes: [axis({ size: 26, label: place.dataset.x }), axis({ size: 56, values: (u, splits) => splits.map(number), ...y })],
    series, bands, hooks: { drawSeries: [marks] }, padding: [12, 12, 0, 0],
  }, data, points);
  legend(figure.querySelector("ul.legend"), lines, first, place.chart);
  figure.querySelector("details").addEventListener("toggle", (event) => {
    event.target.querySelector("div").append(numbers(lines, percents));
  }, { once: true });
}

// A button a line; of many only those that the page names are on at first.
function legend(list, lines, first, chart) {
  lines.forEach((line, i) => {
    const button = document.createElement("button"), item = document.createElement("li");
    const set = (show) => {
      button.setAttribute("aria-pressed", String(show));
      chart.batch(() => [1, 2, 3].forEach((k) => chart.setSeries(3 * i + k, { show })));
    };
    button.type = "button";
    button.append(swatch(line), line.title);
    button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
    set(first.has(line.title));
    item.append(button);
    list.append(item);
  });
}

function swatch(line) {
  const element = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const look = `swatch s${line.style % MARKS.length}${line.published ? " published" : ""}`;
  const svg = element("svg", { class: look, width: 34, height: 14, viewBox: "-17 -7 34 14", "aria-hidden": true });
  svg.append(element("path", { class: "line", d: "M-17,0H17", "stroke-dasharray": dashes(line).join(" ") }), element("path", { class: "mark", d: mark(line) }));
  return svg;
}

function numbers(lines, percents) {
  const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  const cell = (row, text, name = "td", scope = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    if (scope) made.scope = scope;
    row.append(made);
  };
  table.createCaption().textContent = "Means ± standard errors by share of shifted examples";
  ["shifted (%)", ...lines.map((line) => line.title)].forEach((title) => cell(head, title, "th", "col"));
  for (const percent of percents) {
    const row = body.insertRow();
    cell(row, percent, "th", "row");
    for (const { at } of lines) {
      const point = at.get(percent);
      cell(row, point ? `${number(point.mean)} ± ${Number(point.error.toPrecision(2))}` : "");
    }
  }
  return table;
}

function front(place, rows) {
  const [, y, x] = Object.keys(rows[0]);
  const dots = rows.map((row) => ({ k: 1, x: Math.min(Math.max(Number(row[x]), 1e-6), 1e12), y: Number(row[y]), on: row.on_front === "1", text: row.learner }));
  dots.sort((a, b) => a.x - b.x);
  const left = 10 ** Math.floor(Math.log10(dots[0].x)), right = Math.max(10 * left, 10 ** Math.ceil(Math.log10(dots.at(-1).x)));
  const heights = dots.map((dot) => dot.y), spread = Math.max(...heights) - Math.min(...heights), room = 0.08 * spread || 0.05;
  const names = (u) => {
    const c = u.ctx, ratio = uPlot.pxRatio, { min, max } = u.scales.x;
    c.save();
    c.scale(ratio, ratio);
    c.font = FONT;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.lineWidth = 2;
    let line = -Infinity;
    for (const dot of [...dots].sort((a, b) => b.y - a.y)) {
      if (dot.x < min || dot.x > max) continue;
      const at = u.valToPos(dot.x, "x", true) / ratio, height = u.valToPos(dot.y, "y", true) / ratio;
      line = Math.max(height, line + 13); // a name stands at its dot, or below the one above
      c.beginPath();
      c.arc(at, height, 4.5, 0, 2 * Math.PI);
      c.strokeStyle = variable("--s0");
      c.fillStyle = variable(dot.on ? "--s0" : "--paper");
      c.fill();
      c.stroke();
      c.fillStyle = variable("--ink");
      c.fillText(dot.text.length > NAME ? `${dot.text.slice(0, NAME - 1)}…` : dot.text, at + 9, line);
    }
    c.restore();
  };
  make(place, {
    scales: {
      x: { time: false, distr: 3, range: (u, least, most) => (least === dots[0].x && most === dots.at(-1).x ? [left, right] : [least, most]) },
      y: { range: [Math.min(...heights) - room, Math.max(...heights) + room] },
    },
    axes: [
      axis({ size: 26, label: place.dataset.x, splits: () => powers(left, right), values: (u, splits) => splits.map(number) }),
      axis({ size: 56 }),
    ],
    series: [{}, { paths: () => null, points: { show: false } }], hooks: { draw: [names] }, padding: [12, 150, 0, 0],
  }, [dots.map((dot) => dot.x), heights], dots.map((dot) => ({ ...dot, text: `${dot.text}: ${number(dot.y)}, ${place.dataset.x} ${number(dot.x)}` })));
}

window.nslBench.charts = (files) => {
  for (const place of document.querySelectorAll("div.chart")) {
    const rows = csv(files[place.dataset.name]);
    (place.dataset.scale === "front" ? front : curve)(place, rows);
  }
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((chart) => chart.redraw()));
