"""Declared forms: a type says what a file may hold, and what does not fit it gets one sentence.

A form is a frozen dataclass that inherits from `Declared`. The annotations of its fields are all there is
to say: a type, and `Is`, which words what is right and bounds it. `checked` makes the dataclass of plain
values, `json_schema` publishes the form. Types are strict: ``true`` and ``1.0`` are no
whole numbers. pydantic does the work and is imported by the first check, so that a form costs nothing to
whoever only uses the dataclass.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_type_hints

from nsl_bench.core.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def quoted(value: object) -> str:
    """An untrusted value as an error names it, shortened if it is long."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} that is too long to be shown"


@dataclass(frozen=True, eq=False)
class Is:
    """What a value is, in words, with bounds and a test that its type cannot say.

    Attributes:
        words: the right values, behind "must be": ``"a whole number from 1 to 1000"``.
        least, most: of a number; None: no such bound.
        shortest, longest: of a text in characters, or of a list.
        test: whether a value of the right type is one of them.
        before: makes a value of the right type of one that stands for it; its `ValueError` says why not.
        make: makes the value that is kept; its `ValueError` says why there is none.
        schema: what the JSON Schema says besides.
    """

    words: str
    least: float | None = None
    most: float | None = None
    shortest: int | None = None
    longest: int | None = None
    test: Callable[[Any], bool] | None = None
    before: Callable[[Any], Any] | None = None
    make: Callable[[Any], Any] | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import ValidationError
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: Any, inner: Any) -> Any:
            try:
                result = inner(value if self.before is None else self.before(value))
            except ValidationError as error:
                if any(one["type"] in _WORDED for one in error.errors(include_url=False)):
                    raise
                result = _WRONG
            except ValueError as error:
                raise PydanticCustomError("why", "{why}", {"why": str(error)}) from None
            if result is _WRONG or (self.test is not None and not self.test(result)):
                raise PydanticCustomError("is", "{words}", {"words": self.words})
            if self.make is None:
                return result
            try:
                return self.make(result)
            except ValueError as error:
                raise PydanticCustomError("why", "{why}", {"why": str(error)}) from None

        bounds = {"ge": self.least, "le": self.most, "min_length": self.shortest, "max_length": self.longest}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        return core_schema.no_info_wrap_validator_function(check, {**handler(source), **given})

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), **self.schema}


_WRONG = object()
_WORDED = ("is", "why")

_UNKNOWN = "unexpected_keyword_argument"

_RIGHT = {
    **{"string_type": "a string", "float_type": "a number", "bool_type": "true or false"},
    **dict.fromkeys(("int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "dataclass_type", "dataclass_exact_type"), "an object with keys"
    ),
    "none_required": "null",
}
"""Kinds of errors, and what is right."""


class Declared:
    """A dataclass that is the form of something in a file; keys that it does not name are errors.

    A field must be there if it has no default, or ``"required"`` among its ``metadata``.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "strict": True,
        "allow_inf_nan": False,
        "extra": "forbid",
    }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        result = handler(source)
        required = {f.name for f in fields(cls) if cls._is_required(f)}  # type: ignore[arg-type]
        for one in result["schema"]["fields"]:
            if one["schema"]["type"] == "default" and one["name"] in required:
                one["schema"] = one["schema"]["schema"]
        return {**result, "strict": False}  # an object's keys make it, not only one that is made

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        result: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        for name, text in _attributes(cls).items():
            if name in result.get("properties", {}):
                result["properties"][name]["description"] = text
        result["description"] = (cls.__doc__ or "").partition("\n")[0]
        return result

    @classmethod
    def _is_required(cls, given: Field[Any]) -> bool:
        return "required" in given.metadata


class Open(Declared):
    """A form in which keys that it does not name are ignored."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {**Declared.__pydantic_config__, "extra": "ignore"}


class Written(Open):
    """The form of what this program writes whole: all fields must be there, but those marked ``"later"``."""

    @classmethod
    def _is_required(cls, given: Field[Any]) -> bool:
        return "later" not in given.metadata


def _attributes(cls: Any) -> dict[str, str]:
    """What a class's docstring says of its attributes."""
    _, _, section = (cls.__doc__ or "").partition("Attributes:\n")
    result = re.findall(r"^ {8}(\w+(?:, \w+)*): (.+(?:\n {9,}.+)*)", section, flags=re.MULTILINE)
    return {
        name: " ".join(text.replace("`", "").split()).rstrip(".")
        for names, text in result
        for name in names.split(", ")
    }


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(form: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    if form not in _adapters:
        _adapters[form] = TypeAdapter(form)
    return _adapters[form]


def checked(form: type[T], values: Any, where: str = "") -> T:
    """Plain values (of JSON or TOML) as what they are declared to be.

    Args:
        values: dictionaries, lists, texts, numbers.
        where: what the sentence begins with, e.g. ``"plan.toml, grid 2: "`` or ``"--"``.

    Raises:
        UserError: the first thing that does not fit: where it stands, what was found, what is right.
    """
    from pydantic import ValidationError

    try:
        result: T = _adapter(form).validate_python(_frozen(values))
    except ValidationError as error:
        raise UserError(f"{where}{_sentence(form, error)}") from None
    return result


def from_json(form: type[T], text: bytes | str) -> T:
    """A JSON text as what it is declared to be; of a key that is there twice the last one counts.

    Raises:
        ValueError: it is no JSON, or what does not fit.
    """
    from pydantic import ValidationError

    try:
        result: T = _adapter(form).validate_json(text)
    except ValidationError as error:
        raise ValueError(_sentence(form, error).rstrip(".")) from None
    return result


def _frozen(value: Any) -> Any:
    """Lists as tuples: strict types tell them apart."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(one) for key, one in value.items()}
    return value


def _sentence(form: Any, error: ValidationError) -> str:
    """The first error as a sentence; a key that nobody knows may be the one that is missing."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == _UNKNOWN), errors[0])
    place = [part for part in first["loc"] if part != "[key]"]
    name = "".join(f"[{p}]" if isinstance(p, int) else f".{_cut(p)}" for p in place).lstrip(".") or "it"
    kind, message, value = first["type"], first["msg"], first["input"]
    if kind == "json_invalid":
        return f"not valid JSON ({message.removeprefix('Invalid JSON: ')})."
    if kind == "missing":
        words = _words(form, name)
        return f"{name} is missing{f'; it must be {words}' if words else ''}."
    if kind == _UNKNOWN:
        return f"unknown key {quoted(place[-1])}.{did_you_mean(str(place[-1]), _names(form, place[:-1]))}"
    if kind == "why":
        return f"{name} {message}."
    right = _RIGHT.get(kind) or message.removeprefix("Input should be ")
    return f"{name} must be {right}; got {as_written(value)}."


def as_written(value: Any) -> str:
    """A value as its file has it, in short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return quoted(list(value) if isinstance(value, tuple) else value)


def _cut(key: object) -> str:
    text = str(key)
    return text if text.isprintable() and len(text) <= 80 else quoted(text)


def _names(form: Any, place: list[Any]) -> list[str]:
    """The fields of a form, or of the form at a place in it."""
    for part in place:
        form = get_type_hints(form).get(str(part)) if hasattr(form, "__dataclass_fields__") else None
    return [f.name for f in fields(form)] if hasattr(form, "__dataclass_fields__") else []


def _words(form: Any, name: str) -> str:
    """What a field must be, if it is declared in words."""
    if not isinstance(form, type):
        return ""
    hint = get_type_hints(form, include_extras=True).get(name)
    return next((one.words for one in get_args(hint) if isinstance(one, Is)), "")


def json_schema(form: Any) -> dict[str, Any]:
    """The JSON Schema of a form (draft 2020-12), in one piece."""
    schema = _adapter(form).json_schema()
    pieces = schema.pop("$defs", {})

    def inlined(value: Any) -> Any:
        if isinstance(value, list):
            return [inlined(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            piece = pieces[value["$ref"].rpartition("/")[2]]
            value = {**piece, **{key: one for key, one in value.items() if key != "$ref"}}
        return {key: inlined(one) for key, one in value.items() if key != "title" or not isinstance(one, str)}

    result: dict[str, Any] = inlined(schema)
    return result


def read_json(form: type[T], path: Path, what: str = "") -> T:
    """Read a JSON file as what its values are declared to be.

    Args:
        what: what the file is, e.g. ``"The receipt "``, for messages.
    """
    try:
        values = parse_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{what}{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"{what}{path} is not valid JSON: {error}.") from error
    return checked(form, values, f"{path}: ")


def parse_json(text: str | bytes) -> Any:
    """The values of a JSON text, as strict as JSON can be read.

    Raises:
        ValueError: it is no JSON, nests too deeply, names a key twice, or holds NaN, infinity, a number
            beyond all bounds, or half of a surrogate pair.
    """
    import json

    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        values = json.loads(decoded, parse_constant=_no_number, object_pairs_hook=_once)
        if "\\u" in decoded:  # an escape may stand for half a character, which no file and no page can hold
            json.dumps(values, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a text holds half of a surrogate pair") from None
    return values


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in result if keys.count(key) > 1)
        raise ValueError(f"the key {quoted(twice)} is given twice")
    return result


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The values of a TOML file.

    Args:
        what: what it is, as a sentence begins, e.g. ``"The plan"``.
    """
    import tomllib

    from nsl_bench.core.files import check_kind

    check_kind(path, what)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{what} {path} cannot be read: {error.strerror}.") from error
    except RecursionError:
        raise UserError(f"{what} {path} is not valid TOML: it is nested too deeply.") from None
    except ValueError as error:  # of TOML, of UTF-8, or of a number with thousands of digits
        raise UserError(f"{what} {path} is not valid TOML: {str(error).rstrip('.')}.") from error
