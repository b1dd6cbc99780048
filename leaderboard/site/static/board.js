"use strict";
// Sorting and filtering of tables, colours of rules. Everything is there without it.

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
  const text = cell.dataset.v ?? cell.textContent;
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

// Filters of the overview; the choices stand in the address, so that a view can be sent.
function filtering(form) {
  const table = document.getElementById(form.dataset.filters);
  const rows = [...table.tBodies[0].rows];
  const output = form.querySelector("output"), nothing = document.querySelector(".nothing");
  const fields = ["contest", "track", "network", "text"], { contest, track, network, text } = form.elements;
  const defaults = new Map(fields.map((name) => [name, form.elements[name].value]));
  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of fields) {
      const field = form.elements[name], value = given.get(name) ?? defaults.get(name);
      field.value = value;
      if (field.value !== value) field.value = defaults.get(name);
    }
    update();
  };
  const update = () => {
    const words = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const wanted =
        row.dataset.contest === contest.value &&
        (track.value === "*" || row.dataset.track === track.value) &&
        (network.value === "*" || row.dataset.network === network.value) &&
        row.cells[0].textContent.toLowerCase().includes(words);
      row.hidden = !wanted;
      shown += wanted;
    }
    document.querySelectorAll("figure.story").forEach((figure) => {
      figure.hidden = figure.dataset.contest !== contest.value;
    });
    nothing.hidden = shown > 0;
    output.textContent = shown === 1 ? "1 learner" : `${shown} learners`;
  };
  form.addEventListener("input", () => {
    const given = new URLSearchParams();
    fields.forEach((name) => form.elements[name].value !== defaults.get(name) && given.set(name, form.elements[name].value));
    history.replaceState(null, "", `#${given}`);
    update();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
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
document.querySelectorAll("form[data-filters]").forEach(filtering);
document.querySelectorAll("table.sortable").forEach(sortable);
