"""Paired differences between two learners over the train splits that both were run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.errors import UserError
from nsl_bench.metrics import METRICS
from nsl_bench.report.tables import SETTING, with_standard

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["paired"]

_PLACE = ("shift", "percent")
_PAIR = ("repeat", "learner_draw")


def paired(first: pd.DataFrame, second: pd.DataFrame, metric: str, level: float = 0.95) -> pd.DataFrame:
    """Mean differences with intervals and corrected p values, one row a setting, shift and share.

    Args:
        first, second: runs of one learner each.
        metric: a column of both.
        level: of the intervals.

    Raises:
        UserError: there are no pairs.
    """
    import pandas as pd
    from scipy import stats

    from nsl_bench.run.statistics import holm, paired_p_values

    by = [*SETTING, *_PLACE]
    sides = []
    for runs in (first, second):
        if metric not in runs:
            raise UserError(f"The runs of {runs['learner'].iloc[0]} have no {METRICS[metric].title}.")
        sides.append(with_standard(runs)[[*by, *_PAIR, metric]].dropna(subset=[metric]))
    both = sides[0].merge(sides[1], on=[*by, *_PAIR], suffixes=("_first", "_second"))
    if both.empty:
        raise UserError("No runs can be paired: the two learners never ran on the same data.")
    rows = []
    for place, group in both.groupby(by, sort=False):
        ours, theirs = (group[f"{metric}_{side}"].to_numpy(np.float64) for side in ("first", "second"))
        difference, n = ours - theirs, len(group)
        error = float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error if n > 1 else float("nan")
        p_value = float(paired_p_values(difference[None])[0]) if n > 1 else float("nan")
        mean = float(difference.mean())
        about = dict(zip(by, place, strict=True)) if isinstance(place, tuple) else {}
        rows.append(
            {
                **about,
                "metric": metric,
                "first": float(ours.mean()),
                "second": float(theirs.mean()),
                "difference": mean,
                "low": mean - half,
                "high": mean + half,
                "p_value": p_value,
                "n": n,
            }
        )
    table = pd.DataFrame(rows)
    known = table["p_value"].notna()
    table.loc[known, "p_value"] = holm(table.loc[known, "p_value"].to_numpy(np.float64))
    return table.sort_values(by, kind="stable", ignore_index=True)
