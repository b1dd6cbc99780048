"""Serve the harness in another interpreter, which has numpy but not nsl-bench's other dependencies.

The sandboxed process of a learner executes this file with the interpreter of the learner's environment
(`nsl_bench.sandbox.child.live`). It borrows the package nsl_bench from its folder without anything that is
installed beside it, so that the environment's own libraries are the only ones. Arguments: the descriptor of
the channel, the scratch folder, and the seed.
"""

import contextlib
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _borrow(package: Path, scratch: Path) -> None:
    """Make a package importable from its folder, and nothing that lies beside it.

    Processes that the learner starts afresh (``spawn``, ``forkserver``, loky) get `sys.path` from this one.
    Its last entry is therefore a folder that holds nothing but a link to the package.
    """
    spec = spec_from_file_location(
        package.name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[package.name] = module
    spec.loader.exec_module(module)
    with contextlib.suppress(OSError):
        beside = scratch / ".borrowed"
        beside.mkdir()
        (beside / package.name).symlink_to(package, target_is_directory=True)
        sys.path.append(str(beside))


def main(channel: int, scratch: Path, seed: int) -> None:
    """Serve the harness's requests until it sends no more."""
    _borrow(Path(__file__).resolve().parents[1], scratch)
    from nsl_bench.logic.guarded import call
    from nsl_bench.sandbox import child

    call.call_here()
    child.serve(channel, scratch, seed)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
