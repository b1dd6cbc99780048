"""Options, each declared once: a field of a part's class, or an annotated argument of a function.

    class RandomForest(HasOptions):
        trees: int = option(100, "number of trees", least=1)
        depth: int = option(0, "maximum depth of each tree; 0 for no limit", least=0)

From its fields a part has its constructor, the check of each value with one sentence, the values by which it
is known (`HasOptions.option_values`), and the section "Args" of its docstring, which `nsl-bench list` and the
documentation show. `registry` reads specs by the same declarations.
"""

import functools
import inspect
import math
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar, cast

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

T = TypeVar("T")

REQUIRED: Any = inspect.Parameter.empty
"""The default of an option that must be given."""


@dataclass(frozen=True)
class Option:
    """What an option means, and which of its values are right.

    Attributes:
        meaning: for the documentation, without the full stop.
        least, most: bounds of a number that are allowed themselves.
        above, below: bounds that are not.
        unit: of a number, behind its bounds: ``"pixels"``.
        test: whether a value within the bounds is right.
        words: the right values, behind "must be", where type and bounds do not say them.
        later: whether the option came after parts had names and keys, from which its default is left out.
        default: the value if none is given, which is right whatever it is.
        after: the option behind which a spec gives this one by position; by default it comes before those of
            base classes, behind the class's own ones above it.
        name, hint: of the field; known once its class is made.
    """

    meaning: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    unit: str = ""
    test: Callable[[Any], bool] | None = None
    words: str = ""
    later: bool = False
    default: Any = REQUIRED
    after: str = ""
    name: str = ""
    hint: Any = None

    def allows(self, value: Any) -> bool:
        """Whether a value of the right type is right."""
        inside = not isinstance(value, int | float) or (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )
        return inside and (self.test is None or bool(self.test(value)))

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.least is not None and self.most is not None:
            return f"between {self.least} and {self.most}{unit}"
        sides = {
            f"{self.least}{unit} or more": self.least,
            f"above {self.above}{unit}": self.above,
            f"at most {self.most}{unit}": self.most,
            f"below {self.below}{unit}": self.below,
        }
        return " and ".join(words for words, bound in sides.items() if bound is not None)

    def checked(self, value: Any, owner: str = "") -> Any:
        """The value as a plain Python value. NumPy's scalars count as numbers, texts as paths.

        Args:
            owner: what has the option, as a message begins: ``"softmax: "``.

        Raises:
            UserError: the value is not right.
        """
        if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
            value = value.item()
        if value is self.default:
            return value
        choices = choices_of(self.hint)
        if isinstance(value, str) and Path in choices and str not in choices:
            value = Path(value)
        of_type = any(_is_a(value, choice) for choice in choices)
        if of_type and (value is None or self.allows(value)):
            return value
        bounds = self.bounds
        if not of_type:
            kind = " or ".join(kind_of(choice) for choice in choices if choice is not type(None))
            bounds = " ".join(filter(None, (kind, "of" if bounds[:1].isdecimal() else "", bounds)))
        raise UserError(f"{owner}{self.name} must be {self.words or bounds}; got {quoted(value)}.")


def option(default: T, meaning: str = "", **more: Any) -> T:
    """Declare an option in the body of a class, with a default, its meaning and what else `Option` says."""
    return cast(T, Option(meaning, default=default, **more))


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string", Path: "a path"}


def kind_of(hint: Any) -> str:
    """A type in words, behind "must be"."""
    if typing.get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    return _KINDS.get(hint, str(hint))


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The members of a union of types; the type itself if it is none."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; one that no text can stand for is taken as it is."""
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if hint in (int, float):
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    return isinstance(value, hint) if hint in (*_KINDS, type(None)) else True


class HasOptions:
    """Base class of whatever declares options: tasks, sources, shifts, networks and our own learners.

    A plain attribute with the name of a base's option is another default. A class may have a plain
    constructor instead, and then checks its arguments itself.

    Attributes:
        offered: names of the only options that a class with other defaults offers, in their order.
    """

    offered: ClassVar[tuple[str, ...]]
    _declared: ClassVar[Mapping[str, Option]] = {}
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._declared = _declared_by(cls)
        if cls.__init__ is HasOptions.__init__:
            cls.__signature__ = _signature(cls._declared)
            cls.__doc__ = _documented(cls.__dict__.get("__doc__"), cls._declared)
        else:
            own_arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
            cls.__signature__ = inspect.Signature(own_arguments)

    def __init__(self, *args: Any, **given: Any) -> None:
        bound = _signature(self._declared).bind(*args, **given)
        bound.apply_defaults()
        owner = f"{getattr(self, 'name', type(self).__name__)}: "
        for name, value in bound.arguments.items():
            setattr(self, name, self._declared[name].checked(value, owner))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Derive what follows from the options.

        Raises:
            UserError: options that do not go together.
        """

    def option_values(self) -> dict[str, Any]:
        """The values of the options, by which the part is known."""
        return {
            name: getattr(self, name)
            for name, one in self._declared.items()
            if not (one.later and getattr(self, name) == one.default)
        }

    def spec_with(self, **changed: Any) -> str:
        """The spec of this part: its class's name, and the options that are not at their defaults."""
        given = {name: changed.get(name, getattr(self, name)) for name in self._declared}
        words = [
            f"{name}={value:.10g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in given.items()
            if value != self._declared[name].default
        ]
        name: str = getattr(type(self), "name", "")
        return f"{name}:{','.join(words)}" if words else name


def options_of(make: Any) -> Mapping[str, Option] | None:
    """The options that a class declares; None if it, or the function, has none but in its signature."""
    if isinstance(make, type) and issubclass(make, HasOptions) and make.__init__ is HasOptions.__init__:
        return make._declared
    return None


def _declared_by(cls: type[HasOptions]) -> dict[str, Option]:
    """The options of a class in their order, its bases' among them; its attributes become plain defaults."""
    result: dict[str, Option] = {}
    for base in reversed(cls.__bases__):
        result.update(getattr(base, "_declared", {}))
    at = 0
    for name, value in list(vars(cls).items()):
        if isinstance(value, Option):
            hint = _evaluated(inspect.get_annotations(cls)[name], cls.__module__)
            before = list(result).index(name) if name in result else at
            result.pop(name, None)
            at = list(result).index(value.after) + 1 if value.after else before
            items = list(result.items())
            result = dict([*items[:at], (name, replace(value, name=name, hint=hint)), *items[at:]])
            at += 1
            if value.default is REQUIRED:
                delattr(cls, name)
            else:
                setattr(cls, name, value.default)
        elif name in result:
            result[name] = replace(result[name], default=value)
    return {name: result[name] for name in cls.offered} if "offered" in vars(cls) else result


def _evaluated(annotation: Any, module: str) -> Any:
    """The type that an annotation names."""
    return eval(annotation, vars(sys.modules[module])) if isinstance(annotation, str) else annotation


def _signature(declared: Mapping[str, Option]) -> inspect.Signature:
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, by_name, default=one.default, annotation=one.hint)
            for name, one in declared.items()
        ]
    )


def _documented(doc: str | None, declared: Mapping[str, Option]) -> str | None:
    """A class's docstring with a section of its options."""
    if doc is None or not declared:
        return doc
    said = [f"{name}: {one.meaning}." for name, one in declared.items()]
    entries = [
        textwrap.fill(text, 110, initial_indent="    ", subsequent_indent=" " * 8, break_on_hyphens=False)
        for text in said
    ]
    section = "\n".join(["Args:", *entries])
    head, *others = re.split(r"^(?=(?:Attributes|Raises):$)", inspect.cleandoc(doc), maxsplit=1, flags=re.M)
    return "\n\n".join(part.rstrip() for part in (head, section, *others))


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator that checks the arguments of a function by its annotations before the call."""
    signature = inspect.signature(function)

    @functools.cache
    def declared() -> dict[str, Option]:
        result = {}
        for name, parameter in signature.parameters.items():
            hint = _evaluated(parameter.annotation, function.__module__)
            option = next(iter(getattr(hint, "__metadata__", ())), Option())
            plain = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
            result[name] = replace(option, name=name, hint=plain, default=parameter.default)
        return result

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for key in kwargs:
            if key not in signature.parameters:
                raise UserError(
                    f"{function.__name__} has no argument '{key}'.{did_you_mean(key, signature.parameters)}"
                )
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UserError(f"{function.__name__}: {error}.") from None
        for key, value in bound.arguments.items():
            bound.arguments[key] = declared()[key].checked(value)
        return function(*bound.args, **bound.kwargs)

    return checked
