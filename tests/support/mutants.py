"""Mutants: the product with one known fault brought back, and the test that must notice it.

A mutant is a replacement in the source of one function. The changed source is compiled, and the
function that everybody holds already gets its code; so it does not matter who imported it from
where. Then the test runs, in a forked child that takes all of this with it when it ends.
"""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.support.ledger_trials import forked

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Change:
    """A part of a function's source that is there once, and what stands there instead."""

    place: str
    """The function, as `module:name` without the `dpdb.`."""
    right: str
    wrong: str


@dataclass(frozen=True)
class Mutant:
    """One fault: what it is, how it is made, and which test fails with it."""

    fault: str
    """What is wrong, as the manual says it."""
    attack: str
    """The attack that succeeds then: how its row in the manual begins."""
    changes: Sequence[Change]
    test: str
    """The test that fails, as pytest names it, without the `tests/`."""
    slow: bool = False
    """Whether the test takes more than a second."""

    def __str__(self) -> str:
        return self.fault

    def bring_back(self) -> None:
        """Put the fault into this process, for good."""
        for place, text in self.sources():
            _put(place, text)

    def sources(self) -> Iterator[tuple[str, str]]:
        """The functions that it changes, with their sources as they are with the fault."""
        for place, changes in groupby(self.changes, key=lambda change: change.place):
            text = inspect.getsource(_found(place)[1])
            for change in changes:
                assert text.count(change.right) == 1, f"{place}: {change.right!r} is not there once"
                text = text.replace(change.right, change.wrong)
            yield place, text


def _put(place: str, text: str) -> None:
    """Compile a function from changed source, and give the one that is there its code."""
    module, function = _found(place)
    lines, first = inspect.getsourcelines(function)
    source = inspect.getsource(module).splitlines(keepends=True)
    whole = "".join([*source[: first - 1], text, *source[first - 1 + len(lines) :]])
    compiled = compile(whole, str(module.__file__), "exec", dont_inherit=True)
    [code] = [
        each for each in _codes(compiled) if each.co_qualname == function.__code__.co_qualname
    ]
    function.__code__ = code


def _found(place: str) -> tuple[ModuleType, FunctionType]:
    """The module and the function of a place."""
    module_name, _, name = place.partition(":")
    module = import_module(f"dpdb.{module_name}")
    return module, _function(module, name)


def _function(module: Any, name: str) -> FunctionType:
    """The function of this qualified name, without what decorates it."""
    found: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    match found:
        case property(fget=function) if function is not None:
            found = function
        case cached_property(func=function):
            found = function
        case classmethod() | staticmethod():
            found = found.__func__
    found = inspect.unwrap(found)
    assert isinstance(found, FunctionType), name
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Outcomes:
    """A plugin of pytest that notes how tests ended."""

    def __init__(self) -> None:
        self.passed = 0
        self.refuted: list[str] = []
        self.broken: list[str] = []

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """A test says no by an assertion or by pytest.fail; whatever else it raises is a crash."""
        if call.excinfo is None:
            self.passed += call.when == "call"
        elif call.when == "call" and call.excinfo.errisinstance(
            (AssertionError, pytest.fail.Exception)
        ):
            self.refuted.append(call.excinfo.exconly())
        else:
            self.broken.append(f"{item.nodeid} {call.when}: {call.excinfo.exconly()}")


def outcome(test: str, prepare: Callable[[], None] = lambda: None) -> str:
    """How a test ends in a child, after `prepare`: `passed`, `failed: …`, or what went wrong."""
    reading, writing = os.pipe()

    def work() -> None:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.write(writing, _outcome_here(test, prepare).encode()[:4000])

    child = forked(work)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said or "the child ended without a word"


def _outcome_here(test: str, prepare: Callable[[], None]) -> str:
    try:
        prepare()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    outcomes = _Outcomes()
    options = [f"-pno:{plugin}" for plugin in ("cacheprovider", "unraisableexception")]
    options += ["-x", "-q", "--assert=plain", "--tb=native"]  # nobody reads a longer traceback
    options += [f"--rootdir={ROOT}", f"{ROOT}/tests/{test}"]
    gc.freeze()  # what the parent holds is not looked through again
    code = pytest.main(options, plugins=[outcomes])
    if outcomes.broken:
        return outcomes.broken[0]
    if outcomes.refuted:
        return f"failed: {outcomes.refuted[0]}"
    return "passed" if outcomes.passed and not code else f"pytest ended with {code}"
