"""Rows of numbers that arrive one by one go to a .npy file whose length need not be known before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

HEADER_BYTES: Final = 128
Rows = npt.NDArray[np.floating]


def write_rows(file: BinaryIO, blocks: Iterable[Rows], *, width: int, dtype: str = "float32") -> int:
    """Write blocks (rows, width) one after the other to a file that can seek; return the number of rows.

    The header comes first in a .npy file and says how many rows there are: its place is kept free until the end.
    """
    file.write(b"\0" * HEADER_BYTES)
    rows = 0
    for block in blocks:
        file.write(np.ascontiguousarray(block, dtype=dtype).tobytes())
        rows += len(block)
    file.seek(0)
    file.write(_header(rows, width, dtype))
    return rows


def _header(rows: int, width: int, dtype: str) -> bytes:
    """Return format 1.0's header, padded to `HEADER_BYTES` as the format allows."""
    start = np.lib.format.magic(1, 0)
    fields = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (rows, width)}
    text = repr(fields).encode("latin1")
    room = HEADER_BYTES - len(start) - 2
    return start + room.to_bytes(2, "little") + text.ljust(room - 1) + b"\n"
