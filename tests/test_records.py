"""Records have the meaning of `dataclasses`, though their methods are made later."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from dataclasses import dataclass as usual
from typing import Any

import pytest

from dpdb.records import dataclass, is_frozen


class Bare:
    a: int
    b: list[int] = field(default_factory=list)
    c: str = field(default="c", compare=False, repr=False)
    d: int = field(init=False, default=4)
    e: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", self.a + 1)


def both(**settings: bool) -> list[Any]:
    return [make(**settings)(type("Bare", (), dict(vars(Bare)))) for make in (usual, dataclass)]


@pytest.mark.parametrize("act", [
    lambda kind: repr(kind(1)).partition("Bare")[2],
    lambda kind: vars(kind(1, [2], "x", e=3.0)),
    lambda kind: kind(1) == kind(1, c="other"),
    lambda kind: kind(1) == kind(2),
    lambda kind: kind(1) == 1,
    lambda kind: (kind.__hash__ is None, kind.__match_args__),
    lambda kind: vars(replace(kind(1), a=5)),
    lambda kind: [each.name for each in fields(kind)],
    lambda kind: kind(1).b is kind(1).b,
    lambda kind: kind(),
    lambda kind: kind(1, 2, 3, 4),
    lambda kind: kind(1, f=2),
    lambda kind: replace(kind(1), d=2),
    lambda kind: len({kind(1, ()), kind(1, (), "x")}),
    lambda kind: setattr(kind(1), "a", 2),
    lambda kind: delattr(kind(1), "a"),
])  # fmt: skip
@pytest.mark.parametrize("settings", [
    {}, {"frozen": True}, {"eq": False, "repr": False}, {"frozen": True, "eq": False},
    {"frozen": True, "repr": False},
])  # fmt: skip
def test_a_record_behaves_as_a_dataclass(
    act: Callable[[Any], object], settings: dict[str, bool]
) -> None:
    found = []
    for kind in both(**settings):
        try:
            shown = act(kind)
            found.append(shown if "object at" not in str(shown) else "object")
        except Exception as error:
            found.append((type(error), str(error).partition("__init__")[2]))
    assert found[0] == found[1]


@dataclass(frozen=True)
class Base:
    x: int


@dataclass(frozen=True)
class Derived(Base):
    y: int = 2


class WithHash:
    def __hash__(self) -> int:
        return 7


def test_subclasses_have_the_fields_of_both() -> None:
    assert Derived(1) == Derived(1, 2)
    assert vars(Derived(1)) == {"x": 1, "y": 2}
    assert Base(1) != Derived(1)
    assert Base(3).x == 3
    assert pickle.loads(pickle.dumps(Derived(1))) == Derived(1)
    assert hash(Derived(1)) == hash(Derived(1))
    with pytest.raises(FrozenInstanceError):
        Derived(1).y = 3  # type: ignore[misc]
    assert is_frozen(Derived)
    assert not is_frozen(dataclass(WithHash))


def test_another_thread_may_compile_the_constructor_meanwhile() -> None:
    """One thread has begun to make an instance as the other does."""
    kind = dataclass(type("Bare", (), dict(vars(Bare))))
    begun, one = kind.__init__, kind.__new__(kind)
    others = [kind(1) for _ in range(10)]
    begun(one, 1)
    assert one == others[0]
