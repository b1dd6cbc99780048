"""Another package, installed in a folder, for programs that are started with it on their path."""

import os
from collections.abc import Mapping
from pathlib import Path


def installed(folder: Path, points: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Install the modules in a folder with these entry points by group; the environment that finds them."""
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in points.items()
    ]
    (info / "entry_points.txt").write_text("".join(lines))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
