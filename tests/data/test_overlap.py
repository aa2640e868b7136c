from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.overlap import (
    NEAR,
    Dropped,
    NearQuestions,
    Place,
    jaccard,
    overlapping_texts,
    plain_words,
    shingles,
    without_overlap,
)
from anselect.data.overlap_audit import audit_overlaps
from anselect.errors import MissingFileError, UsageError
from anselect.records import Candidate, Question

LONG = "Bell invented the telephone in 1876."


def question(number: int, text: str, *candidates: str | tuple[str, int]) -> Question:
    pairs = [(each, 0) if isinstance(each, str) else each for each in candidates]
    return Question(f"q{number}", text, tuple(Candidate(f"c{place}", *each) for place, each in enumerate(pairs)))


def kinds(train: list[Question], held_out: list[Question]) -> list[str]:
    return [overlap.kind for overlap in overlapping_texts(train, held_out)]


@pytest.mark.parametrize(
    ("train", "held_out", "kind"),
    [
        ("Who rang the bell?", "Who rang the bell?", "question-exact"),
        ("Who rang the bell?", "who rang  THE bell", "question-same"),
        ("Was heißt CAFÉ?", "was heisst café", "question-same"),
        (
            "one two three four five six seven eight nine ten",
            "one two three four five six seven eight nine",
            "question-near",
        ),
        ("Who rang the bell?", "Who heard the bell?", None),
        ("Who rang the bell?", "Why not?", None),
        ("?", "!", None),
    ],
)
def test_questions(train: str, held_out: str, kind: str | None) -> None:
    assert kinds([question(1, train)], [question(2, held_out)]) == ([kind] if kind else [])


def test_overlap_names_both_places_and_the_similarity() -> None:
    train = [question(1, "Other words here?"), question(2, "a b c d e f g h i j?")]
    [overlap] = overlapping_texts(train, [question(3, "a b c d e f g h i!")])
    assert overlap.held_out == Place("q3", None, "a b c d e f g h i!")
    assert overlap.train == Place("q2", None, "a b c d e f g h i j?")
    assert overlap.similarity == pytest.approx(8 / 9)


def test_candidates_are_compared_whatever_their_questions_are() -> None:
    train = [question(1, "Who?", LONG, "Thank you very much!"), question(2, "When was it that he rang?")]
    held_out = [question(3, "What?", LONG.upper(), "thank you very much"), question(4, "How?", LONG.upper(), LONG)]
    [overlap] = overlapping_texts(train, held_out)
    assert (overlap.kind, overlap.held_out, overlap.train) == (
        "candidate-same",
        Place("q3", "c0", LONG.upper()),
        Place("q1", "c0", LONG),
    )
    assert kinds(train, [question(3, "What?", LONG)]) == ["candidate-exact"]


def test_without_overlap_drops_what_is_shared_and_counts_it() -> None:
    held_out = [question(9, "Who rang?", (LONG, 1), "It was not so at all, he said.", "He did.")]
    train = [
        question(1, "WHO RANG", ("He did so, and everyone knew it.", 1)),
        question(2, "Who was it?", ("He did.", 1), LONG, "Another one that is long enough."),
        question(3, "Why was it?", (LONG, 1), "Another one that is long enough."),
        question(4, "When was it?", LONG),
        question(5, "Where was it?", ("There.", 1), "Here."),
        question(6, "Without candidates?"),
    ]
    kept, dropped = without_overlap(train, held_out)
    assert [each.id for each in kept] == ["q2", "q5", "q6"]
    assert [each.text for each in kept[0].candidates] == ["He did.", "Another one that is long enough."]
    assert kept[1] is train[4]
    assert dropped == Dropped(equal_questions=1, near_questions=0, candidates=3, emptied_questions=2)


def test_near_questions_are_dropped() -> None:
    kept, dropped = without_overlap([question(1, "a b c d e f g h i j k")], [question(2, "a b c d e f g h i j")])
    assert (kept, dropped) == ([], Dropped(near_questions=1))


def test_only_correct_held_out_candidates_may_count() -> None:
    held_out = [question(9, "Who?", LONG)]
    train = [question(1, "Whom?", LONG)]
    assert without_overlap(train, held_out, only_correct=True)[0] == train
    assert without_overlap(train, held_out)[0] == []


WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=15), WORDS)
def test_index_finds_what_comparing_with_all_finds(texts: list[str], wanted: str) -> None:
    places = [(Place(str(number), None, text), text) for number, text in enumerate(texts)]
    best = max(jaccard(shingles(wanted), shingles(text)) for text in texts)
    found = NearQuestions(places).nearest(wanted)
    assert (found is None) == (best < NEAR)
    if found:
        assert found[1] == best
        assert jaccard(shingles(found[0].text), shingles(wanted)) == best


@given(st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8))
def test_nothing_is_shared_after_dropping(train: list[str], held_out: list[str]) -> None:
    def asked(texts: list[str]) -> list[Question]:
        return [question(number, text, text + " and more words than six") for number, text in enumerate(texts)]

    kept, dropped = without_overlap(asked(train), asked(held_out))
    assert overlapping_texts(kept, asked(held_out)) == []
    assert len(kept) + dropped.equal_questions + dropped.near_questions + dropped.emptied_questions == len(train)


@given(st.text())
def test_plain_words_of_plain_words_are_the_same(text: str) -> None:
    assert plain_words(plain_words(text)) == plain_words(text)


HEADER = "question_id\tquestion\tcandidate_id\tcandidate\tlabel\n"


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, text in {"wikiqa/train": "Who rang?", "wikiqa/dev": "Who?", "trecqa/test-raw": "who rang ?"}.items():
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{HEADER}1\t{text}\ta\tIt did n't .\t1\n", encoding="utf-8")
    return tmp_path


def test_audit_of_named_sets(data_dir: Path) -> None:
    audits = audit_overlaps(["wikiqa"], data_dir=data_dir)
    assert [(each.train, each.against, each.questions) for each in audits] == [
        ("wikiqa/train", "wikiqa/dev", 1),
        ("wikiqa/train", "trecqa/test", 1),
    ]
    assert [each.counts["question-same"] for each in audits] == [0, 1]


def test_audit_of_splits_and_files(data_dir: Path) -> None:
    file = data_dir / "mine.tsv"
    file.write_text(f"{HEADER}1\tWho?\ta\tIt.\t1\n")
    [audited] = audit_overlaps([str(file)], ["wikiqa/dev"], data_dir=data_dir)
    assert (audited.train, audited.against) == (str(file), "wikiqa/dev")
    assert audited.counts["question-exact"] == 1


def test_audit_does_not_compare_a_split_with_itself(data_dir: Path) -> None:
    [audited] = audit_overlaps(["wikiqa/dev"], ["wikiqa/dev", "trecqa"], data_dir=data_dir)
    assert audited.against == "trecqa/test"


def test_audit_of_what_is_not_there(data_dir: Path) -> None:
    with pytest.raises(MissingFileError, match="insuranceqa: expected a split among train on this machine, got none"):
        audit_overlaps(["insuranceqa"], data_dir=data_dir)
    with pytest.raises(MissingFileError, match="wikiqa test is not on this machine"):
        audit_overlaps(["wikiqa"], ["wikiqa/test"], data_dir=data_dir)
    with pytest.raises(UsageError, match="expected --train"):
        audit_overlaps([], data_dir=data_dir)


def test_trecqa_shares_no_question_but_21_answers(benchmark_data: Path) -> None:
    audits = audit_overlaps(["trecqa/train-all"], ["trecqa"], data_dir=benchmark_data)
    assert [(each.against, *each.counts.values()) for each in audits] == [
        ("trecqa/dev", 0, 0, 0, 2, 0),
        ("trecqa/test", 0, 0, 0, 19, 0),
    ]
