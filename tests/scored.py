"""`score-submission` as a call, for `forked`."""

from __future__ import annotations

from typing import Any

__all__ = ["scored"]


def scored(folder: str, board: str, *options: str) -> dict[str, Any]:
    """Exit code of the command, the comment that it prints, and what it says on standard error."""
    from click.testing import CliRunner

    from nsl_bench.cli import main

    words = ["score-submission", folder, "--board", board, *options]
    result = CliRunner().invoke(main, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return {"code": int(result.return_value or 0), "said": result.stdout, "doing": result.stderr}
