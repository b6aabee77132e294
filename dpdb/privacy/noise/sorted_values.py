"""What a mechanism may ask of the values that it selects from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy.typing as npt


class SortedValues(Protocol):
    """Whole numbers in ascending order: an array, or what an engine keeps in place of one."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, ranks: Any, /) -> Any:  # noqa: ANN401 (as of an array)
        """The values of some ranks, or the value of one."""

    def searchsorted(self, v: npt.NDArray[Any] | int, /, side: Any = ...) -> Any:  # noqa: ANN401
        """How many are less than each number; with the side `right`, also those equal to it."""
