"""The folder of accepted submissions: where one goes, and whose name it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .names import skeleton
from .submission import MANIFEST, Manifest, place_of
from .verdict import Verdict

__all__ = ["SUBMISSIONS", "place_in", "with_name"]

SUBMISSIONS = Path(__file__).parent / "submissions"
"""The accepted submissions that are part of the repository."""


def place_in(folder: Path, name: str) -> Path:
    """Where a submission of this name lies, or would lie."""
    return folder / place_of(name)


def with_name(verdict: Verdict, folder: Path | None) -> Verdict:
    """A verdict that says whose name the submission has, if it is taken.

    Names are taken that look like this one, too: in other letters, or in another script.

    Args:
        verdict: on an accepted submission.
        folder: of accepted submissions into which it goes; None: it goes nowhere yet, and the board's own are
            looked at.
    """
    assert verdict.manifest is not None
    for place, name in _alike(verdict.manifest, folder or SUBMISSIONS):
        if folder is None:
            note = f"The name is that of the submission {place.name} ('{name}'): it can only take its place."
            return replace(verdict, notes=(*verdict.notes, note))
        if place != place_in(folder, verdict.name):
            problem = f"The name looks like '{name}', that of the submission {place.name}; choose another."
            return replace(verdict, problems=(*verdict.problems, problem))
    return verdict


def _alike(manifest: Manifest, folder: Path) -> Iterator[tuple[Path, str]]:
    """Other accepted submissions whose names look like that of this one."""
    wanted = skeleton(manifest.name)
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        try:
            values = json.loads(path.read_bytes())
            name, files = values["name"], values["files"]
            if skeleton(name) == wanted and files != manifest.files:
                yield path.parent, name
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ):  # the board says so when it is read
            continue
