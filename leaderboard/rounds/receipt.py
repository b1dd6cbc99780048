"""Receipts: with one an entrant can prove that an entry is in a sealed round, and what came before it."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from nsl_bench.core.declared import Is, Open, parse_json, read_json

from .model import DIGEST_OR_NONE, Round, Taken, is_name, read_file


@dataclass(frozen=True)
class Receipt(Open):
    """The entries of a round when the last of them was taken.

    An earlier copy of a round's file can stand for a receipt.

    Attributes:
        name: name of the round.
        start: the link before the first entry, a hash of what was sealed.
        entries: the entries, of which the last is the entrant's.
        salt: the salt of the entrant's digest; empty for code, whose predictions the entrant may not know.
        revealed: date of the reveal; empty before it.
    """

    name: Annotated[str, Is("a round's name", test=is_name)]
    entries: tuple[Taken, ...]
    start: DIGEST_OR_NONE = ""
    salt: DIGEST_OR_NONE = ""
    revealed: Annotated[str, Is("a date, or empty", longest=30)] = ""

    @classmethod
    def of(cls, round_: Round, salt: str) -> Self:
        """The receipt for the last entry of a round."""
        return cls(round_.name, round_.entries, round_.start, salt)

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read_receipt(path: Path) -> Receipt:
    """Read a receipt, or an earlier copy of a round's file."""
    receipt = read_json(Receipt, path, "The receipt ")
    if receipt.start or "contests" not in parse_json(path.read_bytes()):
        return receipt
    return replace(receipt, start=read_file(path).start)  # a copy of a round's file, maybe without entries


def differences(round_: Round, receipt: Receipt) -> Iterator[str]:
    """The differences between a round's file and a receipt, each as the end of a sentence."""
    if receipt.name != round_.name:
        yield f"it is of the round {receipt.name}"
        return
    chained = (entry.link in ("", entry.linked(round_.start)) for entry in receipt.entries[:1])
    if receipt.start not in ("", round_.start) or not all(chained):
        yield "what was sealed was changed: commitment, contests or hashes of the data"
    now = {entry.folder: entry for entry in round_.entries}
    then = {entry.folder: entry for entry in receipt.entries}
    for folder, entry in then.items():
        if folder not in now:
            yield f"the entry '{entry.name}' was dropped"
        elif (now[folder].name, now[folder].by, now[folder].digest) != (entry.name, entry.by, entry.digest):
            yield f"the entry '{entry.name}' was altered"
    remaining = [folder for folder in now if folder in then]
    for folder, other in zip([folder for folder in then if folder in now], remaining, strict=True):
        if folder != other:
            yield f"the entry '{then[folder].name}' was moved: '{now[other].name}' is in its place"
    last = max((k for k, folder in enumerate(now) if folder in then), default=-1)
    for k, (folder, entry) in enumerate(now.items()):
        if folder not in then and (k < last or receipt.revealed):
            yield f"the entry '{entry.name}' was added late"
