"""What a format can hold comes back from it unchanged, whatever the texts are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.formats.jacana import read_jacana, write_jacana
from anselect.data.formats.semeval2015 import read_semeval2015, write_semeval2015
from anselect.data.formats.semeval2016 import read_semeval2016, write_semeval2016
from anselect.data.formats.toks import read_toks, write_toks
from anselect.data.formats.trecqa_xml import read_trecqa_xml, write_trecqa_xml
from anselect.data.formats.wikiqa import read_wikiqa, write_wikiqa
from anselect.data.formats.yahoocqa import read_yahoocqa, write_yahoocqa
from anselect.records import Candidate, Question

Reader = Callable[[Path], Iterator[Question]]
Writer = Callable[[Iterable[Question], Path], None]
FORMATS: dict[str, tuple[Reader, Writer]] = {
    "wikiqa": (read_wikiqa, write_wikiqa),
    "trecqa_xml": (read_trecqa_xml, write_trecqa_xml),
    "toks": (read_toks, write_toks),
    "jacana": (read_jacana, write_jacana),
    "semeval2015": (read_semeval2015, write_semeval2015),
    "semeval2016": (read_semeval2016, write_semeval2016),
    "yahoocqa": (read_yahoocqa, write_yahoocqa),
}

# Words of any characters but white space, control characters and the signs that make a tag.
WORDS = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cn", "Zs", "Zl", "Zp"), exclude_characters="<\ufeff"), min_size=1
)
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@st.composite
def question_lists(draw: st.DrawFn) -> list[Question]:
    """Questions with candidate ids by position and positives first, which every format can hold."""
    texts = draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    questions = []
    for place, text in enumerate(texts):
        labels = sorted(draw(st.lists(st.integers(0, 1), min_size=1, max_size=4)), reverse=True)
        candidates = [Candidate(f"train-{place}-{k}", draw(TEXTS), label) for k, label in enumerate(labels)]
        questions.append(Question(f"train-{place}", text, tuple(candidates)))
    return questions


def without_metadata(questions: Iterable[Question]) -> list[Question]:
    return [
        Question(each.id, each.text, tuple(Candidate(c.id, c.text, c.label) for c in each.candidates))
        for each in questions
    ]


@pytest.mark.parametrize("name", FORMATS)
# Each example writes whole files, and waits until the disk has them.
@settings(deadline=None, max_examples=15)
@given(questions=question_lists())
def test_format_gives_back_what_was_written(name: str, questions: list[Question]) -> None:
    read, write = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder:
        write(questions, Path(folder) / "out")
        assert without_metadata(read(Path(folder) / "out")) == questions
