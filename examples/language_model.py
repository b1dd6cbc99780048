"""Ask a language model for the rules of a task, score them, and tell it where they are wrong.

    export OPENAI_API_KEY=...
    python examples/language_model.py follow_suit --model MODEL --url https://api.openai.com/v1 --share 50

The address may be that of any server with OpenAI's interface, such as vLLM, llama.cpp or Ollama
(http://localhost:11434/v1). The examples are what a network sees in images, so the share of shifted images is
the dial of difficulty. Counterexamples come from the true rule: only the first turn is without help.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import urllib.request
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import nsl_bench
from nsl_bench.learners.d2k import learning_task

TEXT = """\
Find rules that derive the label of each example from its facts: an answer set program in clingo's syntax.

Background knowledge, which is added to your rules:
{background}

Heads (#modeh) and body literals (#modeb) of rules:
{bias}

Examples: facts, then => and what must follow and what must not. A network read the facts with a number in
brackets from images. The number is its confidence, and such facts may be wrong.
{examples}
"""
ANSWER = "Answer with the rules alone, in one code block. Comments start with %."


@dataclass(frozen=True)
class TextTask:
    """A task of rule induction under perceptual noise.

    Attributes:
        text: background knowledge, language bias and examples.
        las: the same for `nsl_bench.learn`, with penalties that grow with the network's confidence.
        train: the train set that the examples are the first ones of.
    """

    text: str
    las: str
    train: Any


def text_task(task: str, examples: int | None = None, **views: Any) -> TextTask:
    """A task as text, in the size and as hard as one wants.

    Args:
        task: name of the task.
        examples: their number; by default the whole train set.
        views: arguments of `nsl_bench.views`: share, shift, seed, repeat, size, network ...
    """
    train, _ = nsl_bench.views(task, **views)
    learned = learning_task(train)
    if examples is not None and not 1 <= examples <= len(learned.examples):
        most = len(learned.examples)
        raise nsl_bench.UserError(f"examples must be 1 to {most}, the train set's number; got {examples}.")
    chosen = learned.examples[:examples]
    lines = "\n".join(line(one, train) for one in chosen)
    text = TEXT.format(background=train.background.strip(), bias=train.bias.strip(), examples=lines)
    kept = tuple(replace(one, id=one.id.replace("-", "_")) for one in chosen)
    return TextTask(text, replace(learned, examples=kept).to_las(), train)


def line(example: Any, view: Any) -> str:
    """An example, with the confidence of each fact that a network read from an image."""
    sure = {}
    for row in np.flatnonzero(view.sequences == int(example.id.rpartition("-")[2])).tolist():
        shown = zip(view.concepts[row], view.predictions.confidence[row].tolist(), strict=True)
        for slot, (concept, confidence) in enumerate(shown):
            for fact in () if concept is None else view.facts(slot, concept):
                atom = view.step_atom(fact, int(view.steps[row])) if view.sequential else fact
                sure[atom] = f"{atom} [{confidence:.2f}]"
    facts = ", ".join(sure.get(fact, fact) for fact in example.context)
    return f"{facts} => {', '.join([*example.inclusions, *(f'not {atom}' for atom in example.exclusions)])}"


def ask(url: str, model: str, messages: list[dict[str, str]]) -> str:
    """The answer of a server with OpenAI's interface."""
    key = os.environ.get("OPENAI_API_KEY", "")
    request = urllib.request.Request(
        f"{url.rstrip('/')}/chat/completions",
        json.dumps({"model": model, "messages": messages}).encode(),
        {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"])
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise SystemExit(f"{url} gave no answer: {type(error).__name__}: {error}.") from error


def rules_in(answer: str) -> str:
    """The last code block of an answer, or all of it."""
    blocks = re.findall(r"```[^\n]*\n(.*?)```", answer, re.DOTALL)
    return blocks[-1] if blocks else answer


def main(words: list[str] | None = None) -> float:
    """Ask, score, and ask again; the score of the last rules."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task")
    parser.add_argument("--url", default="http://localhost:11434/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--examples", type=int)
    parser.add_argument("--share", type=float, default=0)
    parser.add_argument("--shift", help="by default the task's first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--track", default="pretrained", choices=["pretrained", "symbolic"])
    given = parser.parse_args(words)
    more = {"shift": given.shift} if given.shift else {}
    how = {"share": given.share, "seed": given.seed, "track": given.track, **more}
    messages = [{"role": "user", "content": text_task(given.task, given.examples, **how).text + ANSWER}]
    score = 0.0
    for turn in range(1, given.turns + 1):
        answer = ask(given.url, given.model, messages)
        verdict = nsl_bench.verify(rules_in(answer), given.task, seed=given.seed)
        score, counterexample = verdict
        print(f"turn {turn}: score {score:.3f}, {counterexample or 'no counterexample'}", flush=True)
        if counterexample is None:
            break
        told = f"Your rules are not right yet. {counterexample} {ANSWER}"
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": told}]
    return score


if __name__ == "__main__":
    try:
        main()
    except nsl_bench.UserError as problem:
        raise SystemExit(str(problem)) from None
