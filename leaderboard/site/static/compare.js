"use strict";
// Two learners side by side: compare.html#FIRST,SECOND loads a data file of each. All differences are read from the
// first one's file; nothing is computed here. Whatever comes from a submission reaches the page as text.

const WORDS = { "-1": "worse", 0: "tie", 1: "better" };
const files = new Map();
let known = { contests: [], learners: [] };
window.nslBench.learner = (value) => files.set(value.slug, value);
window.nslBench.learners = (value) => {
  known = value;
  const form = document.querySelector("form.filters"), { first, second } = form.elements;
  for (const field of [first, second]) {
    field.append(...known.learners.map(({ slug, title }) => element("option", { value: slug }, title)));
  }
  form.hidden = false;
  form.addEventListener("input", () => { location.hash = `${first.value},${second.value}`; });
  addEventListener("hashchange", show);
  show();
};

async function show() {
  const place = document.getElementById("pair"), form = document.querySelector("form.filters");
  const given = location.hash.slice(1).split(",").map(decodeURIComponent), slugs = known.learners.map(({ slug }) => slug);
  const strange = given.find((slug) => slug && !slugs.includes(slug));
  if (strange) return place.replaceChildren(element("p", {}, `There is no learner ${strange}; choose two of the list.`));
  const [first, second] = [given[0] || slugs[0], given[1] || slugs.find((slug) => slug !== (given[0] || slugs[0]))];
  [form.elements.first.value, form.elements.second.value] = [first, second];
  if (!first || !second || first === second) return place.replaceChildren(element("p", {}, "Choose two different learners."));
  await Promise.all([first, second].filter((slug) => !files.has(slug)).map((slug) => load(`data/learner/${slug}.js`)));
  const a = files.get(first), b = files.get(second);
  document.title = `${a.title} and ${b.title} · nsl-bench leaderboard`;
  document.querySelector("h1").textContent = `${a.title} and ${b.title}`;
  const at = slugs.indexOf(second), both = known.contests.filter((name) => a.contests[name] && b.contests[name]);
  const parts = both.map((name) => section(name, a, b));
  place.replaceChildren(summary(a, b, both, at), differences(a, b, both, at), ...parts, supervision(a, b));
  place.querySelectorAll("div.chart").forEach((chart) => curve(chart, chart.rows));
}

const points = (tenths) => `${tenths > 0 ? "+" : ""}${(tenths / 10).toFixed(1)}`;
const link = (one) => element("a", { href: `learner/${one.slug}.html` }, one.title);

function table(label, caption, heads, rows) {
  return element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": label }, element("table", { className: "loose" },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((what) => element("td", {}, what)))))));
}

function summary(a, b, both, at) {
  const of = (word) => both.filter((name) => a.contests[name].differences[at]?.[3] === word);
  const parts = [["better than", 1], ["worse than", -1]].filter(([, word]) => of(word).length).map(([text, word]) => `${text} ${b.title} on ${of(word).join(", ")}`);
  const ties = of(0);
  return element("p", { className: "lead" }, link(a), parts.length ? ` is ${parts.join("; ")}. ` : " is shown to be neither better nor worse. ",
    ties.length ? `No difference is shown on ${ties.join(", ")}.` : "", both.length ? "" : "They have no benchmark in common.");
}

function differences(a, b, both, at) {
  const rows = both.map((name) => {
    const found = a.contests[name].differences[at], mean = (one) => one.contests[name].mean?.toFixed(3) ?? "–";
    const told = found === null || found === undefined ? ["–", "not compared", "–"] : [points(found[0]),
      found[3] === null ? "not known" : element("strong", { className: WORDS[found[3]] }, WORDS[found[3]]),
      found[1] === null ? "–" : `${points(found[1])} to ${points(found[2])}`];
    return [element("a", { href: `benchmark/${name}.html` }, name), ...told, mean(a), mean(b)];
  });
  return element("section", {}, element("h2", {}, "Differences"),
    table("Differences", `How much better ${a.title} is, in hundredths of the accuracy that ranks, mean over shares, on the same runs and examples. The word is corrected over all pairs of a benchmark's learners; beside FFNSL over its learners. Not compared: runs are missing, or one learner sees true concepts.`,
      ["benchmark", "points", "word", "95 % interval", a.title, b.title], rows));
}

function section(name, a, b) {
  const mine = [a, b].map((one) => [one, one.contests[name]]);
  const shifts = [...new Set(mine.flatMap(([, one]) => Object.keys(one.curves)))];
  const style = a.style === b.style ? [a.style, b.style + 8] : [a.style, b.style];
  return element("section", {}, element("h2", {}, element("a", { href: `benchmark/${name}.html` }, name)),
    element("div", { className: "curves" }, ...shifts.map((shift) => {
      const chart = element("div", { className: "chart", role: "img", "aria-label": `Accuracy on images of both learners on ${name} over the share of shifted examples, ${shift}; the numbers are below it` });
      Object.assign(chart.dataset, { x: "share of shifted examples (%)", scale: "unit" });
      chart.rows = mine.flatMap(([one, { curves }], k) => (curves[shift] ?? []).map(([percent, mean, error]) => ({ line: one.title, style: style[k], published: "0", percent, mean, std_err: error })));
      return element("figure", { className: "curvef" }, element("figcaption", {}, `Accuracy on images, ${shift}`), chart, element("ul", { className: "legend" }),
        element("details", {}, element("summary", {}, "Numbers"), element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": `Numbers of ${name}, ${shift}` })));
    })),
    element("div", { className: "sides" }, ...mine.map(([one, { rules }]) => element("div", {}, element("h3", {}, `${one.title}: rules`),
      ...(rules.length ? rules.flatMap(hypothesis) : [element("p", { className: "by" }, "No rules were submitted.")])))));
}

function hypothesis({ title, rules, more, language, repeats }) {
  const lines = rules.map((rule) => element("span", { className: "rule" }, ...coloured(rule, language)));
  return [element("p", { className: "by" }, `${title} shifted, train ${repeats.length === 1 ? "split" : "splits"} ${repeats.join(", ")}`),
    element("pre", { className: "rules" }, element("code", {}, ...lines, more ? element("span", { className: "more" }, `… and ${more} more`) : null))];
}

function supervision(a, b) {
  const names = known.contests.filter((name) => a.contests[name] || b.contests[name]), told = (what) => (what === "" ? "–" : typeof what === "number" ? what.toLocaleString("en") : what);
  const facts = Object.keys(Object.values({ ...a.contests, ...b.contests })[0]?.given ?? {});
  const rows = names.flatMap((name) => [a, b].filter((one) => one.contests[name]).map((one) => [name, one.title, ...facts.map((fact) => told(one.contests[name].given[fact]))]));
  return element("section", {}, element("h2", {}, "Supervision"), table("Supervision", "What each was given; a dash where it is nothing, or not known", ["benchmark", "learner", ...facts], rows));
}
