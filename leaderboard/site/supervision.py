"""What each entry was given: labels, images, knowledge and trials."""

from contextlib import suppress
from functools import cache

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.data.splits import make_source, symbolic_split
from nsl_bench.learners.environments import entrant
from nsl_bench.perception.network import Network
from nsl_bench.perception.trained_networks import kept
from nsl_bench.run.sampled import task_named

from ..contests import Contest
from ..entries import Entry

_CHOOSING = ("random_forest", "fcn", "xgboost", "ebm", "figs")
"""Learners whose inputs and weights of examples are tuned with their other options."""


def words_of(track: str) -> str:
    """A track as people write it."""
    return track.replace("_", " ")


@cache
def perceiver(task: str, source: str, network: str) -> Network | None:
    """A contest's perception network; None if it is not on this machine."""
    with suppress(UserError):
        benchmark = task_named(task)
        return kept(registry.create("network", network, seed=0), benchmark, make_source(benchmark, source))
    return None


@cache
def _shown(task: str, source: str, size: str, seed: int) -> tuple[int, int, str]:
    """Train examples, images in them, and their pixels, of a contest's first train split."""
    benchmark = task_named(task)
    side = ""
    with suppress(UserError):  # images in a folder that is not on this machine
        height, width = make_source(benchmark, source).shape[:2]
        side = f"{height} x {width}"
    train = symbolic_split(benchmark, "train", size, 1, seed=seed)
    return benchmark.size(size), int((train.concepts != BLANK).sum()), side


def given(entry: Entry, contest: Contest) -> dict[str, object]:
    """What an entry was given in a contest; empty text where it is nothing, or not known here."""
    track, spec = entry.track, entry.manifest.learner
    examples, shown, side = _shown(contest.task, contest.source, contest.size, contest.seed)
    labelled: object = {"symbolic": shown, "concept_labels": shown}.get(track, 0)
    images: object = 0 if track == "symbolic" else shown
    before = ""
    with suppress(UserError):
        before = entrant(spec).citation.partition("weights ")[2] if "env:" in spec else ""
    if track == "symbolic":
        side = ""
    elif track == "pretrained":
        network = perceiver(contest.task, contest.source, entry.network)
        details = network.details.get("training", {}) if network else {}
        labelled = images = details.get("images", "")
        made = getattr(network, "architecture", None)
        side = f"{made.height} x {made.width}" if made else ""
        before = f"perceiver {entry.network}"
    return {
        "concept labels": labelled,
        "task labels": examples,
        "images": images,
        "pixels": side,
        "pre-training": before,
        "knowledge": knowledge(track, spec),
        "confidences": confidences(track, spec),
        "trials": entry.manifest.tuning_trials,
    }


def knowledge(track: str, spec: str) -> str:
    """What of the task's rules a learner is given and uses."""
    if track == "known_rules":
        return "the true rule"
    if spec.partition(":")[0] in ("ffnsl", "nsl", "nsil"):
        return "background, bias"
    return "features of the solution" if "knowledge" in spec else ""


def confidences(track: str, spec: str) -> str:
    """What a learner does with a network's confidences."""
    if track != "pretrained":
        return ""
    options = dict(part.split("=", 1) for part in spec.replace(":", ",").split(",") if "=" in part)
    if spec.partition(":")[0] in ("ffnsl", "nsl"):
        return "weights" if options.get("penalty", "network") == "network" else "none"
    used = [options.get("inputs", ""), "weights" if options.get("weights") == "confidence" else ""]
    told = ", ".join(word for word in used if word and word != "concepts")
    chooses = spec.startswith("tuned:") and any(name in spec for name in _CHOOSING)
    return told or ("may choose" if chooses else "none")
