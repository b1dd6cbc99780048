import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nsl_bench.testing import EntrantTests

HERE = Path(__file__).parent


class TestPopper(EntrantTests):
    folder = HERE
    exact = True

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("swipl") is None, reason="SWI-Prolog is not installed")
    def test_learns_more_than_the_majority(self, subtests: Any) -> None:
        super().test_learns_more_than_the_majority(subtests)


@pytest.mark.slow
def test_popper_and_ilasp_run_in_a_container() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("docker is not installed, or its daemon does not run")
    file = ["-f", str(HERE / "Containerfile"), "-t", "nsl-bench-ilp", str(HERE.parents[1])]
    subprocess.run([docker, "build", *file], check=True)
    done = subprocess.run([docker, "run", "--rm", "nsl-bench-ilp"], capture_output=True, text=True)
    assert "ok: follow_suit env:popper" in done.stdout, done.stdout + done.stderr
    assert "ok: follow_suit ffnsl:rule_learner=ilasp" in done.stdout or "skipped: ILASP" in done.stdout
