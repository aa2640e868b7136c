"""SemEval 2016 and 2017 XML, small files written here; the real ones are in test_originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from anselect.data.formats.semeval2015 import read_semeval2015, write_semeval2015
from anselect.data.formats.semeval2016 import read_semeval2016, write_semeval2016
from anselect.errors import DataError
from anselect.records import Candidate, Question

DTD = "<!DOCTYPE xml [\n<!ELEMENT xml (Thread*)>\n<!ATTLIST xml version CDATA #REQUIRED>\n]>\n"
THREAD = """<Thread THREAD_SEQUENCE="Q1_R2">
<RelQuestion RELQ_ID="Q1_R2" RELQ_CATEGORY="Visas" RELQ_DATE="2012-12-26" RELQ_USERID="U3" RELQ_USERNAME="user">
<RelQSubject>A subject;</RelQSubject>
<RelQBody>a body?</RelQBody>
</RelQuestion>
<RelComment RELC_ID="Q1_R2_C1" RELC_DATE="2013-01-01" RELC_USERID="U4" RELC_USERNAME="user" RELC_RELEVANCE2RELQ="Good">
<RelCText>Yes &amp; no.</RelCText>
</RelComment>
<RelComment RELC_ID="Q1_R2_C2" RELC_RELEVANCE2ORGQ="Good" RELC_RELEVANCE2RELQ="PotentiallyUseful">
<RelCText></RelCText>
</RelComment>
</Thread>
"""
QUESTION = Question(
    "Q1_R2",
    "A subject; a body?",
    (
        Candidate("Q1_R2_C1", "Yes & no.", 1, {"date": "2013-01-01", "user_id": "U4", "label_raw": "Good"}),
        Candidate("Q1_R2_C2", "", 0, {"label_raw": "PotentiallyUseful"}),
    ),
    {"category": "Visas", "date": "2012-12-26", "user_id": "U3", "subject": "A subject;"},
)
SKIPPED = THREAD.replace("Q1_R2", "Q1_R3").replace(
    "<Thread ", '<Thread SubtaskA_Skip_Because_Same_As_RelQuestion_ID="Q1_R2" '
)


def write(folder: Path, body: str, head: str = DTD) -> Path:
    path = folder / "s.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="utf-8"?>\n{head}<xml version="1.0">\n{body}</xml>\n'.encode())
    return path


def test_read_semeval2016_reads_threads_and_drops_user_names(tmp_path: Path) -> None:
    assert list(read_semeval2016(write(tmp_path, THREAD))) == [QUESTION]


def test_read_semeval2016_reads_wrapped_threads_and_passes_over_repeats(tmp_path: Path) -> None:
    wrapped = (
        "<OrgQuestion ORGQ_ID='Q1'>\n<OrgQSubject>Other</OrgQSubject>\n<OrgQBody>Other</OrgQBody>\n{}</OrgQuestion>\n"
    )
    last = THREAD.replace("Q1_R2", "Q1_R9")
    path = write(tmp_path, wrapped.format(SKIPPED) + wrapped.format(THREAD) + wrapped.format(last))
    first, second = read_semeval2016(path)
    assert first == QUESTION
    assert second.id == "Q1_R9"


def test_read_semeval2016_reads_multiline_bodies(tmp_path: Path) -> None:
    body = THREAD.replace(
        "RelCText>Yes &amp; no.</RelCText", "RelCBody>Yes,\nno.</RelCBody><RelCClean>Yes; no.</RelCClean"
    )
    question = next(read_semeval2016(write(tmp_path, body)))
    assert question.candidates[0].text == "Yes,\nno."


BAD = {
    "label_2": (THREAD.replace("PotentiallyUseful", "2"), ":15: expected RELC_RELEVANCE2RELQ to be one of Good, "),
    "no_question": (THREAD.replace("RelQuestion", "Other"), ":7: expected <RelQuestion> in <Thread>, got none: "),
    "no_text": (THREAD.replace("RelCText", "Other"), ":12: expected <RelCText> in <RelComment>, got none: "),
    "truncated": (THREAD[:-10] + "<", ": expected well-formed XML, got "),
    "twice": (THREAD + THREAD, ":19: expected a new question id, got 'Q1_R2' again: "),
    "only_repeats": (SKIPPED, ":1: expected at least one question, got none: "),
}


@pytest.mark.parametrize(("body", "message"), BAD.values(), ids=BAD)
def test_read_semeval2016_refuses(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_semeval2016(write(tmp_path, body)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_semeval2016_refuses_entities_in_its_dtd(tmp_path: Path) -> None:
    head = DTD.replace("]>", '<!ENTITY lol SYSTEM "file:///etc/passwd">\n]>')
    with pytest.raises(DataError, match=r"s.xml:5: expected XML without entities, got EntitiesForbidden"):
        list(read_semeval2016(write(tmp_path, THREAD, head)))


def test_write_semeval2016_comes_back(tmp_path: Path) -> None:
    write_semeval2016([QUESTION, Question("Q2", "No comments")], tmp_path / "out.xml")
    assert list(read_semeval2016(tmp_path / "out.xml")) == [QUESTION, Question("Q2", "No comments")]


def test_semeval2016_goes_through_2015_and_back_but_for_comment_dates(tmp_path: Path) -> None:
    write_semeval2015(read_semeval2016(write(tmp_path, THREAD)), tmp_path / "2015.xml")
    write_semeval2016(read_semeval2015(tmp_path / "2015.xml"), tmp_path / "2016.xml")
    (question,) = read_semeval2016(tmp_path / "2016.xml")
    assert (question.text, question.metadata) == (QUESTION.text, QUESTION.metadata)
    assert question.candidates[0].metadata == {"user_id": "U4", "label_raw": "Good"}
