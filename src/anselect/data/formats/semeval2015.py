"""SemEval 2015 Task 3 XML (`<Question>` with `<Comment CGOLD=…>`), in and out as questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from anselect.data.formats.semeval_xml import Layout, read_semeval, write_semeval
from anselect.records import Question

LAYOUT: Final = Layout(
    root="root",
    block="Question",
    question="Question",
    question_id="QID",
    question_metadata={
        "category": "QCATEGORY",
        "date": "QDATE",
        "user_id": "QUSERID",
        "type": "QTYPE",
        "gold_yn": "QGOLD_YN",
    },
    subject="QSubject",
    body="QBody",
    comment="Comment",
    comment_id="CID",
    comment_metadata={"user_id": "CUSERID", "gold_yn": "CGOLD_YN"},
    comment_subject="CSubject",
    comment_bodies=("CBody",),
    label="CGOLD",
)


def read_semeval2015(path: Path) -> Iterator[Question]:
    """Yield the questions of a 2015 file: text = subject, blank, body; a comment's text is its body alone.

    Good is label 1, `?` is None, everything else 0; the word itself is in `label_raw`. Metadata: `subject`, `category`,
    `date`, `user_id`, `type`, `gold_yn`. White space at the ends of texts is dropped, inside it is kept.
    """
    return read_semeval(path, LAYOUT)


def write_semeval2015(questions: Iterable[Question], path: Path) -> None:
    """Write a 2015 file; labels without a `label_raw` become Good, Bad and `?`, other metadata are left out."""
    write_semeval(questions, path, LAYOUT)
