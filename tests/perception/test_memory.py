from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from nsl_bench.perception.training import kept_memory

PROGRAM = """
import resource
import numpy as np
from contextlib import nullcontext
from nsl_bench.perception.training import kept_memory

def faults(context):
    with context:
        for _ in range(3):
            np.ones(6_000_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(6_000_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults(nullcontext()), faults(kept_memory()), faults(nullcontext()))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library is left as it is")
def test_freed_memory_is_kept_in_the_block_only() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, within, after = map(int, done.stdout.split())
    assert before > 1000 and after > 1000, "48 MB are mapped anew each time"
    assert within < before / 50


def test_an_error_leaves_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), kept_memory():
        raise KeyboardInterrupt


def test_small_networks_are_trained_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from nsl_bench.perception import trained_networks, training
    from nsl_bench.run.mock_tasks import Patches, PatchSource

    seen: list[int] = []
    tensor = training.tensor
    monkeypatch.setattr(training, "tensor", lambda *a: seen.append(torch.get_num_threads()) or tensor(*a))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trained_networks.train_network("softmax:epochs=1,dense=4", Patches(), PatchSource())
        assert set(seen) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
