"""The tracks; a module of its own, so that command lines that offer them start without numpy."""

from typing import Literal

Track = Literal[
    "symbolic", "pretrained", "concept_labels", "few_labels", "known_rules", "label_only", "end_to_end"
]
"""The supervision that a learner uses; results are compared inside a track."""
