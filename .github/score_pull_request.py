"""Score the submissions that a pull request adds or changes, and write the comment for it.

    python .github/score_pull_request.py OURS THEIRS OUT

OURS and THEIRS are the folders of submissions without and with the pull request. OUT gets `comment.md`, and
`number` with the pull request's number (environment variable NUMBER). Exit code 1: one is not accepted.
"""

import filecmp
import os
import subprocess
import sys
from pathlib import Path


def changed(ours: Path, theirs: Path) -> list[Path]:
    """The folders of submissions that are new or differ."""
    return [folder for folder in sorted(theirs.iterdir()) if differs(ours / folder.name, folder)]


def differs(one: Path, other: Path) -> bool:
    """Whether two folders, of which the first need not exist, hold other files."""
    files = [{path.relative_to(top) for path in top.rglob("*")} for top in (one, other)]
    return (
        not one.is_dir()
        or files[0] != files[1]
        or any(
            (one / name).is_file() and not filecmp.cmp(one / name, other / name, shallow=False)
            for name in files[1]
        )
    )


def main(ours: Path, theirs: Path, out: Path) -> int:
    """Score and write; the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "number").write_text(os.environ["NUMBER"], encoding="ascii")
    comments, wrong = [], 0
    for folder in changed(ours, theirs):
        line = [sys.executable, "-m", "nsl_bench", "score-submission", str(folder)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
        comments.append(done.stdout or f"`{folder.name}` cannot be scored; the log of this run says why.")
        wrong += done.returncode != 0
    text = "\n\n".join(comments) or "This pull request adds no submission to `leaderboard/submissions`."
    (out / "comment.md").write_text(text, encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
