import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError


def test_the_folder_can_be_set_if_it_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "new"))
    assert cache.folder("a", "b") == tmp_path / "new" / "a" / "b"
    assert cache.folder("a", "b").is_dir()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cache folder .*file.* cannot be created .*NSL_BENCH_CACHE"):
        cache.folder("a")


def test_only_its_own_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    for place in (tmp_path / "other", cache.folder("mine"), cache.folder("hub", "part")):
        place.mkdir(exist_ok=True)
        (place / "file").write_text("")
    (cache.folder("hub") / "link").symlink_to(tmp_path / "other")
    (cache.folder() / "datasets").symlink_to(tmp_path / "other")
    (cache.folder("hub") / ".new.tmp").write_text("")
    old = cache.folder("hub") / ".old.tmp"
    old.write_text("")
    os.utime(old, (0, 0))
    assert list(cache.contents()) == ["hub"]
    cache.clear("hub")
    assert [path.name for path in cache.folder("hub").iterdir()] == [".new.tmp"]
    assert (tmp_path / "other" / "file").is_file() and (cache.folder("mine") / "file").is_file()


def test_keys() -> None:
    assert cache.key("\udcff") != cache.key("\udcfe"), "names of files that are no UTF-8"
    assert cache.key("a", {"x": 1, "y": 2}) == cache.key("a", {"y": 2, "x": 1})
    assert len({cache.key("a", "b"), cache.key("ab"), cache.key("b", "a"), cache.key(["a", "b"])}) == 4
    assert cache.key("a", 1) == "c3fdc3a6eae10e0777d7"


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with cache.replacing(path) as temporary:
        temporary.write_text("one")
        assert not path.exists()
    with pytest.raises(RuntimeError), cache.replacing(path) as temporary:
        temporary.write_text("two")
        raise RuntimeError
    assert path.read_text() == "one" and list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    with pytest.raises(UserError, match=r"missing.*file cannot be written"), cache.replacing(missing) as new:
        new.write_text("")


COUNT = """
import sys
from pathlib import Path
from nsl_bench.core import cache

path = Path(sys.argv[1])
for _ in range(100):
    with cache.lock(path):
        number = int(path.read_text())
        with cache.replacing(path) as temporary:
            temporary.write_text(str(number + 1))
"""


def test_a_lock_keeps_processes_apart(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert path.read_text() == "300"


def test_a_lock_keeps_threads_apart(tmp_path: Path) -> None:
    held: list[bool] = []

    def hold(_: int) -> None:
        with cache.lock(tmp_path / "file"):
            assert not any(held)
            held.append(True)
            time.sleep(0.01)
            held.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(hold, range(8)))


HOLD = """
import sys, time
from pathlib import Path
from nsl_bench.core import cache

with cache.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""

WITHOUT = """
import sys
sys.modules["fcntl"] = None
"""


@pytest.mark.parametrize("system", ["", WITHOUT], ids=["the system's lock", "no lock of the system"])
def test_a_killed_holder_does_not_block(tmp_path: Path, system: str) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    with subprocess.Popen(
        [sys.executable, "-c", system + HOLD, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        waiter = subprocess.Popen([sys.executable, "-c", system + COUNT, str(path)])
        with pytest.raises(subprocess.TimeoutExpired):
            waiter.wait(0.5)
        assert path.read_text() == "0"
        holder.kill()
    assert waiter.wait(60) == 0
    assert path.read_text() == "100"


def test_a_lock_that_need_not_be_waited_for(tmp_path: Path) -> None:
    with cache.lock(tmp_path / "file") as first, cache.lock(tmp_path / "file", wait=False) as second:
        assert (first, second) == (True, False)
    with cache.lock(tmp_path / "file", wait=False) as third:
        assert third


def test_a_lock_makes_no_folder(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(UserError, match=r"missing cannot be written"), cache.lock(missing / "file"):
        pass
    assert not missing.exists()
