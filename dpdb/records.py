"""Records: dataclasses whose methods are not compiled while their module is imported.

`dataclasses.dataclass` compiles up to six functions for each class, at 0.2 ms each. A first answer
needs some 260 classes, and compiling them took half of its time. `dataclass` below has the same
meaning for `frozen`, `eq`, `repr`, fields, defaults, matching and `replace`, but compiles only
`__init__`, for a class with several instances; the other methods are closures. Type checkers are
told that it is the one of `dataclasses`.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from math import isfinite
from operator import attrgetter
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 (so that mypy exports it)

    from _typeshed import DataclassInstance
else:

    def dataclass(cls=None, *, frozen=False, repr=True, eq=True):  # noqa: A002, ANN001, ANN201, D103
        def made(cls: type) -> type:
            return _with_methods(cls, frozen=frozen, shown=repr, compared=eq)

        return made if cls is None else made(cls)


_FROZEN, _MADE = "_is_frozen_record", "_made_before_compiling"
_UNCOMPILED = 4
"""The instances of a class that take less time than to compile its constructor."""


Record = TypeVar("Record", bound="DataclassInstance")


def changed(record: Record, **fields: object) -> Record:
    """`dataclasses.replace`, but the record itself, with its caches, if nothing changes."""
    for name, value in fields.items():
        if getattr(record, name) is not value:
            return dataclasses.replace(record, **fields)
    return record


def is_frozen(kind: Any) -> bool:  # noqa: ANN401 (a class of fields)
    """Whether a record, by this decorator or that of `dataclasses`, cannot change."""
    return bool(getattr(kind, _FROZEN, kind.__dataclass_params__.frozen))


def is_sound(value: Any, kind: Any) -> bool:  # noqa: ANN401 (anything, and its declared type)
    """Whether a value that was read, and all that it holds, is of the declared type, and finite.

    What has a `value`, such as a detail, holds that.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(is_sound(value, each) for each in sorted(inside, key=lambda k: k is not _NONE))
    if origin is tuple and isinstance(value, tuple):
        if inside[-1] is Ellipsis:
            return all(is_sound(each, inside[0]) for each in value)
        return len(value) == len(inside) and all(map(is_sound, value, inside))
    if origin is frozenset and isinstance(value, frozenset):
        return all(is_sound(each, inside[0]) for each in value)
    if origin is not None:
        return isinstance(value, origin) and is_sound(value.value, inside[0])
    if kind is str:  # one with half of a surrogate pair cannot be written
        return type(value) is str and value.encode("utf-8", "ignore").decode() == value
    if kind in (int, float, bool):
        return type(value) is kind and (kind is not float or isfinite(value))
    if not isinstance(value, kind):
        return False
    if not (dataclasses.is_dataclass(kind) or issubclass(kind, tuple)):
        return True
    return all(is_sound(getattr(value, name), each) for name, each in _declared(kind).items())


_NONE = type(None)


@cache
def _declared(kind: type) -> dict[str, Any]:
    """The types of a record's fields; what only type checkers import is taken for None."""
    return get_type_hints(kind, localns={"Plan": _NONE})


def _with_methods(cls: type, *, frozen: bool, shown: bool, compared: bool) -> type:
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {_FROZEN: frozen, "__init__": _first_init(cls)}
    if shown:
        methods["__repr__"] = _shown([each.name for each in fields if each.repr])
    if compared:
        methods["__eq__"], hashed = _comparison([each.name for each in fields if each.compare])
        methods["__hash__"] = hashed if frozen else None
    if frozen:
        refused = _refused(cls, frozenset(each.name for each in fields))
        methods |= {"__setattr__": refused("__setattr__"), "__delattr__": refused("__delattr__")}
    # A class whose body defines `__eq__` alone has `__hash__` set to None by Python.
    own = {name for name, value in vars(cls).items() if (name, value) != ("__hash__", None)}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _first_init(cls: Any) -> Callable[..., None]:  # noqa: ANN401 (a class of fields)
    """Set the fields of the first instances of a class; its constructor is compiled later.

    Threads may do so at the same time: then more are set, or the constructor is compiled twice.
    """

    def init(self: Any, *arguments: object, **named: object) -> None:  # noqa: ANN401 (a record)
        made = vars(cls).get(_MADE, 0)
        if made < _UNCOMPILED and _are_set(self, dataclasses.fields(cls), arguments, named):
            setattr(cls, _MADE, made + 1)
            if hasattr(cls, "__post_init__"):
                self.__post_init__()
        else:
            cls.__init__ = compiled = _constructor(cls)
            compiled(self, *arguments, **named)

    return init


def _are_set(
    record: object,
    fields: tuple[dataclasses.Field[Any], ...],
    arguments: tuple[object, ...],
    named: dict[str, object],
) -> bool:
    """Set the fields of a record; no if the arguments are not those of its constructor."""
    missing = dataclasses.MISSING
    positional = [each.name for each in fields if each.init and not each.kw_only]
    given = dict(zip(positional, arguments, strict=False))
    if len(given) < len(arguments) or not given.keys().isdisjoint(named):
        return False
    given |= named
    for each in fields:
        if each.init and each.name in given:
            value = given.pop(each.name)
        elif each.default_factory is not missing:
            value = each.default_factory()
        elif not each.init:
            continue
        elif each.default is not missing:
            value = each.default
        else:
            return False
        object.__setattr__(record, each.name, value)
    return not given


def _constructor(cls: Any) -> Callable[..., None]:  # noqa: ANN401 (a class of fields)
    """The constructor that `dataclasses` would make: `__init__(self, a, b=default, *, c)`."""
    missing = dataclasses.MISSING
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": missing}
    positional, keyword_only, body = ["self"], ["*"], []
    for each in dataclasses.fields(cls):
        name, value, parameter = each.name, each.name, each.name
        if each.default is not missing:
            names[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        elif each.default_factory is not missing:
            names[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        if each.init:
            (keyword_only if each.kw_only else positional).append(parameter)
            body.append(f"_set(self, {name!r}, {value})")
        elif each.default_factory is not missing:
            body.append(f"_set(self, {name!r}, _make_{name}())")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(positional + keyword_only * (len(keyword_only) > 1))
    lines = [f"def __init__({parameters}):", *(f"    {line}" for line in body or ["pass"])]
    exec("\n".join(lines), names)  # noqa: S102 (as dataclasses does: the names are our fields')
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _comparison(
    names: list[str],
) -> tuple[Callable[[object, object], object], Callable[[object], int]]:
    """`__eq__` and `__hash__` by the values of these fields, as one tuple."""
    values: Callable[[object], tuple[object, ...]] = lambda record: tuple(  # noqa: E731
        getattr(record, name) for name in names
    )
    if len(names) > 1:  # of one name attrgetter gives the value alone
        values = attrgetter(*names)

    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def hashed(self: object) -> int:
        return hash(values(self))

    return equal, hashed


def _shown(names: list[str]) -> Callable[[object], str]:
    def shown(self: object) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({fields})"

    return shown


def _refused(cls: type, fields: frozenset[str]) -> Callable[[str], Callable[..., None]]:
    """Methods that change no field of `cls`; a subclass that is no record may have more names."""

    def refused(method: str) -> Callable[..., None]:
        def change(self: object, name: str, *value: object) -> None:
            if type(self) is cls or name in fields:
                raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")
            getattr(super(cls, self), method)(name, *value)

        return change

    return refused
