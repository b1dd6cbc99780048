"""Secret data seeds: examples that nobody can make again before the seed is shown.

The benchmarks' examples follow a seed. Where that is public, a learner could make the test set again and
look up the answers. A secret seed lies in a file that only the harness reads; whatever is kept of a run names
it by its *commitment*, a hash from which it cannot be found, but against which it can be checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.text import read_text

if TYPE_CHECKING:
    from nsl_bench.sandbox.limits import Limits

_SHORTEST, _LONGEST = 32, 256


@dataclass(frozen=True)
class DataSeed:
    """A secret seed of examples.

    Attributes:
        secret: what examples are made from; shown nowhere.
        file: where it was read; learners may not read it.
    """

    secret: str = field(repr=False)
    file: Path

    @property
    def commitment(self) -> str:
        """64 hexadecimal digits that name the seed and do not tell it."""
        return commitment_of(self.secret)

    @classmethod
    def read(cls, file: Path) -> DataSeed:
        """The seed in a file: one line of 32 to 256 visible characters."""
        secret = read_text(file).strip()
        visible = secret.isascii() and secret.isprintable() and " " not in secret
        if not visible or not _SHORTEST <= len(secret) <= _LONGEST:
            content = f"{len(secret)} characters" if visible else "something else"
            raise UserError(
                f"The data seed file {file} must contain one line of {_SHORTEST} to {_LONGEST} random "
                f"letters and digits; it contains {content}. Create one with `openssl rand -hex 32`."
            )
        return cls(secret, file)


def commitment_of(secret: str) -> str:
    """The commitment of a secret seed: SHA-256 of a fixed prefix and the seed."""
    return hashlib.sha256(b"nsl-bench data seed\n" + secret.encode("ascii")).hexdigest()


def seed_of(seed: int, sealed: str, secret: DataSeed | None) -> int | str:
    """The seed that data follow.

    Args:
        seed: the public one.
        sealed: commitment of the secret one; empty: the public one counts.
        secret: the secret one that is known here.
    """
    if not sealed:
        return seed
    if secret is None or secret.commitment != sealed:
        fault = "that seed is not given" if secret is None else f"{secret.file} contains another seed"
        raise UserError(
            f"The data were generated from a secret seed (commitment {sealed[:12]}...), and {fault}; "
            "give its file with --data-seed-file."
        )
    return secret.secret


def check_limits(limits: Limits | None) -> Limits:
    """The limits, unless a learner could take something of a secret seed's data with it."""
    open_ways = (
        "--isolation none" if limits is None else "--allow network" if limits.network else "--allow write="
    )
    if limits is None or limits.network or limits.write:
        raise UserError(f"A secret data seed requires a sandbox without extra access; leave out {open_ways}.")
    return limits


def check_in_force(isolation: Mapping[str, str]) -> None:
    """Refuse data of a secret seed where the system cannot keep a learner apart.

    Args:
        isolation: what is in force, as a record says it.
    """
    attributes = isolation.get("mounts") == "read-only" or isolation.get("calls") == "seccomp"
    if isolation.get("files", "none") == "none" or not attributes or isolation.get("network") == "open":
        raise UserError(
            "A secret data seed requires Linux with Landlock, and namespaces or seccomp, which are "
            "missing here; see `nsl-bench doctor`."
        )
