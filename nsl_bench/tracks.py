"""The tracks; a module of its own, so that command lines that offer them start without numpy."""

from __future__ import annotations

from typing import Literal

__all__ = ["Track"]

Track = Literal["symbolic", "pretrained", "few_labels", "label_only", "end_to_end"]
"""The supervision that a learner uses; results are compared inside a track."""
