"""Records: frozen dataclasses, which are never changed but made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


def changed(record: Record, **fields: object) -> Record:
    """The record with these fields; the same object where it has them, with what it keeps."""
    for name, value in fields.items():
        if getattr(record, name) is not value:
            return replace(record, **fields)
    return record
