"use strict";
// A run's page: run.html#ENTRY/CONTEST/RUN loads two data files as scripts, which also works from file://.
// Whatever comes from a submission reaches the page as text, never as markup.

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const PAGE = 100;
const loaded = { runs: null, test: null };
window.nslBench = {
  runs: (value) => { loaded.runs = value; },
  test: (value) => { loaded.test = value; },
};

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function load(path) {
  return new Promise((resolve, reject) => {
    const script = element("script", { src: path });
    script.onload = resolve;
    script.onerror = () => reject(new Error(path));
    document.head.append(script);
  });
}

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
  document.title = `Run ${name}`;
  place.replaceChildren(...page(entry, contest, run, loaded.test));
}

function page(entry, contest, run, test) {
  const where = run.percent ? `${run.shift}, ${run.percent} % of the examples shifted` : "no shifted examples";
  const record = { ...run };
  delete record.predictions;
  return [
    element("h1", {}, `Run ${run.run}`),
    element("p", { className: "lead" },
      element("a", { href: `learner/${entry}.html#${contest}` }, entry), " on ",
      element("a", { href: `benchmark/${contest}.html` }, contest), `: ${where}, train split ${run.repeat}.`),
    run.status && run.status !== "ok" ? element("p", { className: "failed" },
      `This run failed (${run.status.replaceAll("_", " ")}). Its numbers are those of the majority class of the train labels.`) : null,
    element("h2", {}, "Numbers"),
    facts(Object.entries(run.metrics).map(([key, value]) => [key.replaceAll("_", " "), Number(value.toPrecision(6)).toString()])),
    element("h2", {}, "Command to reproduce"),
    element("pre", {}, element("code", {}, ...run.command.split(" ").flatMap((word) => [element("span", { className: "word" }, word), " "]))),
    run.rules.length ? element("h2", {}, "Learned rules") : null,
    run.rules.length ? rules(run) : null,
    element("h2", {}, "Predictions"),
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

function predictions(evaluation, found, test) {
  const names = test.names;
  const name = (letter) => names[LETTERS.indexOf(letter)] ?? (letter === "-" ? "undecided" : "ambiguous");
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
    element("div", { className: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, ...["example", "true concepts", "label", "predicted", "probability of the label"].map(
        (text) => element("th", { scope: "col" }, text)))), body)), more);
}

window.addEventListener("hashchange", show);
show();
