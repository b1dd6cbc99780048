"""Tasks: generators of examples, and the rules that label them."""

import re
from pathlib import Path


def programs(module: str) -> dict[str, str]:
    """The logic programs of a task, which are in the file ``.las`` beside its module, by their headings."""
    text = Path(module).with_suffix(".las").read_text(encoding="utf-8")
    _, *parts = re.split(r"^%% (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))
