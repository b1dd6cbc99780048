"""Specs of learners that are commands in any language."""

import shlex
from pathlib import Path
from typing import cast, get_args

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.learners.folder_formats import FORMATS, Format

_OPENING = "command["


def spec_of(text: str) -> str:
    """The spec for ``COMMAND``, ``TRACK=COMMAND``, ``FORMAT=COMMAND`` or ``TRACK,FORMAT=COMMAND``."""
    before, equals, rest = text.partition("=")
    words = [word.strip() for word in before.split(",")]
    if not equals or not set(words) <= {*get_args(Track), *FORMATS}:
        words, rest = [], text
    tracks = [word for word in words if word in get_args(Track)] or ["pretrained"]
    forms = [word for word in words if word in FORMATS[1:]]
    if len(tracks) > 1 or sum(word in FORMATS for word in words) > 1:
        raise UserError(
            f"--learner-command takes one track and one format before the command; got '{before}='."
        )
    spec = f"{_OPENING}{','.join([*tracks, *forms])}]:{rest.strip()}"
    command_of(spec)
    return spec


def format_of(spec: str) -> Format:
    """The format in which a command gets its examples."""
    words = spec.removeprefix(_OPENING).partition("]:")[0].split(",")
    return next((form for form in FORMATS if form in words), FORMATS[0])


def is_command(spec: str) -> bool:
    """Whether a learner's spec is a command."""
    return spec.startswith(_OPENING)


def command_of(spec: str) -> tuple[Track, list[str]]:
    """The track and the words of a command's spec."""
    before, bracket, text = spec.removeprefix(_OPENING).partition("]:")
    track, _, form = before.partition(",")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"--learner-command cannot be split into words ({error}); got '{text}'.") from error
    if not bracket or track not in get_args(Track) or not words or (form and form not in FORMATS):
        raise UserError(f"'{spec}' is not a learner command; write --learner-command 'PROGRAM ARGUMENT ...'.")
    return cast(Track, track), words


def version_of_command(spec: str) -> str:
    """Hash of the files that a command names; empty if it names none."""
    files = [Path(word) for word in command_of(spec)[1] if Path(word).is_file()]
    return f"+{cache.content_key(*files)}" if files else ""
