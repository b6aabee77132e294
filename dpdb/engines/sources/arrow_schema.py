"""The types in which columns of Parquet files are read, so that nobody has to convert them.

Arrow makes 128 bits of every decimal, and has 32 bits for the place of a text, unless the file says
that its writer had other types. So what a file says of itself is given to the reader with types
added: decimals have as many bits as in the file, and places of texts have 64.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from io import BytesIO
from typing import TYPE_CHECKING

import pyarrow
from pyarrow import parquet
from pyarrow.types import is_decimal, is_string

from dpdb.engines.sources.arrow_cells import TEXTS

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_AS_STORED = {"INT32": pyarrow.decimal32, "INT64": pyarrow.decimal64}
_MAGIC, _LENGTH = b"PAR1", 4
"""What a file begins and ends with, and the bytes of the footer's length before the end."""
_KEY = b"ARROW:schema"
"""The key under which Arrow looks for the types that a writer had."""
_STOP = b"\0"
"""The end of a structure in Thrift's compact protocol."""
_LIST_OF_ONE_PAIR, _TEXT = bytes([0x09, 2 * 5, 0x1C]), b"\x18"
"""In the same protocol the fifth field of the footer, with a list of one pair; a text follows."""


def with_types_to_read(metadata: FileMetaData, names: Collection[str]) -> FileMetaData:
    """What a file says of itself, with the types in which columns called `names` are read.

    Other columns are read as before, and so are texts in a dictionary.
    """
    written = metadata.schema.to_arrow_schema()
    columns = map(metadata.schema.column, range(metadata.num_columns))
    stored = {each.path: each.physical_type for each in columns if each.path in names}
    types = [_to_read(field.type, stored.get(field.name)) for field in written]
    schema = pyarrow.schema(zip(written.names, types, strict=True))
    if schema.types == written.types:
        return metadata
    file = BytesIO()
    metadata.write_metadata_file(file)
    footer = file.getvalue()[len(_MAGIC) : -_LENGTH - len(_MAGIC)].removesuffix(_STOP)
    # A field that is there twice is what it is the second time.
    pair = _text(_KEY) + _text(b64encode(schema.serialize().to_pybytes())) + _STOP
    footer += _LIST_OF_ONE_PAIR + pair + _STOP
    ended = footer + len(footer).to_bytes(_LENGTH, "little") + _MAGIC
    return parquet.read_metadata(BytesIO(_MAGIC + ended))


def _to_read(kind: pyarrow.DataType, stored: str | None) -> pyarrow.DataType:
    """The type for the same decimals as they are stored, or for texts; else the type itself."""
    if is_string(kind) and stored is not None:
        return TEXTS
    if not is_decimal(kind) or stored not in _AS_STORED:
        return kind
    return _AS_STORED[stored](kind.precision, kind.scale)


def _text(content: bytes) -> bytes:
    """The next text of a structure: its length, seven bits at a time, and the content."""
    length, left = b"", len(content)
    while left >= 0x80:
        length += bytes([left & 0x7F | 0x80])
        left >>= 7
    return _TEXT + length + bytes([left]) + content
