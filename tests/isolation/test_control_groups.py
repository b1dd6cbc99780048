"""Control groups bound a learner's memory where this user may make them, and are removed."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from nsl_bench.sandbox import control_groups, process
from nsl_bench.sandbox.control_groups import ControlGroup
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")
BAD = Path(__file__).parent / "bad.py"
LIMITS = Limits(time=120, memory=256 << 20)

WRITTEN = {
    2: {"memory.max": "536870912", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "1024"},
    1: {"memory.limit_in_bytes": "536870912", "memory.memsw.limit_in_bytes": "536870912"},
}


@pytest.mark.parametrize(
    ("lines", "version", "parent"),
    [
        ("0::/user/mine\n", 2, "user/mine"),
        ("1:name=systemd:/\n0::/user/mine\n", 2, "user/mine"),
        ("4:cpu,memory:/user/mine\n0::/\n", 1, "memory/user/mine"),
        ("0::/elsewhere\n", 0, ""),
        ("no line\n", 0, ""),
    ],
)
def test_what_is_written(
    lines: str, version: int, parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordinary files stand in for the kernel's."""
    root = tmp_path / "root"
    for folder in ("user/mine", "memory/user/mine"):
        (root / folder).mkdir(parents=True)
    (root / "user" / "mine" / "cgroup.procs").touch()
    (tmp_path / "own").write_text(lines)
    monkeypatch.setattr(control_groups, "_ROOT", root)
    monkeypatch.setattr(control_groups, "_OWN", tmp_path / "own")
    registered: list[Path] = []
    for folder in ("user/mine", "memory/user/mine"):
        for maker in (99999999, os.getpid()):
            (root / folder / f"nsl-bench-{maker}-a").mkdir()
    group = ControlGroup.made(256 << 20, registered.append)
    if not version:
        assert group is None
        return
    assert group is not None and registered == [group.folder] and group.folder.parent == root / parent
    left = [(root / parent / f"nsl-bench-{maker}-a").exists() for maker in (99999999, os.getpid())]
    assert left == [False, True]
    assert {file.name: file.read_text() for file in group.folder.iterdir()} == WRITTEN[version]
    assert not group.exceeded
    events = {2: "memory.events", 1: "memory.oom_control"}[version]
    for times in (0, 1):  # 0: another program took the machine's memory, and the kernel ended this one
        (group.folder / events).write_text(f"oom {times}\noom_kill 1\n")
        (group.folder / "memory.max_usage_in_bytes").write_text(str(times * (512 << 20)))
        assert group.exceeded == (times > 0)
    group.close()
    assert not group.folder.exists()


def test_a_group_that_takes_no_limit_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is read-only, or has no controller of memory; then the one around it is tried."""

    def refuse(self: Path, *given: object, **named: object) -> int:
        raise PermissionError

    (tmp_path / "outer" / "mine").mkdir(parents=True)
    (tmp_path / "outer" / "mine" / "cgroup.procs").touch()
    (tmp_path / "own").write_text("0::/outer/mine\n")
    monkeypatch.setattr(control_groups, "_ROOT", tmp_path)
    monkeypatch.setattr(control_groups, "_OWN", tmp_path / "own")
    monkeypatch.setattr(Path, "write_text", refuse)
    registered: list[Path] = []
    assert ControlGroup.made(1, registered.append) is None
    assert [folder.parent.name for folder in registered] == ["mine", "outer"]
    assert not any(folder.exists() for folder in registered)


def test_a_group_is_removed_once_its_last_process_is_gone() -> None:
    group = ControlGroup.made(256 << 20, lambda folder: None)
    if group is None:
        pytest.skip("this user may make no control groups")
    with subprocess.Popen(["sh", "-c", f"echo 0 > {group.entry}; echo; sleep 0.3"], stdout=-1) as inside:
        assert inside.stdout is not None and inside.stdout.readline() == b"\n"
        ControlGroup(group.folder, 1).close()  # version 2 would end the process
    assert not group.folder.exists()


@pytest.mark.parametrize("groups", [True, False])
def test_memory_is_bounded_with_and_without_groups(groups: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if groups:
        monkeypatch.setattr(process, "memory_of", lambda processes: 0)  # the kernel alone counts
    else:
        monkeypatch.setattr(control_groups, "_ROOT", Path("/nowhere"))
    with contextlib.closing(IsolatedLearner(f"{BAD}:EatsMemory", 0, LIMITS)) as learner:
        if groups and learner.isolation["memory"] == "counting":
            pytest.skip("this user may make no control groups")
        assert learner.isolation["memory"].startswith("control group") == groups
        with pytest.raises(Failure, match="More than the memory limit of 256 MiB") as caught:
            learner.fit(view(patches()))
        assert caught.value.status == "out_of_memory"
        group = learner._process._group
    assert group is None or not group.folder.exists()
