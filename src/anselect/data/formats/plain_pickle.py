"""A pickle of dict, list, str and int in, the value out; a pickle with anything else is refused before it is loaded."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any, Final

from anselect.errors import DataError

# Opcodes of pickle protocols 0 to 5 that make or remember a dict, list, str or int, and no others.
_FRAME: Final = frozenset(["PROTO", "FRAME", "MARK", "STOP"])
_MEMO_PUT: Final = frozenset(["PUT", "BINPUT", "LONG_BINPUT"])
_MEMO: Final = frozenset(["MEMOIZE", "GET", "BINGET", "LONG_BINGET"]) | _MEMO_PUT
_CONTAINERS: Final = frozenset(["EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST", "APPEND", "APPENDS"])
_INTEGERS: Final = frozenset(["INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"])
_STRINGS: Final = frozenset(
    ["STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"]
)
DAMAGED: Final = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError),
    *(OverflowError, MemoryError),
)
"""What the loader raises for a pickle that is not whole."""
ADMITTED: Final = _FRAME | _MEMO | _CONTAINERS | _INTEGERS | _STRINGS


def load_plain_pickle(data: bytes, path: Path, *, encoding: str = "utf-8") -> Any:  # noqa: ANN401 - the caller checks
    """Return the pickled value; `encoding` is that of the byte strings in a Python 2 pickle.

    Raises DataError for a pickle that names a class or function, holds any other type, is damaged, or asks for
    memory out of proportion to its size.
    """
    _check_opcodes(data, path)
    try:
        return PlainUnpickler(io.BytesIO(data), encoding=encoding).load()
    except UnicodeDecodeError as error:
        message = f"expected {encoding} strings in the pickle, got '{error.reason}': name the encoding they are in"
        raise DataError(message, path=path) from error
    except DAMAGED as error:
        raise DataError(f"expected a whole pickle, got '{error}': fetch the file again", path=path) from error


class PlainUnpickler(pickle.Unpickler):
    """The second lock: were an opcode to slip through the check, it would still find no class or function."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:  # noqa: ANN401 - as in the base class
        """Refuse."""
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not admitted")

    def persistent_load(self, pid: Any, /) -> Any:  # noqa: ANN401 - as in the base class
        """Refuse."""
        raise pickle.UnpicklingError("persistent ids are not admitted")


def _check_opcodes(data: bytes, path: Path) -> None:
    """Walk through the pickle without running it."""
    try:
        for count, (opcode, argument, place) in enumerate(pickletools.genops(data)):
            if opcode.name not in ADMITTED:
                raise DataError(_refusal(opcode.name, argument, place), path=path)
            # A pickler numbers what it remembers one by one; a huge number would make the loader reserve gigabytes.
            if opcode.name in _MEMO_PUT and int(argument or 0) > count:
                message = f"expected a pickle, got a jump to memo number {argument} at byte {place}"
                raise DataError(f"{message}: is this the published file?", path=path)
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise DataError(f"expected a whole pickle, got '{error}': fetch the file again", path=path) from error


def _refusal(name: str, argument: object, place: int | None) -> str:
    what = name if argument is None else f"{name} {argument!r:.60}"
    return f"expected a pickle of dict, list, str and int, got {what} at byte {place}: it may run code, do not use it"
