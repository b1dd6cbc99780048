"""Fixtures for all tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nsl_bench.core import registry
from nsl_bench.core.metrics import METRICS

# Tests run side by side: threads of numerical libraries beyond one a worker wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile(
    "tests",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tests")

SHARED = Path(os.environ.get("NSL_BENCH_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the repository; a test that needs it skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"the folder of real data, {SHARED}, is not there")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Shells have what they start in the background ignore Ctrl-C; what tests start must not inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    """What a test registers, no other test has."""
    yield
    if not (registry.registered_here() or METRICS._added):
        return
    for kind, name in list(registry._HERE):
        del registry._HERE[kind, name], registry._found(kind)[name]
    while METRICS._added:
        del METRICS._by_name[METRICS._added.pop()]


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all processes that run the tests: what is costly to make is made there once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "together"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests share one cache folder of their own, in this process and in those that it starts."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["NSL_BENCH_CACHE"] = str(folder)
    return folder
