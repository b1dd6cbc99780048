"use strict";
// Sorting and filtering of tables, colours of rules. Everything is there without it.

window.nslBench = {};

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const kind = head.dataset.sort;
    if (!kind) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const first = head.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((cell) => cell.hasAttribute("aria-sort") && cell.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keyed = [...body.rows].map((row) => [key(row.cells[column], kind), row]);
      // Cells without a value stay at the end, whichever the order is.
      keyed.sort(([a], [b]) => (a === null) - (b === null) || sign * (kind === "number" ? a - b : String(a).localeCompare(b)));
      body.append(...keyed.map(([, row]) => row));
    });
  });
}

function key(cell, kind) {
  if (kind !== "number") return cell.textContent.trim().toLowerCase();
  const value = parseFloat(cell.textContent.replaceAll(",", ""));
  return Number.isNaN(value) ? null : value;
}

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Data come as scripts, which also works from file://.
function load(path) {
  return new Promise((resolve, reject) => {
    const script = element("script", { src: path });
    script.onload = () => { script.remove(); resolve(); };
    script.onerror = () => reject(new Error(path));
    document.head.append(script);
  });
}

// The front page's choices stand in the address, so that a view can be sent. A benchmark and metric that is not
// shown yet is loaded: data/views/ has its picture and table as HTML that the site's builder escaped.
function overview(form) {
  const output = form.querySelector("output"), fields = ["contest", "metric", "track", "network", "text"];
  const place = document.getElementById("view"), { contest, metric, track, network, text } = form.elements;
  const defaults = new Map(fields.map((name) => [name, form.elements[name].value]));
  const name = () => `${contest.value}-${metric.value}`;
  const words = () => text.value.trim().toLowerCase();
  let shown = name(), pair = [];
  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of fields) {
      const field = form.elements[name], value = given.get(name) ?? defaults.get(name);
      field.value = value;
      if (field.value !== value) field.value = defaults.get(name);
    }
    update();
  };
  const filter = () => {
    let count = 0;
    for (const row of place.querySelectorAll("tbody tr[data-track]")) {
      const wanted = (track.value === "*" || row.dataset.track === track.value)
        && (network.value === "*" || row.dataset.network === network.value)
        && row.cells[0].textContent.toLowerCase().includes(words());
      row.hidden = !wanted;
      count += wanted;
    }
    place.querySelector(".nothing").hidden = count > 0;
    output.textContent = count === 1 ? "1 learner" : `${count} learners`;
  };
  const update = async () => {
    const wanted = name();
    if (wanted !== shown) {
      shown = wanted;
      window.nslBench.view = (html) => { if (name() === wanted) { place.innerHTML = html; prepare(); } };
      await load(`data/views/${wanted}.js`);
      if (name() !== wanted) return;
      if (place.querySelector("div.chart")) await load(`data/curves/${contest.value}-story-${metric.value}.js`);
    }
    filter();
  };
  const choose = () => {
    const line = document.querySelector("p.pair"), [first, second] = pair;
    line.hidden = false;
    line.replaceChildren(second ? element("a", { href: `compare.html#${first.slug},${second.slug}` }, `Compare ${first.title} and ${second.title}`)
      : first ? `Choose a second learner to compare with ${first.title}.` : "Choose two learners in the table to compare them.");
  };
  const prepare = () => {
    place.querySelectorAll("table.sortable").forEach(sortable);
    for (const row of place.querySelectorAll("tbody tr[data-track]")) {
      const link = row.querySelector("a"), slug = /learner\/([^.]+)\.html/.exec(link.getAttribute("href"))[1];
      const box = element("input", { type: "checkbox", checked: pair.some((one) => one.slug === slug) });
      box.setAttribute("aria-label", `compare ${link.textContent}`);
      box.addEventListener("change", (event) => {
        event.stopPropagation();
        pair = pair.filter((one) => one.slug !== slug);
        if (box.checked) pair = [...pair, { slug, title: link.textContent, box }].slice(-2);
        place.querySelectorAll("tbody input").forEach((other) => { other.checked = pair.some((one) => one.box === other); });
        choose();
      });
      link.before(box, " ");
    }
    place.querySelector(".nothing button").addEventListener("click", () => {
      [track.value, network.value, text.value] = ["*", "*", ""];
      changed();
    });
  };
  const changed = () => {
    const given = new URLSearchParams();
    fields.forEach((name) => form.elements[name].value !== defaults.get(name) && given.set(name, form.elements[name].value));
    history.replaceState(null, "", `#${given}`);
    update();
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
  prepare();
  choose();
  read();
  // Going back, the browser puts the choices in again after this script has run.
  addEventListener("pageshow", update);
}

// Tokens of rules, found in time linear in the rule: words are tried at their beginning alone, and a string without an
// end is one.
const ASP = /("(?:\\.|[^"\\])*"?)|(\bnot\b|:-)|(\b_*[A-Z]\w*|\b_\b)|(\b\d+\b)|(\b[a-z_]\w*(?=\())|(!=|<=|>=|[<>=+\-*/])/g;
const TREE = /()(\bif\b)|()((?<= )-?\d[\d.e+-]*)/g;
const KINDS = ["s", "k", "v", "n", "p", "o"];

// The pieces of a rule, its tokens in spans.
function coloured(rule, language) {
  const pieces = [];
  let end = 0;
  for (const match of rule.matchAll(language === "tree" ? TREE : ASP)) {
    const token = document.createElement("span");
    token.className = KINDS[match.slice(1).findIndex((group) => group)];
    token.textContent = match[0];
    pieces.push(rule.slice(end, match.index), token);
    end = match.index + match[0].length;
  }
  return [...pieces, rule.slice(end)];
}

document.querySelectorAll(".rule[data-language]").forEach((line) => {
  line.replaceChildren(...coloured(line.textContent, line.dataset.language));
});
if (document.getElementById("view")) overview(document.querySelector("form.filters"));
else document.querySelectorAll("table.sortable").forEach(sortable);
