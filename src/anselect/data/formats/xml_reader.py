"""XML from untrusted files, one block at a time: entities and external references are refused, damage is located."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException, ElementTree

from anselect.data.files import open_binary
from anselect.errors import DataError

MAX_PIECE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Block:
    """One element with what is in it, and where its parts begin."""

    element: Element
    path: Path
    lines: dict[Element, int]

    def error(self, element: Element, message: str) -> DataError:
        """Return the DataError that says this of an element of the block."""
        return DataError(message, path=self.path, line=self.lines.get(element))


def read_blocks(path: Path, tag: str) -> Iterator[Block]:
    """Yield each element of that name, whole, and forget it afterwards; a DTD without entities is accepted.

    Raises DataError for XML that is cut short or not well formed, and for any entity declaration or external entity.
    """
    with open_binary(path) as file:
        lines = _Lines(file)
        try:
            yield from _blocks(lines, path, tag)
        except ParseError as error:
            message = _what_is_wrong(error, lines)
            raise DataError(message, path=path, line=error.position[0]) from error
        except DefusedXmlException as error:
            what = type(error).__name__
            message = f"expected XML without entities, got {what}: such a file can attack its reader, do not use it"
            raise DataError(message, path=path, line=lines.number) from error
        except (LookupError, ValueError) as error:
            message = f"expected XML in an encoding that can be read, got '{error}': convert it to UTF-8"
            raise DataError(message, path=path, line=lines.number) from error


class _Lines:
    """A file that hands out at most one line a read, so that the parser is never ahead of the line number."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ended = True
        self.number = 0
        self.piece = b""

    def read(self, _size: int) -> bytes:
        """Return the next line, or a piece of it when it is very long."""
        piece = self._file.readline(MAX_PIECE_BYTES)
        if piece:
            self.number += self._ended
            self.piece = piece
        self._ended = piece.endswith(b"\n")
        return piece


def _what_is_wrong(error: ParseError, lines: _Lines) -> str:
    """Say what expat stumbled over; it calls a byte that is not UTF-8 an invalid token, at the place of the byte."""
    try:
        lines.piece.decode()
    except UnicodeDecodeError as undecoded:
        column = len(lines.piece[: undecoded.start].decode())
        if error.position == (lines.number, column):
            return f"expected utf-8 text, got byte 0x{lines.piece[undecoded.start]:02x}: convert the file to utf-8"
    # expat's message ends in ": line 3, column 7"; the line stands at the front already.
    what = str(error).partition(":")[0]
    return f"expected well-formed XML, got '{what}': is the file whole and XML? fetch it again"


def _blocks(lines: _Lines, path: Path, tag: str) -> Iterator[Block]:
    root: Element | None = None
    starts: dict[Element, int] = {}
    events = ElementTree.iterparse(lines, events=("start", "end"), forbid_entities=True, forbid_external=True)
    for event, element in events:
        root = element if root is None else root
        if event == "start":
            starts[element] = lines.number
        elif element.tag == tag:
            yield Block(element, path, starts)
            starts = {}
            root.clear()
