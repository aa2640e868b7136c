"""SemEval 2015 XML, small files written here; the real ones are in test_originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.formats.semeval2015 import read_semeval2015, write_semeval2015
from anselect.errors import DataError, MissingFileError
from anselect.records import Candidate, Question

XML = """<root>

<Question QID="Q1" QCATEGORY="Life &amp; more" QDATE="2010" QUSERID="U1" QTYPE="GENERAL" QGOLD_YN="Not Applicable">
\t<QSubject>from A to B</QSubject>
\t<QBody>
 is it &lt;far&gt;?

thanks </QBody>
\t<Comment CID="Q1_C1" CUSERID="U2" CGOLD="Good" CGOLD_YN="Yes">
\t\t<CSubject>Hi</CSubject>
\t\t<CBody>Not far.</CBody>
\t</Comment>
\t<Comment CID="Q1_C2" CUSERID="U3" CGOLD="Potential"><CSubject/><CBody/></Comment>
\t<Comment CID="Q1_C3" CUSERID="U3" CGOLD="?"><CBody>Far.</CBody></Comment>
</Question>
<Question QID="Q2" QTYPE="YES_NO"><QSubject></QSubject><QBody>No?</QBody></Question>
</root>
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "s.xml"
    path.write_bytes(text.encode())
    return path


def test_read_semeval2015_joins_subject_and_body_and_keeps_the_rest(tmp_path: Path) -> None:
    first, second = read_semeval2015(write(tmp_path, XML.replace("\n", "\r\n")))
    assert (first.id, first.text) == ("Q1", "from A to B is it <far>?\n\nthanks")
    assert first.metadata == {
        "subject": "from A to B",
        "category": "Life & more",
        "date": "2010",
        "user_id": "U1",
        "type": "GENERAL",
        "gold_yn": "Not Applicable",
    }
    assert list(first.candidates) == [
        Candidate("Q1_C1", "Not far.", 1, {"user_id": "U2", "gold_yn": "Yes", "label_raw": "Good", "subject": "Hi"}),
        Candidate("Q1_C2", "", 0, {"user_id": "U3", "label_raw": "Potential"}),
        Candidate("Q1_C3", "Far.", None, {"user_id": "U3", "label_raw": "?"}),
    ]
    assert second == Question("Q2", "No?", (), {"type": "YES_NO"})


@pytest.mark.parametrize("raw", ["Bad", "Dialogue", "Not English", "Other", "PotentiallyUseful"])
def test_read_semeval2015_counts_everything_but_good_as_0(tmp_path: Path, raw: str) -> None:
    question = next(read_semeval2015(write(tmp_path, XML.replace("Potential", raw))))
    assert (question.candidates[1].label, question.candidates[1].metadata["label_raw"]) == (0, raw)


BAD = {
    "label_2": (XML.replace('"Potential"', '"2"'), ":13: expected CGOLD to be one of Good, Potential, "),
    "no_label": (XML.replace(' CGOLD="Potential"', ""), ":13: expected attribute CGOLD on <Comment>, got none: "),
    "no_id": (XML.replace(' QID="Q2"', ""), ":16: expected attribute QID on <Question>, got none: "),
    "no_body": (XML.replace("<CBody/>", ""), ":13: expected <CBody> in <Comment>, got none: "),
    "no_subject": (XML.replace("<QSubject></QSubject>", ""), ":16: expected <QSubject> in <Question>, got none: "),
    "comment_twice": (XML.replace("Q1_C2", "Q1_C1"), ":13: expected a new comment id, got 'Q1_C1' again: "),
    "question_twice": (XML.replace('"Q2"', '"Q1"'), ":16: expected a new question id, got 'Q1' again: "),
    "truncated": (XML[: XML.index('<Question QID="Q2"') + 9], ":16: expected well-formed XML, got 'unclosed token': "),
    "other_year": ("<xml>\n<Thread/></xml>", ":1: expected at least one question, got none: "),
    "bomb": ('<!DOCTYPE r [<!ENTITY a "b">]>' + XML, ":1: expected XML without entities, got EntitiesForbidden: "),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_read_semeval2015_refuses(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_semeval2015(write(tmp_path, text)))
    assert f"s.xml{message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_semeval2015_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(read_semeval2015(tmp_path / "none.xml"))


def test_write_semeval2015_comes_back(tmp_path: Path) -> None:
    questions = list(read_semeval2015(write(tmp_path, XML)))
    write_semeval2015(questions, tmp_path / "out.xml")
    assert list(read_semeval2015(tmp_path / "out.xml")) == questions


def test_write_semeval2015_of_plain_questions_names_labels_and_splits_nothing(tmp_path: Path) -> None:
    texts = (("a", 'One\r\n& "two" <three>', 1), ("b", "]]>", 0), ("c", "?", None))
    candidates = tuple(Candidate(each_id, text, label) for each_id, text, label in texts)
    write_semeval2015([Question("q", "Who & why", candidates, {"subject": "Other"})], tmp_path / "out.xml")
    (question,) = read_semeval2015(tmp_path / "out.xml")
    assert (question.text, question.metadata) == ("Who & why", {})
    assert [(each.id, each.text, each.label) for each in question.candidates] == list(texts)
    assert [each.metadata["label_raw"] for each in question.candidates] == ["Good", "Bad", "?"]


def test_write_semeval2015_prefers_the_label_over_a_stale_raw_label(tmp_path: Path) -> None:
    write_semeval2015([Question("q", "?", (Candidate("a", "x", 1, {"label_raw": "Bad"}),))], tmp_path / "out.xml")
    assert next(read_semeval2015(tmp_path / "out.xml")).candidates[0].label == 1


def test_write_semeval2015_refuses_what_xml_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"out.xml: question 'q': expected XML characters, got '\\x0c': take it out"):
        write_semeval2015([Question("q", "form\ffeed")], tmp_path / "out.xml")
    assert list(tmp_path.iterdir()) == []
