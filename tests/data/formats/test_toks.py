"""Folders of a.toks, b.toks, id.txt and sim.txt, written here; the real ones are in test_originals."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from anselect.data.formats.toks import read_label_rows, read_toks, write_toks
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

FILES = {
    "id.txt": "1.4\n1.4\n2\n",
    "a.toks": "who did n't ?\nwho did n't ?\nwhy ?\n",
    "b.toks": "bell \u00a0 -lrb- he -rrb- \nno .\n\n",
    "sim.txt": "1\n0\n0\n",
}


def folder_with(folder: Path, **changed: str) -> Path:
    names = {name.replace(".", "_"): name for name in FILES}
    contents = FILES | {names[key]: text for key, text in changed.items()}
    for name, text in contents.items():
        (folder / name).write_bytes(text.encode())
    return folder


def test_read_toks_counts_candidates_and_ignores_other_files(tmp_path: Path) -> None:
    (folder_with(tmp_path) / "boundary.txt").write_text("0\n2\n3\n")
    assert list(read_toks(tmp_path)) == [
        Question("1.4", "who did n't ?", (Candidate("1.4-0", "bell -lrb- he -rrb-", 1), Candidate("1.4-1", "no .", 0))),
        Question("2", "why ?", (Candidate("2-0", "", 0),)),
    ]


def test_read_toks_reads_gzip(tmp_path: Path) -> None:
    plain = list(read_toks(folder_with(tmp_path)))
    for name in FILES:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        (tmp_path / name).unlink()
        assert list(read_toks(tmp_path)) == plain


def test_read_toks_detokenizes_on_request(tmp_path: Path) -> None:
    question = next(read_toks(folder_with(tmp_path), detokenize=True))
    assert (question.text, question.candidates[0].text) == ("who didn't?", "bell (he)")


def test_read_label_rows_needs_no_candidates(tmp_path: Path) -> None:
    (folder_with(tmp_path) / "b.toks").unlink()
    assert [tuple(row) for row in read_label_rows(tmp_path)][1:] == [
        (2, "1.4", "who did n't ?", 0),
        (3, "2", "why ?", 0),
    ]


BAD = {
    "short_file": ({"b_toks": "x\ny\n"}, "b.toks:3: expected as many lines as the files beside it, got the end"),
    "short_ids": ({"id_txt": "1.4\n"}, "id.txt:2: expected as many lines as the files beside it, got the end"),
    "label_2": ({"sim_txt": "1\n2\n0\n"}, "sim.txt:2: expected label 0 or 1, got '2': "),
    "similarity": ({"sim_txt": "0.5\n2\n0\n"}, "sim.txt:1: expected label 0 or 1, got '0.5': "),
    "empty_id": ({"id_txt": "1.4\n1.4\n\n"}, "id.txt:3: expected a question id, got none: "),
    "id_comes_back": (
        {"id_txt": "1.4\n2\n1.4\n"},
        "id.txt:3: expected a new question id, got '1.4' again: keep the rows",
    ),
    "text_changes": (
        {"id_txt": "1.4\n1.4\n1.4\n"},
        "id.txt:3: expected the question text \"who did n't ?\", got 'why ?'",
    ),
    "all_empty": (
        dict.fromkeys(["id_txt", "a_toks", "b_toks", "sim_txt"], ""),
        "id.txt:1: expected at least one question",
    ),
    "binary": ({"b_toks": "\0\n\n\n"}, "b.toks:1: expected text, got binary"),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_read_toks_refuses(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_toks(folder_with(tmp_path, **changed)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_toks_refuses_wrong_encoding(tmp_path: Path) -> None:
    (folder_with(tmp_path) / "a.toks").write_bytes("who\nZoé\nwhy\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"a.toks:2: expected utf-8 text, got byte 0xe9"):
        list(read_toks(tmp_path))


def test_read_toks_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none: expected a folder with id.txt, .*no such folder"):
        list(read_toks(tmp_path / "none"))
    with pytest.raises(MissingFileError, match=r"expected a folder .*, is a file"):
        list(read_toks(folder_with(tmp_path) / "a.toks"))
    (tmp_path / "sim.txt").unlink()
    with pytest.raises(MissingFileError, match=r"got no sim.txt: add the file"):
        list(read_toks(tmp_path))


def test_write_toks_keeps_case_and_makes_white_space_one_blank(tmp_path: Path) -> None:
    candidates = (Candidate("x", "In\n\n1876 .", 1), Candidate("y", "", 0))
    write_toks([Question("q", "When  was\tit ?", candidates), Question("none", "No candidates ?")], tmp_path / "new")
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert written == {
        "id.txt": "q\nq\n",
        "a.toks": "When was it ?\nWhen was it ?\n",
        "b.toks": "In 1876 .\n\n",
        "sim.txt": "1\n0\n",
    }


def test_write_toks_refuses_a_missing_label_and_leaves_no_file(tmp_path: Path) -> None:
    good = Question("p", "?", (Candidate("c", "So.", 1),))
    with pytest.raises(DataError, match="question 'q', candidate 'c': expected label 0 or 1, got None"):
        write_toks([good, Question("q", "?", (Candidate("c", "So."),))], tmp_path)
    assert list(tmp_path.iterdir()) == []
