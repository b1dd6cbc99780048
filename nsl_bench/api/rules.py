"""Labels that rules derive, with probabilities over all concepts that the images may show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsl_bench.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.api.given_examples import Examples
    from nsl_bench.logic.inference.query import Answer


@dataclass(frozen=True, eq=False)
class Prediction:
    """Labels that rules derive for examples.

    Attributes:
        examples: names of the examples; in a task of sequences, the name of each step's sequence.
        label_names: names of the task's labels.
        answer: label probabilities with certified intervals, one row per example or step.
        note: remark on the rules; empty if there is none.
        steps: place of each row in its sequence, from 1; empty if examples are no sequences.
    """

    examples: tuple[str, ...]
    label_names: tuple[str, ...]
    answer: Answer
    note: str = ""
    steps: tuple[int, ...] = ()

    @property
    def labels(self) -> list[str | None]:
        """The most probable label of each example or step; None where no label is possible."""
        from nsl_bench.core.metrics.predictions import most_probable

        best = most_probable(self.answer.probabilities).tolist()
        return [None if k < 0 else self.label_names[k] for k in best]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per example, or per step of a sequence.

        Columns: ``example``, ``step`` (sequences only), ``label``, one ``p_LABEL`` per label, ``invalid`` (no
        label or several), ``engine``, ``interval_width``, ``std_err``.
        """
        import pandas as pd

        answer = self.answer
        return pd.DataFrame(
            {
                "example": self.examples,
                **({"step": self.steps} if self.steps else {}),
                "label": self.labels,
                **{f"p_{name}": answer.probabilities[:, k] for k, name in enumerate(self.label_names)},
                "invalid": answer.invalid,
                "engine": answer.engines,
                "interval_width": answer.width,
                "std_err": answer.std_err.max(axis=1, initial=0.0),
            }
        )

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, one mapping per example or step."""
        return [
            {
                **{name: row[name] for name in ("example", "step") if name in row},
                "label": row["label"],
                "probabilities": {name: row[f"p_{name}"] for name in self.label_names},
                **{name: row[name] for name in ("invalid", "engine", "interval_width", "std_err")},
            }
            for row in self.frame.to_dict("records")
        ]

    def __str__(self) -> str:
        from tabulate import tabulate

        lines = [
            {
                **{name: row[name] for name in ("example", "step") if name in row},
                "label": row["label"] or "none",
                **{name: f"{row['probabilities'][name]:.4f}" for name in self.label_names},
                "no label or several": f"{row['invalid']:.4f}",
                "by": how_good(row["engine"], row["interval_width"], row["std_err"]),
            }
            for row in self.rows()
        ]
        return str(tabulate(lines, headers="keys", disable_numparse=True))


def how_good(engine: str, width: float, std_err: float) -> str:
    """Describe the accuracy of a probability in words."""
    if std_err > 0:
        return f"sampling, ± {std_err:.1e}"
    return engine if width < 1e-9 else f"{engine}, width {width:.1e}"


def predict(
    rules: str | Path | Sequence[str],
    task: str,
    *,
    probabilities: str | Path | None = None,
    images: str | Path | None = None,
    metadata: Mapping[str, str] | None = None,
    source: str | None = None,
    network: str = "softmax",
    engine: str = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> Prediction:
    """Label probabilities that rules give to examples of a task.

    The probability of a label is the total probability of the worlds in which exactly that label is derived.

    Args:
        rules: a file of ASP rules, or a sequence of rules.
        task: name of the task.
        probabilities: CSV file with the columns example, slot, and one per concept; for a task of sequences
            also step.
        images: folder with EXAMPLE/SLOT.png, or EXAMPLE/STEP/SLOT.png for a task of sequences; give either
            this or `probabilities`.
        metadata: metadata of all examples, by name. In a task of sequences, ``previous`` is that of the first
            step.
        source: image source that the network was trained on; the task's embedded one by default.
        network: perception network.
        engine: ``"auto"``, ``"exact"``, ``"sampling"`` or ``"problog"``.
        time_limit: seconds for grounding the rules (default 60), and again for inference (default no limit).
        memory_limit: megabytes for grounding and inference.

    Raises:
        UserError: files or rules that cannot be used, an unknown name, or a limit that is too low.
    """
    import numpy as np

    from nsl_bench.core import registry
    from nsl_bench.core.budget import MEBIBYTE
    from nsl_bench.learners.queries import engine_of, facts_so_far, query_of, seen_so_far
    from nsl_bench.logic.asp.text import read_text
    from nsl_bench.logic.guarded.call import guarded, prepare
    from nsl_bench.logic.guarded.child import Allowance
    from nsl_bench.logic.guarded.rules import UNDERIVABLE, inferred

    prepare()
    if (probabilities is None) == (images is None):
        raise UserError("Give either --probabilities (a CSV file) or --images (a folder).")
    result = registry.create("benchmark", task)
    is_file = isinstance(rules, str | Path)
    texts = [read_text(Path(rules))] if isinstance(rules, str | Path) else list(rules)
    note = guarded(UNDERIVABLE, query_of(result, texts), doing="Reading the hypothesis") or ""
    examples = _examples(result, probabilities, images, dict(metadata or {}), source, network)
    query = query_of(result, texts, steps=max(examples.steps, default=0))
    vectors, facts = examples.probabilities, list(examples.facts)
    if result.sequential:
        places = np.array(examples.steps)
        vectors, facts = seen_so_far(places, vectors), facts_so_far(result, places, facts)
    memory = None if memory_limit is None else memory_limit * MEBIBYTE
    answer = inferred(
        partial(engine_of, engine),
        query,
        vectors,
        facts,
        **({"what": str(rules)} if is_file else {}),
        allowance=Allowance(time_limit, memory),
        grounding=time_limit,
    )
    return Prediction(examples.names, result.labels.names, answer, note, examples.steps)


def _examples(
    task: Any,
    probabilities: str | Path | None,
    images: str | Path | None,
    metadata: Mapping[str, str],
    source: str | None,
    network: str,
) -> Examples:
    """The examples of a file of probabilities, or those of a folder of images as a network sees them."""
    from nsl_bench.api.given_examples import from_folder, from_table

    if probabilities is not None:
        return from_table(task, Path(probabilities), metadata)
    from nsl_bench.data.splits import make_source
    from nsl_bench.perception.trained_networks import trained

    assert images is not None
    pool = make_source(task, source)
    return from_folder(task, Path(images), pool.shape, lambda: trained(network, task, pool), metadata)
