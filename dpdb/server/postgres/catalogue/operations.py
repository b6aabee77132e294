"""Casts of the catalogue, and matches with patterns, by re2, whose time is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from dpdb.policy.catalog import Kind
from dpdb.server.postgres.catalogue.functions import Names
from dpdb.server.postgres.catalogue.parts import Bound, Env, Work, in_kind, numbered, refused
from dpdb.server.postgres.protocol import Refusal

_KINDS = {
    **dict.fromkeys(("int", "bigint", "smallint", "oid", "integer", "xid", "cid"), Kind.INTEGER),
    **dict.fromkeys(("regclass", "regtype", "regnamespace", "regrole"), Kind.INTEGER),
    **dict.fromkeys(("double precision", "real", "decimal", "numeric"), Kind.NUMBER),
    "boolean": Kind.BOOLEAN,
}
"""The kinds that casts make; all others make texts."""
_LONGEST_PATTERN = 1000
_LONGEST_MATCHED = 1000
_COUNTED = re.compile(r"\{[0-9,]")
"""A counted repetition, whose automaton is larger than its text."""
_MEMORY = 1 << 18
"""The bytes of a pattern's automaton; one that needs more is not supported."""
_COMPILING = 50
"""The steps of compiling a pattern."""


def cast(node: exp.Cast, bound: Bound, names: Names) -> Bound:
    """A value in another type; names of tables and types become their numbers."""
    name = node.to.sql("postgres").lower()
    kind, inner, told = _KINDS.get(name, Kind.TEXT), bound.value, bound.shown
    numbers: Mapping[str, Callable[[str], int | None]] = {
        "regclass": names.relation,
        "regtype": names.type,
        "regnamespace": names.schemas.get,
    }
    if name in numbers:
        find = numbers[name]
        return Bound(kind, lambda env: numbered(inner(env), find, name), _shown(name, names))
    if kind is Kind.TEXT and told is not None:
        return Bound(kind, lambda env: None if (n := inner(env)) is None else told(n))
    if name == "array" or name.endswith("[]"):
        return bound
    return Bound(kind, in_kind(bound, kind))


def _shown(name: str, names: Names) -> Callable[[Any], str]:
    known: Mapping[str, Mapping[int, str]] = {
        "regclass": {number: told for told, number in names.relations.items()},
        "regtype": names.type_names,
        "regnamespace": {number: told for told, number in names.schemas.items()},
    }
    return lambda number: known[name].get(number, str(number))


def matcher(node: exp.Expr, bind: Callable[[exp.Expr], Bound], work: Work) -> Bound:
    """Whether a text matches a pattern."""
    escape = "\\"
    if isinstance(node, exp.Escape):
        escape, node = node.expression.name, node.this
    text, pattern = bind(node.this), bind(node.expression)
    negative = bool(node.args.get("negate"))
    folds = isinstance(node, exp.ILike | exp.RegexpILike)
    if isinstance(node, exp.Operator):
        sign = str(node.args.get("operator")).rpartition(".")[2].strip()
        if sign.strip("!*") != "~":
            raise refused(node)
        negative, folds = sign.startswith("!"), sign.endswith("*")
    is_like = isinstance(node, exp.Like | exp.ILike)

    @lru_cache(16)
    def compiled(written: str) -> Any:  # noqa: ANN401
        work.spend(_COMPILING)
        if _COUNTED.search(written) and not is_like:
            raise Refusal("2201B", "this pattern is not supported", "repeat without {…}")
        return _compiled(_like(written, escape) if is_like else written, folds=folds)

    def value(env: Env) -> bool | None:
        told, written = text.value(env), pattern.value(env)
        if told is None or written is None:
            return None
        if len(told) > _LONGEST_MATCHED:
            raise Refusal("54001", f"a text of {_LONGEST_MATCHED} characters or more is matched")
        work.spend(1 + len(told) * len(written) // 100)
        return (compiled(written).search(told) is None) is negative

    return Bound(Kind.BOOLEAN, value)


def _compiled(pattern: str, *, folds: bool) -> Any:  # noqa: ANN401 (of a library without types)
    import re2  # noqa: PLC0415 (few ask for it)

    if len(pattern) > _LONGEST_PATTERN:
        raise Refusal("54001", "this pattern is too long")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(("(?is)" if folds else "(?s)") + pattern, options)
    except re2.error:
        raise Refusal("2201B", "this pattern is not supported") from None


def _like(pattern: str, escape: str) -> str:
    """The regular expression of a pattern of LIKE."""
    import re2  # noqa: PLC0415

    parts, characters = ["^"], iter(pattern)
    for each in characters:
        if each == escape:
            parts.append(re2.escape(next(characters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(each) or re2.escape(each))
    return "".join([*parts, "$"])
