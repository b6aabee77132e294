"""Arrays that write down what is done with them, so that steps are counted with no clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np


class Noted(np.ndarray):
    """An array that writes down what is done with it and with what comes of it."""

    notes: ClassVar[list[str]] = []

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **rest: Any
    ) -> Any:
        Noted.notes.append(f"{ufunc.__name__} {method}")
        if out is not None:
            rest["out"] = _plain(out)
        return noted(getattr(ufunc, method)(*_plain(inputs), **_plain(rest)))

    def __array_function__(
        self, function: Callable[..., Any], types: Any, inputs: Any, rest: Any
    ) -> Any:
        Noted.notes.append(function.__name__)
        return noted(function(*_plain(inputs), **_plain(rest)))

    def __getitem__(self, key: Any) -> Any:
        Noted.notes.append("getitem")
        return noted(_plain(self)[_plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        Noted.notes.append("setitem")
        _plain(self)[_plain(key)] = _plain(value)

    def astype(self, dtype: Any, **rest: Any) -> Any:
        Noted.notes.append("astype")
        return noted(_plain(self).astype(dtype, **rest))

    def take(self, indices: Any, **rest: Any) -> Any:
        Noted.notes.append("take")
        return noted(_plain(self).take(_plain(indices), **rest))


def _plain(value: Any) -> Any:
    match value:
        case Noted():
            return value.view(np.ndarray)
        case list() | tuple():
            return type(value)(_plain(part) for part in value)
        case dict():
            return {name: _plain(part) for name, part in value.items()}
    return value


def noted(value: Any) -> Any:
    match value:
        case np.ndarray():
            return value.view(Noted)
        case list() | tuple():
            return type(value)(noted(part) for part in value)
    return value
