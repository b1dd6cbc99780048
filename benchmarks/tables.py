"""Rules from ten UCI tables beside RIPPER, optimal trees and others: docs/results/tables.md and its table.

    python benchmarks/tables.py --shared ../shared [--folds 10] [--only mushroom vote]
    python benchmarks/tables.py --page

`--corels PYTHON` names an interpreter that has CORELS, which does not build for Python 3.11. With Python
3.10, pip 23.0.1, setuptools 65.5.0, wheel, numpy 1.23.5 and Cython 0.29:
``pip install --no-deps --no-build-isolation --no-use-pep517 corels==1.1.29``.

Each table has folds with the classes' shares. The language of `RuleClassifier` is made from the rows of the
train folds; all others get its literals as columns of 0 and 1, so that all can say the same. All run with
their defaults, which were fixed before the first run. The others run in the environments of ``entrants/``,
which ``nsl-bench check env:NAME`` builds. Each fit is kept in results/tables.csv as soon as it is done; a
second call does only what is missing. ``--page`` writes page and picture from docs/results/tables/fits.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SETS = (
    "breast.w", "car", "cmc", "credit.a", "credit.g", "dermatology", "hepatitis", "mushroom", "vote", "zoo",
)  # fmt: skip
OTHERS = {"ripper": "Ripper", "streed": "Streed", "gosdt": "Gosdt", "ruleopt": "RuleOpt", "figs": "Figs"}
"""The folders of the others, and the classes of their adapters."""
CORELS = "corels"
OURS = "RuleClassifier"
SECONDS = 60.0
KEPT = Path("results/tables.csv")
FIELDS = (
    "table",
    "fold",
    "learner",
    "tested",
    "accuracy",
    "literals",
    "seconds",
    "cpu_seconds",
    "score",
    "bound",
    "state",
)


def main() -> None:
    """Do the missing fits, and write the page."""
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--folds", type=int, default=10, help="how many of ten folds are tested")
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--corels", type=Path, help="an interpreter that has CORELS")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    if not options.page:
        measure(options.shared / "data" / "uci", options.only, options.folds, options.corels)
    write_page(options.docs, again=not options.page)


def measure(folder: Path, names: list[str], folds: int, corels: Path | None) -> None:
    """Do the missing fits."""
    learners = (OURS, *OTHERS, *([CORELS] if corels else []))
    KEPT.parent.mkdir(exist_ok=True)
    if not KEPT.is_file():
        KEPT.write_text(",".join(FIELDS) + "\n")
    with KEPT.open(newline="") as stream:
        done = {(row["table"], row["fold"], row["learner"]) for row in csv.DictReader(stream)}
    for name in names:
        X, y = read(folder / f"{name}.arff")
        for fold, (train, test) in enumerate(parts(y)[:folds]):
            missing = [who for who in learners if (name, str(fold), who) not in done]
            if not missing:
                continue
            model, results = fit(X, y, train, test, ours=OURS in missing)
            for who in missing:
                row = results if who == OURS else other(who, corels, model, X, y, train, test)
                row = {"table": name, "fold": fold, "learner": who, "tested": len(test), **row}
                with KEPT.open("a", newline="") as stream:
                    csv.DictWriter(stream, FIELDS).writerow(row)
                print(row, flush=True)


def read(path: Path) -> tuple[Any, Any]:
    """Features and classes of an ARFF file."""
    import pandas as pd
    from nsl_bench.generators.tasks.uci_files import read_arff

    raw = read_arff(path)
    frame = pd.DataFrame(raw.rows, columns=raw.attributes).replace("?", None)
    for name, numeric in zip(raw.attributes, raw.numeric or [], strict=True):
        frame[name] = pd.to_numeric(frame[name]) if numeric else frame[name]
    label = raw.attributes[-1]
    return frame.drop(columns=label), frame[label].to_numpy(str)


def parts(y: Any) -> list[tuple[Any, Any]]:
    """Train and test rows of ten folds with the classes' shares."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))


def fit(X: Any, y: Any, train: Any, test: Any, *, ours: bool) -> tuple[Any, dict[str, Any]]:
    """A classifier of the train rows, or just its language, and what it measures."""
    from nsl_bench import RuleClassifier

    model = RuleClassifier(time_limit=SECONDS)
    if not ours:
        model.task(X.iloc[train], y[train])
        return model, {}
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X.iloc[train], y[train])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return model, {
        "accuracy": (model.predict(X.iloc[test]) == y[test]).mean(),
        "literals": sum(len(body) for _, body in model._rules),
        "seconds": wall, "cpu_seconds": cpu, "score": model.score_, "bound": model.bound_,
        "state": "proven" if model.is_optimal_ else "gap",
    }  # fmt: skip


def interpreter(who: str, corels: Path | None) -> Path | None:
    """The Python of another learner's environment; None if that is not installed."""
    from nsl_bench.learners.environments import entrant
    from nsl_bench.sandbox.building import installed

    if who == CORELS:
        return corels
    environment = installed(entrant(f"env:{who}"))
    return None if environment is None else environment.python


def other(who: str, corels: Path | None, model: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """What another learner measures on the literals of our language, in its own environment."""
    import numpy as np

    if who == CORELS and len(model.classes_) > 2:
        return {"state": "two classes only"}
    python = interpreter(who, corels)
    if python is None:
        return {"state": "not installed"}
    codes = np.searchsorted(model.classes_, y)
    literals = model._holds(model._cells(X, reset=False), model._columns)
    file = Path("results") / f"tables_{who}.npz"
    np.savez(file, train=literals[train], labels=codes[train], test=literals[test], n=len(model.classes_))
    words = [str(python), __file__, "--worker", who, str(file)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10 * SECONDS)
    except subprocess.TimeoutExpired:
        return {"state": "timeout"}
    if done.returncode:
        return {"state": f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}"}
    found = json.loads(done.stdout.splitlines()[-1])
    accuracy = (np.array(found.pop("labels")) == codes[test]).mean()
    return {"accuracy": accuracy, **found}


class _View(SimpleNamespace):
    """What an adapter reads of a view."""

    def __len__(self) -> int:
        return len(self.literals)


def worker(who: str, file: str) -> None:
    """Fit an entrant's adapter, in its environment, and print what it answers as JSON."""
    import numpy as np

    data = np.load(file)
    if who == CORELS:
        rule_list(data)
        return
    root = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(root), str(root / "entrants" / who)]
    model = getattr(import_module("adapter"), OTHERS[who])()

    def view(literals: Any) -> Any:
        about = {"literals": literals, "literal_bodies": (), "label_space": None, "n_labels": int(data["n"])}
        return _View(
            **about, labels=data["labels"].astype(int), time_limit=SECONDS / 0.8,
            inputs=lambda kind, concepts: concepts, weights=np.ones(len(literals)),
        )  # fmt: skip

    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(view(data["train"]))
    times = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    if who in ("ripper", "ruleopt"):
        literals = sum(len(body) for body, _ in model.list)
    elif who in ("streed", "gosdt"):
        literals = len(model.branches) - 1
    else:
        literals = sum(one.complexity_ for one in model.models)
    proven = {"streed": "gap" if getattr(model, "timed_out_", False) else "proven"}.get(who, "heuristic")
    labels = np.asarray(model.predict(view(data["test"]))).tolist()
    print(json.dumps({"labels": labels, "literals": literals, **times, "state": proven}))


def rule_list(data: Any) -> None:
    """Fit CORELS with its defaults, and print what it answers as JSON."""
    from corels import CorelsClassifier  # type: ignore[import-not-found]

    wall, cpu = time.perf_counter(), time.process_time()
    model = CorelsClassifier(verbosity=[]).fit(data["train"], data["labels"])
    times = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    literals = sum(len(rule["antecedents"]) for rule in model.rl().rules[:-1])
    labels = model.predict(data["test"]).astype(int).tolist()
    print(json.dumps({"labels": labels, "literals": literals, **times, "state": "heuristic"}))


def write_page(docs: Path, *, again: bool) -> None:
    """The page, its tables and its picture."""
    import pandas as pd
    import pictures
    from pages import Top, kept, lead, losses, markdown, mean_of, number, page

    fits = docs / "tables" / "fits.csv"
    if again:
        kept(docs, "tables", "fits", pd.read_csv(KEPT))
    found = pd.read_csv(fits)
    rows, curves, compared = [], [], []
    for (table, learner), group in found.groupby(["table", "learner"], sort=True):
        scored = group.dropna(subset=["accuracy"])
        if scored.empty:
            rows.append({"table": table, "learner": learner, "state": group["state"].iloc[0]})
            continue
        gap = (scored["score"] - scored["bound"]).mean()
        states = scored["state"].value_counts()
        rows.append(
            {
                "table": table,
                "learner": learner,
                "folds": f"{len(scored)}",
                "accuracy": number(scored["accuracy"].mean(), scored["accuracy"].sem()),
                "literals": f"{scored['literals'].mean():.1f}",
                "seconds": f"{scored['seconds'].mean():.2f}",
                "CPU seconds": f"{scored['cpu_seconds'].mean():.2f}",
                "state": ", ".join(f"{state} {count}" for state, count in states.items()),
                "gap": f"{gap:.1f}" if gap == gap else "",
            }
        )  # fmt: skip
    summary = pd.DataFrame(rows).astype(object).fillna("")
    kept(docs, "tables", "summary", summary)
    for table, group in summary[summary["accuracy"] != ""].groupby("table"):
        cells = dict(zip(group["learner"], group["accuracy"], strict=True))
        for learner, cell in cells.items():
            mean, error = mean_of(cell)
            curves.append(
                {"panel": "accuracy", "row": table, "series": learner, "mean": mean, "error": error}
            )
            if learner != OURS and OURS in cells:
                own = found[(found["table"] == table) & (found["learner"] == OURS)]
                folds, tested = len(own), int(own["tested"].sum())
                told = lead(cells[OURS], cell, folds, tested, overlap=1 / 9)
                compared.append({"table": table, "learner": learner, "lead": told})
    image = pictures.dots(pd.DataFrame(curves), docs / "tables" / "accuracy.png", "mean", columns=1)
    behind = sum(row["lead"][0] < 0 for row in compared)
    answer = f"{OURS} is behind in mean accuracy in {behind} of {len(compared)} comparisons."
    question = f"Is {OURS} as accurate as RIPPER, optimal trees, weighted rules and FIGS on tables?"
    tested = found["fold"].nunique()
    folds = "ten" if tested == 10 else f"the first {tested} of ten"
    method = f"""
Ten UCI tables, in {folds} folds with the shares of classes. All learners run with defaults, on the same
literals: thresholds at deciles, and words of the train rows. RIPPER is wittgenstein's, STreeD's trees have at
most a depth of 3, those of gosdt one of 4, ruleopt weighs rules, and FIGS is imodels'. {OURS} has
{SECONDS:g} s of wall time. CORELS learns optimal rule lists for two classes, in at most 10,000 steps, its
default. *Literals* are those of all rules, inner nodes of a tree, or splits. *Proven* and *gap* count folds;
a gap is the mean difference of score and bound, in rows.
"""
    told = {"fits": "every fit", "summary": "means over folds, with standard errors"}
    page(
        docs,
        "tables",
        Top("Rules from tables", question, answer, "python benchmarks/tables.py --page"),
        image,
        losses(compared, OURS),
        method.replace("\n", " "),
        told,
        {"All learners": markdown(summary)},
        first=f"Where {OURS} loses",
    )


if __name__ == "__main__":
    main()
