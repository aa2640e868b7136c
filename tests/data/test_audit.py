from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anselect.data.audit import FileAudit, audit_files, audit_questions, group_findings
from anselect.data.finding import KINDS, Severity
from anselect.data.leaks import SeenTexts
from anselect.data.located import LocatedQuestion
from anselect.data.mis_encoding import find_html_entity, find_mis_encoding
from anselect.records import Candidate, Question


def write(path: Path, *rows: str) -> Path:
    path.write_text(
        "\n".join(("question_id\tquestion\tcandidate_id\tcandidate\tlabel", *rows)) + "\n", encoding="utf-8"
    )
    return path


def found(audited: FileAudit) -> list[tuple[str, int | None, str | None, str | None]]:
    return [(each.kind, each.line, each.question_id, each.candidate_id) for each in audited.findings]


def test_sound_file_has_no_findings(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tsv", "1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0", "2\tWhen?\ta\tHe.\t0", "2\tWhen?\tb\tNow.\t1"
    )
    [audited] = audit_files([path])
    assert (audited.questions, audited.candidates, audited.findings, audited.defects) == (2, 4, (), 0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["1\tWho?\ta\tHe.\t0", "1\tWho?\tb\tIt.\t0"], [("no-positive", 2, "1", None)]),
        (["1\tWho?\ta\tHe.\t1"], [("all-positive", 2, "1", None)]),
        (["1\tWho?\t\t\t"], [("no-candidates", 2, "1", None)]),
        (["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t"], [("unlabelled", 2, "1", None)]),
        (["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\t he.\t1", "1\tWho?\tc\tIt.\t0"], [("duplicate-candidate", 3, "1", "b")]),
        (
            ["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0", "1\tWho?\tc\tHe.\t0"],
            [("duplicate-candidate", 4, "1", "c"), ("conflicting-labels", 4, "1", "c")],
        ),
        (["1\tWho?\ta\tHe.\t1", "1\tWho?\ta\tIt.\t0"], [("duplicate-candidate-id", 3, "1", "a")]),
        (["1\tWho?\ta\t \t1", "1\tWho?\tb\tIt.\t0"], [("empty-text", 2, "1", "a")]),
        (["1\t\ta\tHe.\t1", "1\t\tb\tIt.\t0"], [("empty-text", 2, "1", None)]),
        (["1\tWho?\ta\tIt.\t0", "1\tWho?\tb\tcafÃ©\t1"], [("mis-encoded", 3, "1", "b")]),
        (["1\tWho\ufffd?\ta\tIt.\t0", "1\tWho\ufffd?\tb\tHe.\t1"], [("mis-encoded", 2, "1", None)]),
        (["1\tWho?\ta\tIt &amp; he.\t0", "1\tWho?\tb\tHe.\t1"], [("html-entity", 2, "1", "a")]),
        (
            ["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0", "2\twho? \ta\tIt.\t0", "2\twho? \tb\tHe.\t1"],
            [("duplicate-question", 4, "2", None)],
        ),
        (
            ["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0", "2\tWhen?\ta\tNow.\t1", "2\tWhen?\tb\tIt.\t0"],
            [("positives-first", 2, None, None)],
        ),
        (
            ["1\tWho?\ta\tHe.\t0", "1\tWho?\tb\tIt.\t1", "2\tWhen?\ta\tNow.\t0", "2\tWhen?\tb\tIt.\t1"],
            [("negatives-first", 2, None, None)],
        ),
        (["1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0"], []),
        ([], [("no-questions", None, None, None)]),
    ],
    ids=lambda value: value[0][0] if value and isinstance(value[0], tuple) else "",
)
def test_kinds(rows: list[str], expected: list[object], tmp_path: Path) -> None:
    [audited] = audit_files([write(tmp_path / "a.tsv", *rows)])
    assert found(audited) == expected
    assert audited.defects == sum(each.severity is Severity.defect for each in audited.findings)


def test_leaks_name_the_earlier_place(tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", "1\tWho?\ta\tHe.\t1", "1\tWho?\tb\tIt.\t0")
    test = write(tmp_path / "test.tsv", "9\tWHO?\tx\the.\t1", "9\tWHO?\ty\tYou.\t0", "8\tWhen?\tz\tHe.\t0")
    first, second = audit_files([train, test])
    assert not first.findings
    leaks = [each for each in second.findings if each.kind.startswith("leaked")]
    assert [(each.kind, each.line, each.message) for each in leaks] == [
        ("leaked-question", 2, f"also in {train}:2"),
        ("leaked-pair", 2, f"question and candidate also in {train}:2"),
    ]


def test_leak_without_lines_names_the_id() -> None:
    seen = SeenTexts()
    item = LocatedQuestion(Question("q7", "Who?", (Candidate("c", "He.", 1),)))
    audit_questions([item], "a", seen)
    findings = audit_questions([item], "b", seen).findings
    assert [each.message for each in findings if each.kind == "leaked-question"] == ["also in a (q7)"]
    assert {each.place for each in findings} == {"b"}


def test_repeated_question_id_in_jsonl_is_a_finding_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = '{"id": "q", "question": "%s", "candidates": [{"text": "a", "label": 0}, {"text": "b", "label": 1}]}\n'
    path.write_text(line % "Who?" + line % "When?" + line.replace('"q"', '"r"').replace("0", "1") % "Why?")
    [audited] = audit_files([path])
    assert ("duplicate-question-id", 2, "q", None) in found(audited)


def test_order_may_be_broken_in_one_of_twenty_questions() -> None:
    def item(number: int, labels: list[int]) -> LocatedQuestion:
        candidates = tuple(Candidate(f"{place}", f"{place}", label) for place, label in enumerate(labels))
        return LocatedQuestion(Question(f"{number}", f"{number}?", candidates), number)

    ordered = [item(number, [1, 0, 0]) for number in range(19)]
    assert [each.kind for each in audit_questions([*ordered, item(19, [0, 1])], "a").findings] == ["positives-first"]
    broken = [item(19, [0, 1]), item(20, [0, 1])]
    assert not audit_questions([*ordered, *broken], "a").findings


def test_groups_follow_the_order_of_the_kinds(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "1\tWho?\ta\tHe &lt;\t1", "2\tWhen?\ta\tNow\t0", "3\tWhy?\ta\t\t1")
    kinds = [kind for kind, _ in group_findings(audit_files([path]))]
    assert kinds == [kind for kind in KINDS if kind in kinds]
    assert kinds == ["no-positive", "all-positive", "empty-text", "html-entity"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("cafÃ©", "UTF-8 read as Windows-1252"),
        ("donâ€™t", "UTF-8 read as Windows-1252"),
        ("5Â\xa0km", "UTF-8 read as Windows-1252"),
        ("Ð¿Ñ€Ð¸", "UTF-8 read as Windows-1252"),
        ("æ—¥æœ¬", "UTF-8 read as Windows-1252"),
        ("ðŸ˜€", "UTF-8 read as Windows-1252"),
        ("Ã–sterreich", "UTF-8 read as Windows-1252"),
        ("ï»¿first", "UTF-8 read as Windows-1252"),
        ("a\x92b", "a control character"),
        ("a\x00b", "a control character"),
        ("a\ufffdb", "a replacement character"),
        ("a\ud83db", "half a surrogate pair"),
        ("a\ufeffb", "a byte order mark"),
    ],
)
def test_mis_encoded_text(text: str, what: str) -> None:
    assert (find_mis_encoding(text) or "").startswith(f"{what} in ")


@pytest.mark.parametrize(
    "text", ["café", "São Paulo – “CAFÉ”", "naïve…", "Ångström’s", "от", "日本", "tab\tline\n\f", "😀", "£5"]
)
def test_sound_text(text: str) -> None:
    assert find_mis_encoding(text) is None


@given(st.text(st.characters(min_codepoint=0xA0, max_codepoint=0x17F, categories=["L"]), min_size=1))
def test_every_text_in_european_letters_is_recognised_when_its_utf8_was_read_as_latin_1(text: str) -> None:
    # Two letters at least: one alone passes for a capital before a sign.
    assert find_mis_encoding((text * 2).encode().decode("latin-1")) is not None


@given(st.lists(st.tuples(st.text("abcÀÉÃÔâéïðßöÿ", min_size=1), st.sampled_from(["", "”", "’”", "”…", " –", "”—"]))))
def test_words_of_western_europe_in_quotes_are_sound(words: list[tuple[str, str]]) -> None:
    assert find_mis_encoding(" ".join(f"‘“{word}{quotes}" for word, quotes in words)) is None


def test_entities() -> None:
    assert find_html_entity("&#39;s") == "&#39;"
    assert find_html_entity("R&D; a & b") is None


README_COUNTS = {
    # file: (questions, by text, pairs, no positive, all positive, repeats, conflicts), as the data's README has them
    "trecqa/train-all": (1229, 1227, 53417, 0, 67, 28, 0),
    "trecqa/dev-raw": (81, 81, 1148, 3, 13, 0, 0),
    "wikiqa/test": (633, 633, 6165, 390, 6, 5, 0),
    "semeval2015/dev": (300, 300, 1645, 49, 60, 24, 6),
    "semeval2016/test": (327, 327, 3270, 12, 10, 69, 1),
    "semeval2017/test": (293, 293, 2930, 6, 11, 64, 0),
}


@pytest.mark.parametrize("name", README_COUNTS)
def test_known_counts_of_the_benchmarks(name: str, benchmark_data: Path) -> None:
    [audited] = audit_files([benchmark_data / f"{name}.tsv"])
    kinds = Counter(each.kind for each in audited.findings)
    counts = [kinds[kind] for kind in ("no-positive", "all-positive", "duplicate-candidate", "conflicting-labels")]
    by_text = audited.questions - kinds["duplicate-question"]
    assert (audited.questions, by_text, audited.candidates, *counts) == README_COUNTS[name]


def test_2016_and_2017_test_share_three_questions(benchmark_data: Path) -> None:
    audits = audit_files([benchmark_data / "semeval2016/test.tsv", benchmark_data / "semeval2017/test.tsv"])
    assert [each.line for each in audits[1].findings if each.kind == "leaked-question"] == [1382, 1422, 1902]


def test_trecqa_has_all_positives_first_and_blocks_without_candidates(benchmark_data: Path) -> None:
    audits = audit_files([benchmark_data / "original/trecqa" / f"{name}.xml" for name in ("TRAIN", "DEV", "TEST")])
    kinds = [Counter(each.kind for each in audited.findings) for audited in audits]
    assert [each["positives-first"] for each in kinds] == [1, 1, 1]
    assert [each["no-candidates"] for each in kinds] == [1, 1, 5]
    assert [each["leaked-question"] for each in kinds] == [0, 0, 0]
    assert "in 65 of the 65 questions" in next(e.message for e in audits[1].findings if e.kind == "positives-first")


def test_lines_of_the_original_files_are_exact(benchmark_data: Path) -> None:
    path = benchmark_data / "original/wikiqa/WikiQA-test.tsv"
    lines = path.read_text(encoding="utf-8").split("\n")
    for each in audit_files([path])[0].findings:
        if each.candidate_id:
            assert each.line is not None
            assert lines[each.line - 1].split("\t")[4] == each.candidate_id
