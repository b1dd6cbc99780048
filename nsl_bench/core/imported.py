"""Learners that are named by their code: import the file or the module in which a class is.

Modules beside a learner's file can be imported by it. No compiled form of them that lies in a folder
``__pycache__`` is executed.
"""

import ast
import contextlib
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from typing import Any, ClassVar, cast

from nsl_bench.core.errors import UserError, did_you_mean, named

ENVIRONMENT = "env:"
"""How the spec of a learner begins that has an interpreter of its own."""


def split_code(name: str) -> tuple[str, str] | None:
    """The file or module, and the class, of a learner's name; None for other names."""
    if name.startswith(ENVIRONMENT):
        return None
    place, colon, attribute = name.rpartition(":")
    return (place, attribute) if colon and attribute.isidentifier() else None


def from_code(name: str) -> Any | None:
    """The class that ``FILE.py:CLASS`` or ``MODULE:CLASS`` names; None if the name has another form."""
    split = split_code(name)
    if split is None:
        return None
    place, attribute = split
    module = _from_file(Path(place), name) if place.endswith(".py") else _from_module(place, name)
    if module is None:
        return None
    if not hasattr(module, attribute):
        defined = [name for name, value in vars(module).items() if inspect.isclass(value) and name[0] != "_"]
        advice = did_you_mean(attribute, defined) if defined else " It defines no class."
        raise UserError(f"{place} has no '{attribute}'.{advice}")
    return getattr(module, attribute)


def without_class(path: Path) -> UserError:
    """The error for a learner's file that is given without a class; the file is read, and not executed."""
    try:
        body = ast.parse(path.read_bytes(), str(path)).body
    except (OSError, ValueError, SyntaxError) as error:
        return UserError(f"The learner {path} cannot be read: {named(error)}.")
    specs = [f"{path}:{one.name}" for one in body if isinstance(one, ast.ClassDef) and one.name[0] != "_"]
    if not specs:
        return UserError(
            f"The file {path} defines no class; a learner is a class with fit and predict_proba."
        )
    return UserError(f"The learner {path} must be given with its class: {' or '.join(specs)}.")


def _from_file(path: Path, text: str) -> types.ModuleType:
    """Import a file; modules beside it can be imported by it, then and later.

    The module has the file's name, so that worker processes find its classes and functions, unless
    another module has it.
    """
    if not path.is_file():
        state = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"The learner '{text}' was not found: the file {path} {state}.")
    path = path.resolve()
    _look_in(path.parent)
    before = sys.modules.get(path.stem)
    origin = getattr(before, "__file__", None) if before else _origin(path.stem)
    name = path.stem if path.stem.isidentifier() and origin == str(path) else f"nsl_bench_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Source(name, str(path)))
    loader = spec.loader if spec else None
    if spec is None or loader is None:
        raise UserError(f"The file {path} cannot be imported as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _execute(lambda: loader.exec_module(module), text)
    return module


def _origin(name: str) -> str | None:
    """The file that importing a name would execute, whatever lies in the folder of a learner's file."""
    try:
        result = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return result.origin if result else None


def _from_module(place: str, text: str) -> types.ModuleType | None:
    """Import a module of the working folder or an installed one; None if there is none."""
    if not all(piece.isidentifier() for piece in place.split(".")):
        return None
    here = Path.cwd()
    if (here / place.split(".")[0]).is_dir() or (here / f"{place.split('.')[0]}.py").is_file():
        _look_in(here)
    try:
        if importlib.util.find_spec(place) is None:
            return None
        return cast(types.ModuleType, _execute(lambda: importlib.import_module(place), text))
    except ModuleNotFoundError:
        return None


class _Source(SourceFileLoader):
    """Executes a module's source, and no compiled form of it that lies in a folder ``__pycache__``."""

    def get_code(self, fullname: str) -> types.CodeType:
        """The code of the source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Beside:
    """The folder of the last learner's file, in which modules are looked for."""

    folder: ClassVar[str | None] = None
    known: ClassVar[frozenset[str]] = frozenset()
    """Names of the packages and modules that were there before."""


def _look_in(folder: Path) -> None:
    """Have modules of a folder be found, and those of the folder before no longer: names may be the same."""
    place = str(folder)
    if _Beside.folder == place:
        return
    if _Beside.folder is not None:
        with contextlib.suppress(ValueError):
            sys.path.remove(_Beside.folder)
        for name, module in list(sys.modules.items()):
            top = name.partition(".")[0]
            if top not in _Beside.known and _lies_in(module, _Beside.folder, top):
                del sys.modules[name]
        _Beside.folder = None
    if place not in sys.path:
        sys.path.insert(0, place)
        kinds = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_Source, SOURCE_SUFFIXES)
        sys.path_importer_cache[place] = FileFinder(place, *kinds)
        _Beside.folder, _Beside.known = place, frozenset(name.partition(".")[0] for name in sys.modules)
    importlib.invalidate_caches()


def _lies_in(module: Any, folder: str, top: str) -> bool:
    """Whether a module is a file of a folder, or of a package in it."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_relative_to(folder):
        return False
    return Path(file).relative_to(folder).parts[0] in (top, f"{top}.py")


def _execute(load: Callable[[], Any], text: str) -> Any:
    """Import a user's code, which may raise anything."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        raise UserError(
            f"The learner '{text}' cannot be imported: {type(error).__name__}: {error}."
        ) from error
