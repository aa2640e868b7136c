"""TrecQA's pseudo-XML, small files written here; the real ones are in test_originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.formats.trecqa_xml import read_trecqa_xml, write_trecqa_xml
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

QUESTION = "<question>\nWho\tdid\tn't\t?\nWP\tVBD\tRB\t.\nSUB\tROOT\tVMOD\tP\n2\t0\t2\t2\n-\t-\t-\t-\n</question>\n"
POSITIVE = (
    "<positive>\nAT&T\t<b>\tdid\t-LRB-\tn't\t-RRB-\nNNP\tX\tVBD\t-LRB-\tRB\t-RRB-\nSUB\tX\tROOT\tP\tVMOD\tP\n"
    "3\t1\t0\t3\t3\t3\nORG-B\t-\t-\t-\t-\t-\nAT&T\t#\tdid\tn't\t\n1\t#\t3\t5\t\n</positive>\n"
)
NEGATIVE = "<negative>\nNo\t.\nUH\t.\nROOT\tP\n0\t1\n-\t-\n</negative>\n"
BLOCK = f"<QApairs id='1.4'>\n{QUESTION}{POSITIVE}{NEGATIVE}</QApairs>\n"
EMPTY = f"<QApairs id='2'>\n{QUESTION}</QApairs>\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "t.xml"
    path.write_bytes(text.encode())
    return path


def test_read_trecqa_xml_keeps_layers_answers_and_unescaped_signs(tmp_path: Path) -> None:
    question, empty = read_trecqa_xml(write(tmp_path, BLOCK + EMPTY))
    assert (question.id, question.text, question.metadata["head"]) == ("1.4", "Who did n't ?", "2 0 2 2")
    positive, negative = question.candidates
    assert (positive.id, positive.text, positive.label) == ("1.4-0", "AT&T <b> did -LRB- n't -RRB-", 1)
    assert positive.metadata == {
        "pos": "NNP X VBD -LRB- RB -RRB-",
        "dep": "SUB X ROOT P VMOD P",
        "head": "3 1 0 3 3 3",
        "ner": "ORG-B - - - - -",
        "answer": "AT&T # did n't",
        "answer_positions": "1 # 3 5",
    }
    assert (negative.id, negative.text, negative.label) == ("1.4-1", "No .", 0)
    assert set(negative.metadata) == {"pos", "dep", "head", "ner"}
    assert (empty.id, empty.candidates) == ("2", ())


def test_read_trecqa_xml_detokenizes_texts_and_answers_on_request(tmp_path: Path) -> None:
    question = next(read_trecqa_xml(write(tmp_path, BLOCK), detokenize=True))
    positive = question.candidates[0]
    assert question.text == "Who didn't?"
    assert positive.text == "AT&T <b> did (n't)"
    assert positive.metadata["answer"] == "AT&T # didn't"
    assert positive.metadata["tokens"] == "AT&T <b> did -LRB- n't -RRB-"


def test_read_trecqa_xml_accepts_crlf_blank_lines_and_blocks_without_lines(tmp_path: Path) -> None:
    text = f'<QApairs id="7">\n\n{QUESTION}\n<negative>\n</negative>\n</QApairs>\n\n'
    (question,) = read_trecqa_xml(write(tmp_path, text.replace("\n", "\r\n")))
    assert question.candidates == (Candidate("7-0", "", 0),)


BAD = {
    "empty": ("", ":1: expected at least one question, got none: "),
    "other_file": ("Q1\tWho?\n", r":1: expected <QApairs id='…'>, got 'Q1"),
    "cut_in_block": (BLOCK.removesuffix("</QApairs>\n"), ":24: expected </QApairs>, got the end of the file: "),
    "cut_in_sentence": (BLOCK[: BLOCK.index("ORG-B")], ":13: expected </positive>, got the end of the file: "),
    "cut_before_question": ("<QApairs id='1'>\n", ":1: expected <question>, got the end of the file: "),
    "no_question": (BLOCK.replace(QUESTION, ""), ":2: expected <question>, got '<positive>': "),
    "missing_layer": (BLOCK.replace("SUB\tROOT\tVMOD\tP\n", ""), ":7: expected 5 lines in <question>, got 4: "),
    "missing_value": (BLOCK.replace("UH\t.\n", "UH\n"), ":20: expected 2 tab-separated values, one a word, got 1: "),
    "unknown_label": (
        BLOCK.replace("<negative>", "<maybe>"),
        ":18: expected <positive>, <negative> or </QApairs>, got '<maybe>': ",
    ),
    "not_closed": (BLOCK.replace("</positive>\n", ""), ":17: expected </positive>, got '<negative>': "),
    "id_twice": (BLOCK + BLOCK, ":26: expected a new question id, got '1.4' again: "),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_read_trecqa_xml_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_trecqa_xml(write(tmp_path, text)))
    assert f"t.xml{message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_trecqa_xml_refuses_binary_encoding_and_absence(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    path.write_bytes(BLOCK.encode() + b"\0\0\n")
    with pytest.raises(DataError, match=r"t.xml:26: expected text, got binary"):
        list(read_trecqa_xml(path))
    path.write_bytes(BLOCK.replace("AT&T", "Zoé").encode("latin-1"))
    with pytest.raises(DataError, match=r"t.xml:10: expected utf-8 text, got byte 0xe9"):
        list(read_trecqa_xml(path))
    with pytest.raises(MissingFileError, match="no such file"):
        list(read_trecqa_xml(tmp_path / "none.xml"))


@pytest.mark.parametrize("detokenize", [False, True])
def test_write_trecqa_xml_gives_back_the_source(tmp_path: Path, detokenize: bool) -> None:
    questions = list(read_trecqa_xml(write(tmp_path, BLOCK + EMPTY), detokenize=detokenize))
    write_trecqa_xml(questions, tmp_path / "out.xml")
    # Only the tabs at the ends of the answer lines are not kept.
    assert (tmp_path / "out.xml").read_text() == (BLOCK + EMPTY).replace("\t\n", "\n")


def test_write_trecqa_xml_of_plain_text_comes_back_without_layers(tmp_path: Path) -> None:
    candidates = (Candidate("a", "In  1876\n.", 1, {"answer": "1876"}), Candidate("b", "", 0))
    write_trecqa_xml([Question("q", "When?", candidates)], tmp_path / "out.xml")
    (question,) = read_trecqa_xml(tmp_path / "out.xml")
    expected = (Candidate("q-0", "In 1876 .", 1, {"answer": "1876"}), Candidate("q-1", "", 0))
    assert question == Question("q", "When?", expected)


BAD_QUESTIONS = {
    "no_label": (Question("q", "?", (Candidate("c", "So."),)), "question 'q', candidate 'c': expected label 0 or 1"),
    "quote_in_id": (Question("q'", "?"), r"expected an id without .*, got \"q'\""),
    "tag": (Question("q", "?", (Candidate("c", "</negative>", 0),)), "c: expected a text, got the tag </negative>"),
    "layer_does_not_fit": (
        Question("q", "Why me?", (), {"pos": "WRB PRP ."}),
        "q: expected 2 values in `pos`, one a word, got 3",
    ),
}


@pytest.mark.parametrize(("question", "message"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_write_trecqa_xml_refuses_and_leaves_no_file(tmp_path: Path, question: Question, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_trecqa_xml([question], tmp_path / "out.xml")
    assert list(tmp_path.iterdir()) == []
