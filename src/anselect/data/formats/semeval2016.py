"""SemEval 2016 and 2017 Task 3 XML, subtask A (`<Thread>` with `<RelQuestion>`, `<RelComment>`), in and out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from anselect.data.formats.semeval_xml import Layout, read_semeval, write_semeval
from anselect.records import Question

LAYOUT: Final = Layout(
    root="xml",
    block="Thread",
    question="RelQuestion",
    question_id="RELQ_ID",
    question_metadata={"category": "RELQ_CATEGORY", "date": "RELQ_DATE", "user_id": "RELQ_USERID"},
    subject="RelQSubject",
    body="RelQBody",
    comment="RelComment",
    comment_id="RELC_ID",
    comment_metadata={"date": "RELC_DATE", "user_id": "RELC_USERID"},
    comment_subject=None,
    # The `-with-multiline` files hold the untouched text in RelCBody, next to a one-line RelCClean.
    comment_bodies=("RelCText", "RelCBody"),
    label="RELC_RELEVANCE2RELQ",
    sequence="THREAD_SEQUENCE",
    skip="SubtaskA_Skip_Because_Same_As_RelQuestion_ID",
)


def read_semeval2016(path: Path) -> Iterator[Question]:
    """Yield the threads of a 2016 or 2017 file, alone or inside `<OrgQuestion>`: text = subject, blank, body.

    Threads marked as repeats for subtask A are passed over; threads without comments are not. Good is label 1, `?` is
    None, everything else 0; the word itself is in `label_raw`. Metadata: `subject`, `category`, `date`, `user_id`; user
    names are not kept.
    """
    return read_semeval(path, LAYOUT)


def write_semeval2016(questions: Iterable[Question], path: Path) -> None:
    """Write a file of threads; labels without a `label_raw` become Good, Bad and `?`, other metadata are left out."""
    write_semeval(questions, path, LAYOUT)
