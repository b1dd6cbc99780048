"use strict";
// A run's page: run.html#ENTRY/CONTEST/RUN loads two data files as scripts, which also works from file://.
// Whatever comes from a submission reaches the page as text, never as markup.

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" +
  String.fromCharCode(...Array.from({ length: 962 }, (_, k) => 256 + k));
const PAGE = 25;
const loaded = { runs: null, test: null };
window.nslBench.runs = (value) => { loaded.runs = value; };
window.nslBench.test = (value) => { loaded.test = value; };

async function show() {
  const place = document.getElementById("run");
  const match = /^#([a-z0-9-]+)\/([\w.-]+)\/([0-9a-f]+)$/.exec(location.hash);
  if (!match || match[2].startsWith(".")) return;
  const [, entry, contest, name] = match;
  try {
    loaded.runs = loaded.test = null;
    await Promise.all([load(`data/runs/${entry}/${contest}.js`), load(`data/test/${contest}.js`)]);
  } catch (error) {
    place.replaceChildren(element("h1", {}, "A run"), element("p", {}, `The file ${error.message} does not exist.`));
    return;
  }
  const run = loaded.runs.find((candidate) => candidate.run === name);
  if (!run) {
    place.replaceChildren(element("h1", {}, "A run"), element("p", {}, `${entry} has no run ${name}.`));
    return;
  }
  document.title = `Run ${name} · nsl-bench leaderboard`;
  place.replaceChildren(...page(entry, contest, run, loaded.test));
}

function page(entry, contest, run, test) {
  const where = run.percent ? `${run.shift}, ${run.percent} % of the examples shifted` : "no shifted examples";
  const record = { ...run };
  delete record.predictions;
  return [
    element("h1", {}, `A run of ${entry} on ${contest}`),
    element("p", { className: "lead" }, `Run ${run.run}: `,
      element("a", { href: `learner/${entry}.html#${contest}` }, entry), " on ",
      element("a", { href: `benchmark/${contest}.html` }, contest), `: ${where}, train split ${run.repeat}.`),
    run.status && run.status !== "ok" ? element("p", { className: "failed" },
      `This run failed (${run.status.replaceAll("_", " ")}). Its numbers are those of the majority class of the train labels.`) : null,
    ...examples(run, test.sets[run.test_set], test.names),
    run.rules.length ? element("h2", {}, "Learned rules") : null,
    run.rules.length ? rules(run) : null,
    element("h2", {}, "Numbers"),
    facts(Object.entries(run.metrics).map(([key, value]) => {
      const [title, digits] = test.metrics[key] ?? [key.replaceAll("_", " "), 3];
      return [title, rounded(value, digits)];
    })),
    element("h2", {}, "Command to reproduce"),
    element("pre", {}, element("code", {}, ...run.command.split(" ").flatMap((word) => [element("span", { className: "word" }, word), " "]))),
    element("h2", {}, "All predictions"),
    ...Object.keys(run.predictions).length
      ? Object.entries(run.predictions).map(([evaluation, found]) => predictions(evaluation, found, { names: test.names, ...test.sets[run.test_set] }))
      : [element("p", {}, "This site does not include the predictions.")],
    element("h2", {}, "Record"),
    facts([
      ["content hash of the train set", run.content_hash.train], ["content hash of the test set", run.content_hash.test], ["started", run.started],
      ...Object.entries(run.versions), ...Object.entries(run.environment),
    ].filter(([, value]) => value)),
    element("details", {}, element("summary", {}, "As JSON"),
      element("pre", {}, element("code", {}, JSON.stringify(record, null, 2)))),
  ].filter(Boolean);
}

function facts(pairs) {
  return element("dl", { className: "facts" },
    ...pairs.map(([key, value]) => element("div", {}, element("dt", {}, key), element("dd", {}, String(value)))));
}

const COLOURED = 20000;

function rules(run) {
  const code = element("code", {});
  let left = COLOURED;
  for (const rule of run.rules) {
    const line = element("span", { className: "rule" }, ...coloured(rule.slice(0, left), run.language), rule.slice(left));
    left -= Math.min(left, rule.length);
    code.append(line);
  }
  return element("pre", { className: "rules" }, code);
}

function rounded(value, digits) {
  const least = 10 ** -digits;
  if (value !== 0 && Math.abs(value) < least / 2) return `below ${least}`;
  return value.toLocaleString("en", { minimumFractionDigits: Number.isInteger(value) ? 0 : digits, maximumFractionDigits: digits });
}

const named = (letter, names) => names[LETTERS.indexOf(letter)] ?? (letter === "-" ? "undecided" : "ambiguous");

// A few right and wrong examples: images, what the network saw, the answer, the true label, and the rules that fired.
function examples(run, test, names) {
  const sample = test?.sample, found = run.predictions.framework ?? Object.values(run.predictions)[0];
  if (!sample || !run.examples?.length) return [];
  const sure = found.true === undefined ? null : atob(found.true);
  const cards = run.examples.map(([k, fired]) => card(run, test, names, found, sure, k, fired));
  const right = cards.filter((one) => one.right), wrong = cards.filter((one) => !one.right);
  const part = (title, some) => [element("h3", {}, some.length ? title : `${title}: none of the ${sample.rows.length} examples that this site shows with images`),
    element("div", { className: "cards" }, ...some.map((one) => one.made))];
  return [element("h2", {}, "Examples"), ...part("Right", right), ...part("Wrong", wrong)];
}

function card(run, test, names, found, sure, k, fired) {
  const sample = test.sample, row = sample.rows[k], truth = test.labels[row], said = found.labels[row], right = said === truth;
  const shifted = sample.shifted[String(run.percent)]?.[k] === 1 && sample.pictures[run.shift] !== undefined;
  const view = shifted ? run.shift : "standard", seen = run.network ? sample.seen[run.network]?.[view] : undefined;
  const at = test.labels.length + k * names.length + LETTERS.indexOf(said);
  const probability = sure !== null && names[LETTERS.indexOf(said)] !== undefined && at < sure.length ? ` (probability ${(sure.charCodeAt(at) / 255).toFixed(2)})` : "";
  const [true_concepts] = sample.seen[""].standard, slots = true_concepts[k].map((concept, i) => [concept, i]).filter(([concept]) => concept);
  const words = slots.map(([concept, i]) => {
    if (seen === undefined) return element("span", {}, concept);
    const guess = seen[0][k][i], text = `${guess} ${(seen[1][k][i] / 100).toFixed(2)}`;
    return guess === concept ? element("span", {}, text) : element("span", { className: "wrong" }, `${text} (is ${concept})`);
  });
  const list = element("p", { className: "slots" }, ...words.flatMap((word) => [word, " "]));
  const seeing = words.length > 16 ? element("details", {}, element("summary", {}, `${words.filter((word) => word.className).length} of ${words.length} read wrongly`), list) : list;
  const facts = [
    [run.network ? "Network saw" : "Shows", seeing],
    ["Answer", element("span", { className: right ? "right" : "wrong" }, `${right ? "✓" : "✗"} ${named(said, names)}${probability}`)],
    ["True label", named(truth, names)],
    ...(fired ? [["Rules that fired", fired.length ? rules({ ...run, rules: fired }) : "none"]] : []),
  ];
  const text = `test-${row}${shifted ? `, shifted by ${run.shift}` : ""}: ${true_concepts[k].filter(Boolean).join(" ")}`;
  return { right, made: element("article", { className: "card" }, element("h4", {}, `test-${row}${shifted ? `, ${run.shift}` : ""}`), picture(sample, view, k, text),
    element("dl", {}, ...facts.flatMap(([name, what]) => [element("dt", {}, name), element("dd", {}, what)]))) };
}

// One example of the picture that has all of the sample, one below the other.
function picture(sample, view, k, text) {
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const [width, height] = sample.size;
  const svg = make("svg", { viewBox: `0 ${k * height} ${width} ${height}`, width, height, role: "img", "aria-label": text });
  svg.append(make("image", { href: `pictures/${sample.pictures[view]}`, width, height: height * sample.rows.length }));
  return svg;
}

function predictions(evaluation, found, test) {
  const name = (letter) => named(letter, test.names);
  const sure = found.true === undefined ? null : atob(found.true);
  const all = [...found.labels].map((letter, i) => ({
    i, truth: name(test.labels[i]), said: name(letter), right: letter === test.labels[i],
    probability: sure === null ? null : sure.charCodeAt(i) / 255, shown: test.shown[i],
  }));
  const wrong = all.filter((row) => !row.right);
  const body = element("tbody", {});
  const more = element("button", { type: "button" }, `Show ${PAGE} more`);
  const choice = element("select", {},
    element("option", { value: "wrong" }, `wrong (${wrong.length})`), element("option", { value: "all" }, `all (${all.length})`));
  let rows = wrong.length ? wrong : all;
  choice.value = wrong.length ? "wrong" : "all";
  const extend = () => {
    const from = body.rows.length;
    for (const row of rows.slice(from, from + PAGE)) {
      body.append(element("tr", {},
        element("th", { scope: "row" }, `test-${row.i}`), element("td", {}, row.shown), element("td", {}, row.truth),
        element("td", { className: row.right ? "right" : "wrong" }, `${row.right ? "✓" : "✗"} ${row.said}`),
        element("td", { className: "n" }, row.probability === null ? "not given" : row.probability.toFixed(2))));
    }
    more.hidden = body.rows.length >= rows.length;
  };
  choice.addEventListener("input", () => { rows = choice.value === "all" ? all : wrong; body.replaceChildren(); extend(); });
  more.addEventListener("click", extend);
  extend();
  return element("section", {},
    element("h3", {}, `${evaluation} evaluation: ${all.length - wrong.length} of ${all.length} correct`),
    element("p", { className: "filters" }, element("label", {}, "Examples", choice)),
    element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": `Predictions, ${evaluation} evaluation` }, element("table", {},
      element("caption", {}, `Predictions on test examples, ${evaluation} evaluation`), element("thead", {}, element("tr", {}, ...["example", "true concepts", "label", "predicted", "probability of the label"].map(
        (text) => element("th", { scope: "col" }, text)))), body)), more);
}

window.addEventListener("hashchange", show);
show();
