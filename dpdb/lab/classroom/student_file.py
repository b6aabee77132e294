"""In the student's process: what a file holds, and where in it something went wrong."""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from dpdb.lab.attack import Attack
from dpdb.lab.classroom.plain import Unfit
from dpdb.lab.mechanism import Mechanism


def module_of(path: Path) -> ModuleType:
    """The module that a file of Python is."""
    loader = SourceFileLoader(path.stem, str(path))
    spec = ModuleSpec(path.stem, loader, origin=str(path))
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def attack_of(module: ModuleType) -> Attack:
    """The only attack that is written in a module."""
    written = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Attack)
        and member.__module__ == module.__name__
    ]
    if not written:
        raise Unfit("there is no attack in it: no class that is derived from Attack")
    if len(written) > 1:
        names = " and ".join(each.__name__ for each in written)
        raise Unfit(f"there is more than one attack in it: {names}")
    [own] = written
    missing = own.__abstractmethods__
    if missing:
        raise Unfit(f"{own.__name__} does not define {' and '.join(sorted(missing))}")
    return own()


def mechanism_of(module: ModuleType) -> Mechanism:
    """The function `mechanism` of a module, with its EPSILON and its VALUES if it has them."""
    function = getattr(module, "mechanism", None)
    if not callable(function):
        raise Unfit("there is no function `mechanism(values, epsilon, rng)` in it")
    epsilon = getattr(module, "EPSILON", Mechanism.epsilon)
    values = getattr(module, "VALUES", Mechanism.values)
    if not isinstance(epsilon, int | float) or not 0 < epsilon < 1000:
        raise Unfit("EPSILON is a number above 0")
    listed = isinstance(values, Sequence) and bool(values)
    if not listed or not all(isinstance(value, int | float) for value in values):
        raise Unfit("VALUES is a list of numbers, of which the last one is the person's")
    return Mechanism(function, float(epsilon), tuple(values))


def failure(error: BaseException, path: Path) -> str:
    """What went wrong, in words, with the last line of the student's file that led to it."""
    name = type(error).__name__
    told = f"{name}: {str(error).splitlines()[0]}" if str(error).strip() else name
    if isinstance(error, Unfit):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {name}: {error.msg}{_quoted(error.text)}"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    if not own:
        return told
    last = own[-1]
    where = f"line {last.lineno}" + ("" if last.name == "<module>" else f", in {last.name}")
    return f"{where}: {told}{_quoted(linecache.getline(str(path), last.lineno or 0))}"


def _quoted(line: str | None) -> str:
    return f"\n  {line.strip()}" if line and line.strip() else ""
