"""Views of small splits of any task."""

from nsl_bench.core import registry
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Part, Predictions
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners.view import View


def seen(name: str, part: Part, size: str = "16", track: Track = "few_labels", truth: bool = False) -> View:
    """Examples of a task with their images, or with their true concepts (`truth`, or the track's)."""
    task = registry.create("benchmark", name)
    source = make_source(task)
    split = make_split(task, source, part, size)
    certain = Predictions.certain(split.concepts, len(task.concept_space))
    truth = truth or track == "pretrained"
    return View(
        split,
        task,
        track,
        predictions=certain if truth else None,
        source=None if truth else source,
        labelled=part != "test",
    )
