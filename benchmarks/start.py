"""How long the command line takes to start, beside programs that people know.

    python benchmarks/start.py [--repeats 15]

Each command runs in a process of its own. The rounds go through all commands in turn, so that a busy machine
slows all of them alike. Seconds differ between machines; the ratios to ``import click``, the least that a
command line of this kind can take, and to ``pytest --version`` say more.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import click'": ["-c", "import click"],
    "python -c 'import nsl_bench'": ["-c", "import nsl_bench"],
    "nsl-bench --help": ["-m", "nsl_bench", "--help"],
    "nsl-bench run --help": ["-m", "nsl_bench", "run", "--help"],
    "nsl-bench list": ["-m", "nsl_bench", "list"],
    "pytest --version": ["-m", "pytest", "--version"],
}
PEERS = ("python -c 'import click'", "pytest --version")


def seconds(words: list[str]) -> float:
    """Wall time of Python with these arguments."""
    clock = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - clock


def main() -> None:
    """Print a row a command: least and median seconds, and the ratios of the least ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    took: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(options.repeats):
        for name, words in COMMANDS.items():
            took[name].append(seconds(words))
    print(f"| command | least (s) | median (s) | {' | '.join(f'/ {peer}' for peer in PEERS)} |")
    print(f"|---|{'---:|' * (2 + len(PEERS))}")
    for name, each in took.items():
        ratios = " | ".join(f"{min(each) / min(took[peer]):.2f}" for peer in PEERS)
        print(f"| `{name}` | {min(each):.3f} | {statistics.median(each):.3f} | {ratios} |")


if __name__ == "__main__":
    main()
