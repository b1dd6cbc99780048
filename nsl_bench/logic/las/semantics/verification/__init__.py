"""Checking answers by the definition: nothing here is shared with what searches for them.

`is_small` decides, at once, which answers are checked without being asked for; `check.checked` checks.
"""

from nsl_bench.logic.las.task import LasTask, Solution

__all__ = ["SMALL", "is_small"]

SMALL = 400
"""Statements of all distinct examples up to which the score of an answer is always checked."""
_STATEMENT = 20
"""Characters of a statement of the background, roughly."""


def is_small(task: LasTask, solution: Solution) -> bool:
    """Whether an answer has a score that is checked in a few hundredths of a second."""
    if solution.score is None or len(task.examples) > 10 * SMALL:
        return False
    rules = len(solution.hypothesis) + 1
    distinct = {(e.inclusions, e.exclusions, e.context) for e in task.examples}
    copied = sum(rules + len(inclusions) + len(exclusions) + len(c) for inclusions, exclusions, c in distinct)
    given = len(task.bias.rules)
    return copied + given + len(task.background) // _STATEMENT <= SMALL
