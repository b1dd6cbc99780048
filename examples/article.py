"""Make a two-page article of a results folder: a table, differences, a figure, and the PDF.

nsl-bench bench --out results/bench
python examples/article.py results/bench --against ffnsl --out article/

The PDF is made where pdflatex or tectonic is installed.
"""

import argparse
import shutil
import subprocess
from pathlib import Path

import nsl_bench

METRIC = "framework_accuracy"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="results folder")
    parser.add_argument("--against", default="ffnsl", help="learner that the others are compared with")
    parser.add_argument(
        "--learner", action="append", help="learner of the figure; repeatable; all by default"
    )
    parser.add_argument("--out", type=Path, default=Path("article"), help="folder to write")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    results = nsl_bench.results(options.results)
    wide = results.table([METRIC, "brier_score"], format="latex", layout="wide")
    (options.out / "wide.tex").write_text(wide, encoding="utf-8")
    differences = results.against(options.against, [METRIC], format="latex")
    (options.out / "differences.tex").write_text(differences, encoding="utf-8")
    chosen = results.where(learner=options.learner) if options.learner else results
    chosen.figure(options.out / "curves.pdf", [METRIC], width=6.75, font_size=9)
    shutil.copy(Path(__file__).with_name("article.tex"), options.out)

    if latex := shutil.which("pdflatex"):
        command = [latex, "-halt-on-error", "-interaction=nonstopmode", "article.tex"]
        for _ in range(2):  # the second time it knows the numbers of tables
            subprocess.run(command, cwd=options.out, check=True, stdout=subprocess.DEVNULL)
    elif tectonic := shutil.which("tectonic"):
        subprocess.run([tectonic, "article.tex"], cwd=options.out, check=True)
    else:
        print("Neither pdflatex nor tectonic is installed; article.tex is ready to be compiled.")
    print(*sorted(path.name for path in options.out.iterdir() if path.suffix in (".tex", ".pdf")))


if __name__ == "__main__":
    main()
