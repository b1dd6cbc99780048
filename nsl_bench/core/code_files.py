"""Which files a learner's or a network's code consists of, found without running it.

A run is another run once the code of its learner is changed. Its code is the module that its spec names and
what that module imports from beside it: from the folder of a ``FILE.py:CLASS``, or from the package of an
installed learner. Imports inside functions count, imports by ``importlib`` are not seen. What comes with
nsl-bench has versions and no files.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nsl_bench.core import cache, imported, registry
from nsl_bench.core.errors import UserError


def code_key(spec: str, kind: registry.Kind = "learner") -> str:
    """A short hash of the files of `code_files`; empty if there are none."""
    files = code_files(spec, kind)
    return cache.content_key(*files) if files else ""


def code_files(spec: str, kind: registry.Kind = "learner") -> tuple[Path, ...]:
    """The files that a part's code consists of: its own module, then what it imports from beside it.

    Args:
        spec: e.g. ``"my.py:MyLearner:alpha=2"`` or the name of an installed part.

    Returns:
        Empty for what comes with nsl-bench, and for what cannot be found.
    """
    if _is_ours(spec, kind):
        return ()
    located = _place(spec, kind)
    if located is None:
        return ()
    own, root, package = located
    first = own[-1]
    files = dict.fromkeys([first, *own])
    left = list(files)
    while left:
        for file in _imported(left.pop(), root, package):
            if file not in files:
                files[file] = None
                left.append(file)
    del files[first]
    return (first, *sorted(files, key=lambda file: file.relative_to(root).as_posix()))


def code_roots(spec: str, kind: registry.Kind = "learner") -> tuple[Path, ...]:
    """The file that a part is in, as it was named, or else the package or module; empty if unknown."""
    located = _place(spec, kind)
    if located is None:
        return ()
    files, root, _ = located
    split = imported.split_code(_parse(spec, kind).name)
    if split is not None and split[0].endswith(".py"):
        return (Path(split[0]).absolute(),)
    return (root / files[-1].relative_to(root).parts[0],)


def modules_used(spec: str, kind: registry.Kind = "learner") -> tuple[str, ...]:
    """The modules outside its own code that a part's code imports, at the top or inside functions, in order.

    Modules of the standard library and of nsl-bench are left out, and what only type checkers import.
    """
    files = code_files(spec, kind)
    own = {file.stem for file in files} | {file.parent.name for file in files if file.stem == "__init__"}
    installed = sys.stdlib_module_names | own | {"nsl_bench"}
    result = (name for file in files for name in _named(file))
    return tuple(dict.fromkeys(name for name in result if name.partition(".")[0] not in installed))


def _tree(file: Path) -> ast.Module:
    """What a file says; nothing if it cannot be read."""
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        return ast.parse(file.read_bytes())
    return ast.Module([], [])


def _named(file: Path) -> Iterator[str]:
    """The modules that a file imports by their full name."""
    left: list[ast.AST] = [_tree(file)]
    while left:
        node = left.pop(0)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            left += ast.iter_child_nodes(node)


def comes_with_us(spec: str, kind: registry.Kind = "learner") -> bool:
    """Whether a part, and all that its options name, comes with nsl-bench."""
    return all(_is_ours(each, kind) for each in specs_in(spec, kind))


def _is_ours(spec: str, kind: registry.Kind) -> bool:
    name = _parse(spec, kind).name.partition("@")[0]
    if name not in registry.names(kind):
        return False
    return registry.entry_point(kind, name).module.startswith("nsl_bench.")


def specs_in(spec: str, kind: registry.Kind = "learner") -> Iterator[str]:
    """A part's spec, then those of parts that its options name, as in ``tuned:my.py:MyLearner``."""
    yield spec
    parsed = _parse(spec, kind)
    for value in (*parsed.args, *parsed.kwargs.values()):
        with suppress(UserError):
            name = _parse(value, kind).name
            foreign = name.startswith(imported.ENVIRONMENT) or imported.split_code(name)
            if name in registry.names(kind) or (kind == "learner" and foreign):
                yield from specs_in(value, kind)


def _parse(spec: str, kind: registry.Kind) -> registry.Spec:
    return registry.learner_spec(spec) if kind == "learner" else registry.Spec.parse(spec)


def _place(spec: str, kind: registry.Kind) -> tuple[list[Path], Path, str | None] | None:
    """The files that importing a part executes, the folder where its imports are, and its package.

    Returns:
        Its packages' files and its own, the folder, and the package's name, or None for any module there;
        None in all if it cannot be found.
    """
    name = _parse(spec, kind).name
    if name.partition("@")[0] in registry.names(kind):
        module, installed = registry.entry_point(kind, name.partition("@")[0]).module, True
    else:
        split = imported.split_code(name)
        if split is None:
            return None
        module, installed = split[0], False
        if module.endswith(".py"):
            path = Path(module).resolve()
            return ([path], path.parent, None) if path.is_file() else None
    top = module.partition(".")[0]
    root = Path.cwd().resolve()
    if installed or not (root.joinpath(top).is_dir() or root.joinpath(f"{top}.py").is_file()):
        installed = True
        folder = _folder_of(top)
        if folder is None:
            return None
        root = folder
    own = list(_files_of(module, root))
    return (own, root, top if installed else None) if own else None


def _folder_of(top: str) -> Path | None:
    """The folder in which an installed package or module lies."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    place = next(iter(spec.submodule_search_locations or ()), spec.origin)
    return Path(place).resolve().parent if place else None


def _imported(file: Path, root: Path, package: str | None) -> Iterator[Path]:
    """The files below `root` that a file imports, of one package if that is named."""
    folders = file.relative_to(root).parent.parts
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = folders[: len(folders) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" if module else alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if package is None or name.partition(".")[0] == package:
                yield from _files_of(name, root)


def _files_of(module: str, root: Path) -> Iterator[Path]:
    """The files below a folder that importing a module executes: of packages, then its own."""
    place = root
    for piece in module.split("."):
        place = place / piece
        for file in (place / "__init__.py", place.with_name(f"{piece}.py")):
            if file.is_file():
                yield file
