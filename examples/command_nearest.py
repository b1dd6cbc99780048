"""A command learner in Python: the label of the nearest train example, by its concept probabilities.

nsl-bench run sudoku_4x4 --learner-command "python examples/command_nearest.py" --out results/
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(sys.argv[1])
train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))


def points(examples):
    """One row an example: its probabilities, and its meta-data."""
    seen = np.array([np.concatenate(slots) for slots in examples["probabilities"]])
    meta = [examples[name].to_numpy() for name in examples if name.startswith("meta_")]
    return np.column_stack([seen, *meta])


known, asked = points(train), points(test)
distances = (asked**2).sum(1)[:, None] - 2 * asked @ known.T + (known**2).sum(1)[None, :]
nearest = train["label"].to_numpy()[distances.argmin(axis=1)]
pd.DataFrame({"example": test["example"], "label": nearest}).to_parquet(folder / "predictions.parquet")
print(f"{len(test)} examples answered from {len(train)}.")
