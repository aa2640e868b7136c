"""The hardened XML reader: blocks one at a time, attacks refused, damage located."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from anselect.data.formats.xml_reader import MAX_PIECE_BYTES, read_blocks
from anselect.errors import DataError, MissingFileError


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "x.xml"
    path.write_bytes(text.encode(encoding))
    return path


def test_read_blocks_knows_the_line_of_each_part(tmp_path: Path) -> None:
    path = write(tmp_path, "<r>\n<b\nid='1'><c>\n\none</c></b>\n<o><b id='2'>\n<c/></b></o>\n</r>\n")
    found = [
        (block.element.get("id"), [block.lines[part] for part in block.element.iter()])
        for block in read_blocks(path, "b")
    ]
    assert found == [("1", [3, 3]), ("2", [6, 7])]


def test_read_blocks_keeps_a_block_whole_only_until_the_next(tmp_path: Path) -> None:
    path = write(tmp_path, "<r>" + "<b><c>text</c></b>" * 3 + "</r>")
    blocks = list(read_blocks(path, "b"))
    assert len(blocks) == 3
    assert all(len(block.lines) < 4 for block in blocks)


def test_read_blocks_accepts_gzip_and_a_dtd_without_entities(tmp_path: Path) -> None:
    text = "<!DOCTYPE r [\n<!ELEMENT r (b*)>\n<!ATTLIST b id CDATA #REQUIRED>\n]>\n<r><b id='1'>&amp;&#233;</b></r>"
    (tmp_path / "x.xml.gz").write_bytes(gzip.compress(text.encode()))
    assert [block.element.text for block in read_blocks(tmp_path / "x.xml.gz", "b")] == ["&é"]


def test_read_blocks_follows_very_long_lines(tmp_path: Path) -> None:
    long = "x" * (3 * MAX_PIECE_BYTES)
    (first, second) = read_blocks(write(tmp_path, f"<r>\n<b>{long}</b>\n<b/></r>"), "b")
    assert (first.element.text, first.lines[first.element]) == (long, 2)
    assert second.lines[second.element] == 3


BOMB = '<!DOCTYPE r [\n<!ENTITY a "ha">\n<!ENTITY b "&a;&a;&a;&a;">\n]>\n<r><b>&b;</b></r>'
REFUSED = {
    "bomb": (BOMB, ":2: expected XML without entities, got EntitiesForbidden: "),
    "external_file": (
        '<!DOCTYPE r [\n<!ENTITY a SYSTEM "file:///etc/passwd">\n]>\n<r><b>&a;</b></r>',
        ":2: expected XML without entities, got EntitiesForbidden: ",
    ),
    "parameter_entity": (
        '<!DOCTYPE r [\n<!ENTITY % a SYSTEM "http://localhost/a.dtd">\n%a;\n]>\n<r><b/></r>',
        ":2: expected XML without entities, got EntitiesForbidden: ",
    ),
    "undeclared_entity": ("<r>\n<b>&a;</b></r>", ":2: expected well-formed XML, got 'undefined entity"),
    "truncated": ("<r>\n<b></b>\n<b>\n", ":4: expected well-formed XML, got 'no element found': "),
    "cut_in_tag": ("<r>\n<b", ":2: expected well-formed XML, got 'unclosed token': "),
    "mismatched": ("<r>\n<b></c>", ":2: expected well-formed XML, got 'mismatched tag': "),
    "empty": ("", ":1: expected well-formed XML, got 'no element found': "),
    "binary": ("\x7fELF\0\0", ":1: expected well-formed XML, got 'not well-formed (invalid token)': "),
    "unknown_encoding": ('<?xml version="1.0" encoding="klingon"?>\n<r/>', ":1: expected "),
    "wide_encoding": (
        '<?xml version="1.0" encoding="big5"?>\n<r/>',
        ":1: expected XML in an encoding that can be read",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_read_blocks_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_blocks(write(tmp_path, text), "b"))
    assert f"x.xml{message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_blocks_refuses_bytes_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes("<r>\n<b>é ".encode() + "Zoé!</b></r>".encode("latin-1"))
    with pytest.raises(DataError, match=r"x.xml:2: expected utf-8 text, got byte 0xe9: convert the file to utf-8"):
        list(read_blocks(path, "b"))


def test_read_blocks_does_not_blame_an_encoding_that_is_declared(tmp_path: Path) -> None:
    head = '<?xml version="1.0" encoding="iso-8859-1"?>\n'
    [block] = read_blocks(write(tmp_path, f"{head}<r><b>Zoé!</b></r>", "latin-1"), "b")
    assert block.element.text == "Zoé!"
    with pytest.raises(DataError, match=r"x.xml:2: expected well-formed XML, got 'not well-formed"):
        list(read_blocks(write(tmp_path, f"{head}<r><b>Zoé & Max</b></r>", "latin-1"), "b"))


def test_read_blocks_never_fetches_a_dtd(tmp_path: Path) -> None:
    # The name would resolve to a file that is no DTD: were it opened, reading would fail.
    text = f'<!DOCTYPE r SYSTEM "{tmp_path}/x.xml">\n<r><b>1</b></r>'
    assert [block.element.text for block in read_blocks(write(tmp_path, text), "b")] == ["1"]


def test_read_blocks_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        list(read_blocks(tmp_path / "none.xml", "b"))
