from __future__ import annotations

import gzip
import pickle
import zipfile
from pathlib import Path

import pytest

from anselect.data.finding import KINDS
from anselect.data.format_table import READABLE_FORMATS, WRITABLE_FORMATS
from anselect.data.reading import FORMATS, detect_format, find_format, read_located, read_questions, write_questions
from anselect.errors import DataError, MissingFileError, UsageError
from anselect.records import Candidate, Question

QUESTIONS = [
    Question("Q1", "Who ?", (Candidate("Q1-0", "He .", 1), Candidate("Q1-1", "It .", 0))),
    Question("Q2", "When ?", (Candidate("Q2-0", "Now .", 0),)),
]
NAMES = {
    "tsv": "a.tsv",
    "csv": "a.csv",
    "jsonl": "a.jsonl",
    "parquet": "a.parquet",
    "wikiqa": "a.tsv",
    "trecqa-xml": "a.xml",
    "jacana": "folder",
    "toks": "folder",
    "semeval2015": "a.xml",
    "semeval2016": "a.xml",
    "yahoocqa": "a.pkl",
}


def test_every_format_is_tested() -> None:
    assert set(NAMES) == set(WRITABLE_FORMATS) & set(READABLE_FORMATS)
    assert set(FORMATS) - set(NAMES) == {"spans", "qrels"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_detected_and_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    write_questions(QUESTIONS, path, output_format=name)
    assert detect_format(path) == name
    read = list(read_questions(path))
    assert [[(each.text, each.label) for each in question.candidates] for question in read] == [
        [("He .", 1), ("It .", 0)],
        [("Now .", 0)],
    ]
    assert [item.question for item in read_located(path)] == read


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("tsv", [(2, (2, 3)), (4, (4,))]),
        ("csv", [(2, (2, 3)), (4, (4,))]),
        ("jsonl", [(1, (1, 1)), (2, (2,))]),
        ("parquet", [(1, (1, 2)), (3, (3,))]),
        ("wikiqa", [(2, (2, 3)), (4, (4,))]),
        ("toks", [(1, (1, 2)), (3, (3,))]),
        ("trecqa-xml", [(1, (9, 16)), (24, (32,))]),
        ("semeval2015", [(3, (6, 10)), (15, (18,))]),
        ("semeval2016", [(3, (8, 11)), (15, (20,))]),
        ("yahoocqa", [(None, ()), (None, ())]),
    ],
)
def test_lines(name: str, lines: list[object], tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    write_questions(QUESTIONS, path, output_format=name)
    assert [(item.line, item.candidate_lines) for item in read_located(path)] == lines


@pytest.mark.parametrize("name", [name for name in NAMES if FORMATS[name].is_stream])
def test_gzip_is_written_by_name_and_read_by_content(name: str, tmp_path: Path) -> None:
    target = tmp_path / f"{NAMES[name]}.gz"
    write_questions(QUESTIONS, target, output_format=name)
    assert target.read_bytes()[:2] == b"\x1f\x8b"
    disguised = tmp_path / NAMES[name]
    disguised.write_bytes(target.read_bytes())
    assert list(read_questions(disguised)) == list(read_questions(target))


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("a.txt", b"question\tcandidate\n", "tsv"),
        ("a.tsv", b"", "tsv"),
        ("a.tsv", b"QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\r\n", "wikiqa"),
        ("a.dat", b"\xef\xbb\xbf{}", "jsonl"),
        ("A.JSONL", b"", "jsonl"),
        ("a.json", b"[", "jsonl"),
        ("a.pq", b"", "parquet"),
        ("a.dat", b"PAR1....", "parquet"),
        ("a.xml", b"\n<QApairs id='1'>", "trecqa-xml"),
        ("a.xml", b'<?xml version="1.0"?>\n<root><Question QID="1">', "semeval2015"),
        ("a.xml", b'<?xml version="1.0"?>\n<xml><Thread THREAD_SEQUENCE="1"><RelQuestion>', "semeval2016"),
        ("a.xml", b"<!DOCTYPE xml [\n<!ELEMENT Thread (RelQuestion)>", "semeval2016"),
        ("a.bin", pickle.dumps({}), "yahoocqa"),
        ("a.csv.gz", gzip.compress(b"question,candidate\n", mtime=0), "csv"),
        ("a.xml.gz", gzip.compress(b"<QApairs id='1'>", mtime=0), "trecqa-xml"),
    ],
)
def test_detection_by_ending_and_content(file: str, content: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    assert detect_format(path) == name


def test_detection_of_zip_and_folders(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "env.pkl.zip", "w") as archive:
        archive.writestr("env.pkl", pickle.dumps({}))
    assert detect_format(tmp_path / "env.pkl.zip") == "yahoocqa"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "Train.Question.POSInput.gz").touch()
    assert detect_format(tmp_path / "x") == "jacana"
    (tmp_path / "y").mkdir()
    for name in ("id.txt", "a.toks", "b.toks", "sim.txt"):
        (tmp_path / "y" / f"{name}.gz").write_bytes(gzip.compress(b"1\n"))
    assert detect_format(tmp_path / "y") == "toks"
    [item] = read_located(tmp_path / "y")
    assert (item.question.id, item.candidate_lines) == ("1", (1,))


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"<html></html>", b"just words"])
def test_content_that_tells_nothing_is_a_data_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xml: expected a file that tells its format, got .*: give --input-format"):
        detect_format(path)


def test_missing_file_and_other_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        read_questions(tmp_path / "a.tsv")
    with pytest.raises(MissingFileError, match="expected a file, or a folder of toks or POSInput files"):
        read_questions(tmp_path)


def test_stdin_needs_a_format_and_stdout_too() -> None:
    with pytest.raises(UsageError, match="expected --input-format with '-'"):
        read_questions(Path("-"))
    with pytest.raises(UsageError, match="give --output-format"):
        write_questions([], Path("-"))


def test_unknown_format_gets_a_suggestion() -> None:
    with pytest.raises(
        UsageError, match=r"got 'json': did you mean jsonl\? there are tsv, csv, jsonl, parquet, wikiqa"
    ):
        find_format("json")
    with pytest.raises(UsageError, match="got 'excel': there are tsv"):
        find_format("excel")


@pytest.mark.parametrize("name", ["out.xml", "out", "out.txt", "out.zip"])
def test_output_name_must_tell_the_format(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give --output-format, one of tsv"):
        write_questions(QUESTIONS, tmp_path / name)


@pytest.mark.parametrize(
    ("file", "name"), [("a.parquet.gz", "parquet"), ("a.gz", "toks"), ("-", "yahoocqa"), ("-", "parquet")]
)
def test_formats_that_cannot_be_streamed(file: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a plain f"):
        write_questions(QUESTIONS, Path(file) if file == "-" else tmp_path / file, output_format=name)


def test_read_only_format_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a format that can be written, got spans: there are tsv, csv"):
        write_questions(QUESTIONS, tmp_path / "a.jsonl", output_format="spans")
    assert not list(tmp_path.iterdir())


def test_written_only_format_is_not_read(tmp_path: Path) -> None:
    write_questions(QUESTIONS, tmp_path / "a.qrels.gz")
    for read in (read_questions, read_located):
        with pytest.raises(UsageError, match=r"a\.qrels\.gz: expected a format with texts to read, got qrels"):
            read(tmp_path / "a.qrels.gz")


@pytest.mark.parametrize("name", ["tsv", "csv", "wikiqa", "parquet"])
def test_file_without_a_row_is_a_data_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    write_questions([], path, output_format=name)
    with pytest.raises(DataError, match="expected at least one question, got none: is this the right file"):
        list(read_questions(path))


def test_name_of_a_data_set_is_read_where_no_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSELECT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wikiqa").mkdir()
    write_questions(QUESTIONS, tmp_path / "wikiqa" / "dev.tsv", output_format="tsv")
    with pytest.raises(MissingFileError, match="expected a file, or a folder"):
        detect_format(Path("wikiqa"))
    monkeypatch.chdir(tmp_path.parent)
    assert detect_format(Path("wikiqa")) == "data-set"
    assert list(read_questions(Path("wikiqa"), split="dev")) == QUESTIONS
    with pytest.raises(UsageError, match="expected --split with wikiqa, got none: it has train, dev, test"):
        read_questions(Path("wikiqa"))


def test_data_set_of_one_split_needs_no_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "transfer").mkdir()
    line = '{"id": "1", "question": "Who?", "context": "He did. It rang.", "answers": [{"text": "He", "start": 0}]}'
    (tmp_path / "transfer/quoref_dev.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    [item] = read_located(Path("quoref-dev"), data_dir=tmp_path)
    monkeypatch.setenv("ANSELECT_DATA", str(tmp_path))
    assert [item.question] == list(read_questions(Path("quoref-dev")))
    assert [each.label for each in item.question.candidates] == [1, 0]


def test_split_is_for_yahoocqa_only(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps({"train": {"a?": [["x", 1]]}, "test": {"b?": [["y", 0]]}}))
    assert [question.text for question in read_questions(path, split="test")] == ["b?"]
    write_questions(QUESTIONS, tmp_path / "a.tsv")
    with pytest.raises(UsageError, match="expected no --split for tsv"):
        read_questions(tmp_path / "a.tsv", split="test")


@pytest.mark.parametrize("name", ["toks", "trecqa-xml", "jacana", "tsv"])
def test_detokenize(name: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    write_questions(QUESTIONS, path, output_format=name)
    [first, _] = read_questions(path, detokenize=True)
    assert (first.text, first.candidates[0].text) == ("Who?", "He.")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "jsonl"])
def test_half_surrogates_become_replacement_characters(name: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    write_questions([Question("q", "a\ud800b", (Candidate("c", "\udfff", 1),))], path, output_format=name)
    [question] = read_questions(path)
    assert (question.text, question.candidates[0].text) == ("a\ufffdb", "\ufffd")


def test_documentation_names_every_format_and_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data-formats.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"### {name}\n" not in page] == []
    assert [
        kind for kind, severity in KINDS.items() if f"| `{kind}` |" not in page or f"| {severity} |" not in page
    ] == []


@pytest.mark.parametrize("name", ["tsv", "csv", "jsonl", "wikiqa", "trecqa-xml"])
def test_examples_of_the_documentation_are_read(name: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "data-formats.md").read_text(encoding="utf-8")
    example = page.partition(f"### {name}\n")[2].partition("\n```")[2].partition("\n")[2].partition("```")[0]
    path = tmp_path / NAMES[name]
    path.write_text(example, encoding="utf-8")
    assert detect_format(path) == name
    [question] = read_questions(path)
    assert question.candidates
