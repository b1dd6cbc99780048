"""The command line, as a user meets it."""

import errno
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nsl_bench.cli import GROUP, Command, main, run
from nsl_bench.core.errors import UserError
from nsl_bench.core.interrupts import patient
from nsl_bench.learners import environments
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan
from nsl_bench.run.record import LIBRARIES, processor, versions
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import SchedulerLost

RUN = ["run", "sudoku_4x4", "--learner"]
COMMANDS = sorted(point.name for point in entry_points(group=GROUP))


def nsl_bench(*words: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "nsl_bench", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=timeout)


def test_doctor_and_records_tell_what_results_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setattr(environments, "entrants", list)
    told = CliRunner().invoke(main, ["doctor"]).output
    (job,) = plan("sudoku_4x4", ["majority"], track="symbolic")
    record = Bench("cpu").run(job).record
    for name in ("processor", "instructions"):
        assert record.environment.get(name, "") == processor().get(name, "")
        assert name not in processor() or f"{name}: {processor()[name]}\n" in told
    assert "ONEDNN_MAX_CPU_ISA=AVX2" in record.environment["variables"]
    assert re.search(r"^variables: .*ONEDNN_MAX_CPU_ISA=AVX2", told, re.M)
    assert re.search(r"^torch: \S+ kernels, .*\ntorch: \d+ threads by default", told, re.M)
    assert record.versions == versions()
    assert all(f"{name}: {versions()[name]}\n" in told for name in LIBRARIES if name in versions())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples(name: str) -> None:
    command = main.get_command(None, name)  # type: ignore[arg-type]
    assert isinstance(command, Command) and command.examples
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.rstrip().endswith(command.examples[-1])
    assert all(example.startswith(f"nsl-bench {name}") for example in command.examples)


def test_help_and_import_load_nothing_heavy() -> None:
    code = (
        "import sys, nsl_bench, nsl_bench.cli as c\n"
        "try:\n    c.run(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = 'torch datasets matplotlib pandas sklearn numba clingo numpy scipy PIL'.split()\n"
        "print([module for module in heavy if module in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rum"], "Unknown command 'rum'. Did you mean 'run'?"),
        (["run", "folow_suit", "--learner", "majority", "--out", "r"], "Did you mean 'follow_suit'?"),
        ([*RUN, "majorty", "--out", "r"], "Did you mean 'majority'?"),
        ([*RUN, "majority", "--shift", "rotat90", "--out", "r"], "'rotate90'?"),
        ([*RUN, "majority", "--percents", "0,500", "--out", "r"], "got 500"),
        ([*RUN, "majority", "--percents", "0,x", "--out", "r"], "got 'x'"),
        ([*RUN, "majority", "--percents", "50", "--out", "r"], "name one with --shift"),
        (["run", "sudoku_4x4", "--lerner", "majority", "--out", "r"], "No such option '--lerner'"),
        ([*RUN, "no/such/file.py:Mine", "--out", "r"], "the file no/such/file.py does not exist"),
        ([*RUN, "majority", "--source", "mnist:.", "--out", "r"], "MNIST"),
        ([*RUN[:2], "--learner-command", "no_program x", "--out", "r"], "no_program of the learner was not"),
        (["report", "no/such/folder"], "no/such/folder does not exist"),
        (["list", "learner"], "Did you mean 'learners'?"),
    ],
)
def test_bad_input_gets_one_sentence_and_code_2(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nsl_bench(*words)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("nsl-bench: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    words = [*RUN, "majority", "--track", "symbolic", "--repeats", "1", "--dry-run"]
    done = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "r")])
    assert done.exit_code == 0 and "1 of 1 runs to do." in done.stderr and not any(tmp_path.iterdir())


WRONG_WORDS = {
    "--shift noir": "The shift 'noir' belongs to follow_suit; zoo has rotate90, ",
    "--preset longer": "The preset 'longer' belongs to addition and hanoi; zoo has shift, ",
    "--source drawn_decks": "Sources for zoo: sklearn_digits, mnist.",
    "--shares 0-100": "stands for 101 numbers; write 0-100/10 for steps of 10, or 0-100/1 for all.",
    "--shares 90-0/10": "got '90-0/10'",
    "--shares 0-1e9/1": "got '0-1e9/1'",
    "--time-limit nan": "must be a number; got nan.",
    "--device gpu": "it must be auto, cpu or cuda",
    "--learner two.py": "with its class: two.py:A or two.py:B.",
    "--learner none.py:trees=3": "The file none.py defines no class;",
    "--learner wrong.py": "The learner wrong.py cannot be read: SyntaxError: ",
    "--learner folder.py:A": "the file folder.py is a folder.",
    "--out folder.py": "folder.py is not a results folder (store.json is missing); name a new folder.",
    "leaderboard enter": "see `nsl-bench leaderboard enter --help`.",
    "publish folder.py --repo a/b": "Publishing to a/b needs a token; log in with `hf auth login`",
}


@pytest.mark.parametrize("words", WRONG_WORDS)
def test_a_wrong_word_gets_what_fits(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nsl_bench.cli.be_patient", lambda: None)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    files = {"two": "class A: ...\nclass B(A): ...", "none": "a = 1", "wrong": "class A", "folder.py/x": ""}
    (tmp_path / "folder.py").mkdir()
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    start = ["run", "zoo", "--learner", "majority", "--out", "r"] if words[0] == "-" else []
    with pytest.raises(SystemExit, match="2"):
        run([*start, *words.split()])
    said = capsys.readouterr().err
    assert WRONG_WORDS[words] in said and said.startswith("nsl-bench: ") and said.count("\n") == 1


@pytest.mark.parametrize("words", [["list"], ["--help"]])
def test_a_reader_that_leaves_ends_the_program_in_silence(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    line = [sys.executable, "-m", "nsl_bench", *words]
    done = subprocess.run(line, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("error", [BrokenPipeError(), BrokenPipeError(errno.EPIPE, "Broken pipe")])
def test_a_pipe_to_another_process_that_breaks_is_an_error(
    error: BrokenPipeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise error

    command = click.Command("list", callback=broken)
    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: command)
    monkeypatch.setattr("nsl_bench.cli.be_patient", lambda: None)
    with pytest.raises(RuntimeError, match="ended unexpectedly") as caught:
        run(["list"])
    assert caught.value.__cause__ is error


def test_the_command_that_goes_on_after_a_scheduler_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*words: object, **named: object) -> None:
        raise SchedulerLost("tcp://h:1")

    monkeypatch.setattr("nsl_bench.api.evaluation.sweep", lost)
    out = str(tmp_path / "my results")
    words = ["run", "sudoku_4x4", "--track", "symbolic", "--learner", "majority", "--out", out]
    words += ["--executor", "dask", "--scheduler", "tcp://h:1"]
    done = CliRunner().invoke(main, words, standalone_mode=False)
    line = f"resume with the same command: {shlex.join(['nsl-bench', *words])}"
    assert isinstance(done.exception, UserError) and str(done.exception).endswith(line)


def test_a_run_is_reported_and_resumed(tmp_path: Path) -> None:
    words = [*RUN, "majority", "--learner", "random_forest", "--track", "symbolic"]
    words += ["--repeats", "2", "--jobs", "1", "--out", str(tmp_path / "results")]
    first = nsl_bench(*words)
    assert first.returncode == 0, first.stderr
    assert "4 runs done, 0 failed, 0 already done" in first.stdout
    assert "0 runs done, 0 failed, 4 already done" in CliRunner().invoke(main, words).output
    report = CliRunner().invoke(main, ["report", str(tmp_path / "results"), "--curves"])
    assert "random_forest" in report.stdout and "0.500 ± 0.000" in report.stdout
    assert len(list((tmp_path / "results" / "curves").glob("*.png"))) == 1
    store = Store(tmp_path / "results")
    key = next(iter(store.done()))
    assert len(store.predictions(key)) == 1000


def test_a_learner_that_fails_costs_only_its_runs(tmp_path: Path) -> None:
    learner = tmp_path / "bad.py"
    learner.write_text(
        "class Bad:\n    track = 'end_to_end'\n"
        "    def fit(self, train):\n        print('fitted')\n        return self\n"
        "    def predict_proba(self, test):\n        return test.concepts\n"
    )
    words = [*RUN, f"{learner}:Bad", "--learner", "majority", "--repeats", "1", "--jobs", "1"]
    words += ["--track", "symbolic", "--out", str(tmp_path / "results")]
    done = nsl_bench(*words)
    assert done.returncode == 1
    assert "1 run done, 1 failed" in done.stdout
    assert "Learners of the track 'end_to_end' do not get concepts" in done.stderr
    (log,) = (tmp_path / "results" / "logs").iterdir()
    assert "fitted" in log.read_text() and "    fitted" in done.stderr
    (failure,) = (r for r in Store(tmp_path / "results") if r.status != "ok")
    assert (failure.status, failure.output) == ("crashed", "fitted")
    again = nsl_bench(*words)
    assert "0 runs done, 0 failed, 1 already done, 1 had failed before (--rerun failed" in again.stdout
    assert again.returncode == 1
    assert "0 runs done, 1 failed, 1 already done" in nsl_bench(*words, "--rerun", "failed").stdout


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_keeps_what_is_known(tmp_path: Path, how: signal.Signals) -> None:
    gate, learner = tmp_path / "gate", tmp_path / "slow.py"
    learner.write_text(
        "import time\nfrom pathlib import Path\nimport numpy as np\n"
        f"gate, fits = Path({str(gate)!r}), Path({str(tmp_path / 'fits')!r})\n"
        "class Slow:\n    def fit(self, train):\n"
        "        with fits.open('a') as file:\n            file.write('fit ')\n"
        "        if len(fits.read_text().split()) > 2 and not gate.exists():\n            time.sleep(60)\n"
        "        return self\n"
        "    def predict_proba(self, test):\n        return np.full((len(test), test.n_labels), 0.5)\n"
    )
    out = tmp_path / "results"
    words = [*RUN, f"{learner}:Slow", "--track", "symbolic", "--repeats", "6", "--jobs", "1"]
    words += ["--allow", f"write={tmp_path}", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "nsl_bench", *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(Store(out)) if (out / "store.json").exists() else []) < 2:
        time.sleep(0.05)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    kept = len(Store(out).done())
    assert kept == 2
    if how == signal.SIGINT:
        assert process.returncode == 130 and f"{kept} runs are kept" in errors and "Traceback" not in errors
    gate.touch()
    done = nsl_bench(*words)
    assert f"{6 - kept} runs done, 0 failed, {kept} already done" in done.stdout
    assert len(list(Store(out))) == 6


def test_generate_writes_a_whole_folder_and_verify_says_so(tmp_path: Path) -> None:
    out = tmp_path / "sudoku"
    words = ["generate", "sudoku_4x4", "--repeats", "1", "--shift", "rotate90", "--percents", "60"]
    done = nsl_bench(*words, "--out", out)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["configs"]["rotate90"]["train"]["rows"] == 320
    assert manifest["configs"]["rotate90"]["train"]["percents"]["60"] in done.stdout
    again = nsl_bench(*words, "--out", out)
    assert again.returncode == 2 and "already exists" in again.stderr
    assert "rows match the manifest" in nsl_bench("verify", out).stdout
    (out / "manifest.json").write_text("{")
    spoiled = nsl_bench("verify", out)
    assert spoiled.returncode == 2 and "Traceback" not in spoiled.stderr


def test_the_report_names_learners_whose_runs_failed(tmp_path: Path) -> None:
    from nsl_bench import evaluate
    from nsl_bench.cli.report import report

    file = tmp_path / "bad.py"
    file.write_text(
        "from nsl_bench.core.errors import NotApplicable\n"
        "class Fails:\n    def fit(self, train): raise ValueError('no')\n"
        "    def predict_proba(self, test): return []\n"
        "class Declines(Fails):\n    def fit(self, train): raise NotApplicable('no')\n"
    )
    learners = [f"{file}:Fails", f"{file}:Declines"]
    results = str(tmp_path / "results")
    evaluate(learners, "sudoku_4x4", symbolic=True, repeats=1, out=results)
    said = CliRunner().invoke(report, [results])
    assert f"{learners[0]} 1 of 1 (crashed)" in said.output and "No finished runs" in said.output
    assert f"1 run is not applicable to its learner ({learners[1]} 1)" in said.output
    assert "crashed" in CliRunner().invoke(report, [results, "--runs"]).output


# Ctrl-C reaches whoever is to hear it.


@pytest.fixture
def plain_handler() -> Iterator[None]:
    """Python's own: a test of the command line leaves a patient one, deaf after its first Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("plain_handler")
def test_an_import_that_swallows_ctrl_c_only_delays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swallowing_module.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept BaseException:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with patient(), pytest.raises(KeyboardInterrupt):
        importlib.import_module("swallowing_module")
        time.sleep(10)


@pytest.mark.usefixtures("plain_handler")
def test_a_second_ctrl_c_does_not_disturb_the_end() -> None:
    with patient():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


IMPORTING = """
import builtins, os, signal, sys, time
known, (module, sent) = builtins.__import__, sys.argv[1:]
def importing(name, *words, **more):
    if name == module:
        builtins.__import__ = known
        os.kill(os.getpid(), getattr(signal, sent))
    return known(name, *words, **more)
builtins.__import__ = importing
write = sys.stdout.write
sys.stdout.write = lambda text: (time.sleep(0.1), write(text))[1]  # the command outlives the import
from nsl_bench.__main__ import main
sys.argv[1:] = ["list", "learners"]
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        ("nsl_bench.cli", "SIGINT", 130),
        ("click", "SIGINT", 130),
        ("nsl_bench.core.registry", "SIGINT", 130),
        ("nsl_bench.core.registry", "SIGTERM", 143),
    ],
)
def test_a_signal_during_the_first_imports(module: str, name: str, code: int) -> None:
    words = [sys.executable, "-c", IMPORTING, module, name]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (code, "nsl-bench: Interrupted.")


@pytest.mark.parametrize("board", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_without_torch_everything_but_networks_works(board: bool, tmp_path: Path) -> None:
    """Rules, data sets, runs on concepts, reports, submissions and boards; networks are refused."""
    code = """
import sys
sys.modules["torch"] = sys.modules["torchvision"] = None  # as if they were not installed
from click.testing import CliRunner
from nsl_bench.cli import main
for line in sys.stdin.read().splitlines():
    done = CliRunner().invoke(main, line.split())
    assert done.exit_code == 0, (line, done.output, done.exception)
    print(done.output)
sys.argv = ["nsl-bench", "train", "sudoku_4x4", "--epochs", "1", "--out", "weights.safetensors"]
from nsl_bench.cli import run
run()
"""
    accepted = Path(__file__).parents[2] / "leaderboard" / "submissions"
    shutil.copytree(accepted / "ffnsl-on-true-concepts", tmp_path / "entries" / "one")
    task = Path(__file__).parents[1] / "samples" / "task.las"
    lines = [
        f"learn {task}",
        "generate sudoku_4x4 --train 4 --test 4 --repeats 1 --out grids",
        "verify grids",
        "publish grids --to copy",
        "run sudoku_4x4 --track symbolic --learner majority --repeats 1 --isolation none --out results",
        "report results",
        *(["leaderboard build --submissions entries --no-pictures --out site"] if board else []),
        "doctor",
    ]
    done = subprocess.run(
        [sys.executable, "-c", code], input="\n".join(lines), capture_output=True, text=True, cwd=tmp_path
    )
    assert "Without torch, rules, reports" in done.stdout and "whl/cpu (0.2 GB)" in done.stdout, done.stderr
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("nsl-bench: This needs PyTorch")
