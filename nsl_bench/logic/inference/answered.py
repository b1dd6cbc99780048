"""Crisp answers that this process knows: the label of each context that a hypothesis was asked about.

A hypothesis gives a context the same label whoever asks. Learners in this process, and the harness that
compares their answers with their rules, need not compute it twice.
"""

from collections.abc import Sequence

from nsl_bench.core.types import LabelSpace

Known = dict[tuple[str, ...], int]
"""Labels by context, as `nsl_bench.logic.inference.crisp.crisp_labels` gives them."""

_KEPT = 32
"""Hypotheses whose answers are kept."""

_MOST = 1 << 16
"""Contexts of one hypothesis that are kept."""

_known: dict[tuple[tuple[str, ...], str, LabelSpace], Known] = {}


def known_labels(rules: Sequence[str], background: str, labels: LabelSpace) -> Known:
    """The labels computed so far with a hypothesis; the caller adds new ones.

    Args:
        rules: the hypothesis.
        background: background knowledge, ASP.
        labels: the labels and their atoms.
    """
    asked = (tuple(rules), background, labels)
    result = _known.pop(asked, {})
    if len(result) > _MOST:
        result = {}
    while len(_known) >= _KEPT:
        _known.pop(next(iter(_known)))
    _known[asked] = result
    return result
