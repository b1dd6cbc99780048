"""Paired differences between two learners over the train splits that both were run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics import METRICS
from nsl_bench.report.ordering import sorted_rows
from nsl_bench.report.tables import SETTING, with_standard

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ("shift", "percent")
_PAIR = ("repeat", "learner_draw")


def paired(first: pd.DataFrame, second: pd.DataFrame, metric: str, level: float = 0.95) -> pd.DataFrame:
    """Mean paired differences with intervals and corrected p values.

    Args:
        first, second: the runs of one learner each.

    Returns:
        One row per setting, shift and share: the means of both learners (``first``, ``second``), their
        ``difference``, its interval (``low``, ``high``), the p value of the paired t test, corrected by
        Holm's method (``p_value``), and the number of pairs (``n``). With one pair, the interval and the p
        value are NaN.
    """
    import pandas as pd

    from nsl_bench.run.statistics import holm, paired_interval, paired_p_values

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
        low, high = paired_interval(difference, 1 - level) if n > 1 else (float("nan"), float("nan"))
        p_value = float(paired_p_values(difference[None])[0]) if n > 1 else float("nan")
        about = dict(zip(by, place, strict=True)) if isinstance(place, tuple) else {}
        rows.append(
            {
                **about,
                "metric": metric,
                "first": float(ours.mean()),
                "second": float(theirs.mean()),
                "difference": float(difference.mean()),
                "low": low,
                "high": high,
                "p_value": p_value,
                "n": n,
            }
        )
    table = pd.DataFrame(rows)
    tested = table["p_value"].notna()
    table.loc[tested, "p_value"] = holm(table.loc[tested, "p_value"].to_numpy(np.float64))
    return sorted_rows(table, by)
