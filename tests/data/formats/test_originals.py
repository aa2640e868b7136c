"""The publishers' own files give the rows of the normalised files, up to white space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from anselect.data.formats.jacana import read_jacana, read_train_all
from anselect.data.formats.semeval2015 import read_semeval2015, write_semeval2015
from anselect.data.formats.semeval2016 import read_semeval2016, write_semeval2016
from anselect.data.formats.toks import read_toks, write_toks
from anselect.data.formats.trecqa_xml import read_trecqa_xml, write_trecqa_xml
from anselect.data.formats.wikiqa import read_wikiqa, write_wikiqa
from anselect.records import Question

WIKIQA = {
    "wikiqa/train.tsv": "wikiqa/WikiQA-train.tsv",
    "wikiqa/train.tsv from CRLF": "wikiqa/WikiQA-train.crlf.tsv.gz",
    "wikiqa/dev.tsv": "wikiqa/WikiQA-dev.tsv",
    "wikiqa/test.tsv": "wikiqa/WikiQA-test.tsv",
}
TRECQA = {
    "trecqa/train.tsv": "trecqa/TRAIN.xml",
    "trecqa/dev-raw.tsv": "trecqa/DEV.xml",
    "trecqa/test-raw.tsv": "trecqa/TEST.xml",
}
SEMEVAL2015 = {
    "semeval2015/dev.tsv": "semeval2015/CQA-QL-devel.xml",
    "semeval2015/test.tsv": "semeval2015/CQA-QL-test.xml",
}
EXTRA = "semeval2016/SemEval2015-Task3-CQA-QL-{}-reformatted-excluding-2016-questions-cleansed.xml"
SEMEVAL2016 = {
    "semeval2016/train-part2.tsv": "semeval2016/SemEval2016-Task3-CQA-QL-train-part2-subtaskA.xml",
    "semeval2016/dev.tsv": "semeval2016/SemEval2016-Task3-CQA-QL-dev-subtaskA.xml",
    "semeval2016/test.tsv": "semeval2016/SemEval2016-Task3-CQA-QL-test.xml",
    "semeval2016/train-extra-2015dev.tsv": EXTRA.format("dev"),
    # The publisher swapped the names: the file named train holds the test part.
    "semeval2016/train-extra-2015test.tsv": EXTRA.format("train"),
}
READERS = {
    **dict.fromkeys(WIKIQA, read_wikiqa),
    **dict.fromkeys(TRECQA, read_trecqa_xml),
    **dict.fromkeys(SEMEVAL2015, read_semeval2015),
    **dict.fromkeys(SEMEVAL2016, read_semeval2016),
}
ORIGINALS = {**WIKIQA, **TRECQA, **SEMEVAL2015, **SEMEVAL2016}
TOKS = {
    "trecqa/train.tsv": "train",
    "trecqa/dev-raw.tsv": "raw-dev",
    "trecqa/test-raw.tsv": "raw-test",
    "trecqa/dev-clean.tsv": "clean-dev",
    "trecqa/test-clean.tsv": "clean-test",
}

Row = tuple[str, ...]


def normalised_rows(path: Path) -> list[Row]:
    lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    return [tuple(line.split("\t")) for line in lines[1:]]


def rows(questions: Iterable[Question]) -> Iterator[Row]:
    for question in questions:
        for candidate in question.candidates:
            texts = [" ".join(text.split()) for text in (question.text, candidate.text)]
            raw = [candidate.metadata["label_raw"]] if "label_raw" in candidate.metadata else []
            yield (question.id, texts[0], candidate.id, texts[1], str(candidate.label), *raw)


@pytest.mark.parametrize("name", ORIGINALS)
def test_original_rows_equal_normalised(benchmark_data: Path, name: str) -> None:
    questions = READERS[name](benchmark_data / "original" / ORIGINALS[name])
    assert list(rows(questions)) == normalised_rows(benchmark_data / name.split()[0])


def test_train_all_rows_equal_normalised(benchmark_data: Path) -> None:
    source = benchmark_data / "original" / "trecqa"
    questions = list(read_train_all(source / "jacana-train1-2393", source / "nce-toks" / "train-all"))
    assert len(questions) == 1229
    assert list(rows(questions)) == normalised_rows(benchmark_data / "trecqa" / "train-all.tsv")


def test_jacana_source_differs_from_train_all_in_seven_labels_and_one_question(benchmark_data: Path) -> None:
    source = benchmark_data / "original" / "trecqa"
    found = list(rows(read_jacana(source / "jacana-train1-2393")))
    published = normalised_rows(benchmark_data / "trecqa" / "train-all.tsv")
    pairs = list(zip(found, published, strict=True))
    relabelled = [ours[0] for ours, theirs in pairs if ours[4] != theirs[4]]
    assert relabelled == ["115", "343", "351", "534", "534", "600", "748"]
    assert {ours[0] for ours, theirs in pairs if ours[1] != theirs[1]} == {"984"}
    assert all((ours[0], *ours[2:4]) == (theirs[0], *theirs[2:4]) for ours, theirs in pairs)


@pytest.mark.parametrize("name", TOKS)
def test_toks_rows_equal_lower_cased_normalised(benchmark_data: Path, name: str) -> None:
    found = rows(read_toks(benchmark_data / "original" / "trecqa" / "nce-toks" / TOKS[name]))
    expected = normalised_rows(benchmark_data / name)
    assert list(found) == [(row[0], row[1].lower(), row[2], row[3].lower(), row[4]) for row in expected]


@pytest.mark.parametrize(("file", "blocks", "empty"), [("TRAIN", 94, 1), ("DEV", 82, 1), ("TEST", 100, 5)])
def test_trecqa_blocks_without_candidates_are_kept(benchmark_data: Path, file: str, blocks: int, empty: int) -> None:
    questions = list(read_trecqa_xml(benchmark_data / "original" / "trecqa" / f"{file}.xml"))
    assert len(questions) == blocks
    assert sum(not question.candidates for question in questions) == empty


def test_trecqa_layers_fit_the_words_and_answers_their_positions(benchmark_data: Path) -> None:
    questions = list(read_trecqa_xml(benchmark_data / "original" / "trecqa" / "TEST.xml"))
    for candidate in (candidate for question in questions for candidate in question.candidates):
        words = candidate.text.split(" ")
        layers = [candidate.metadata[key].split(" ") for key in ("pos", "dep", "head", "ner")]
        assert {len(layer) for layer in layers} == {len(words)}
        assert ("answer" in candidate.metadata) == candidate.is_correct
        positions = candidate.metadata.get("answer_positions", "").split()
        answer = " ".join("#" if each == "#" else words[int(each) - 1] for each in positions)
        assert answer == candidate.metadata.get("answer", "")


def test_semeval2016_input_file_has_the_test_texts_without_labels(benchmark_data: Path) -> None:
    folder = benchmark_data / "original" / "semeval2016"
    blind = list(read_semeval2016(folder / "SemEval2016-Task3-CQA-QL-test-subtaskA-input.xml"))
    expected = normalised_rows(benchmark_data / "semeval2016" / "test.tsv")
    assert [row[:4] for row in rows(blind)] == [row[:4] for row in expected]
    assert {candidate.label for question in blind for candidate in question.candidates} == {None}


def test_semeval2016_thread_without_comments_is_kept(benchmark_data: Path) -> None:
    questions = list(read_semeval2016(benchmark_data / "original" / EXTRA.format("dev")))
    assert len(questions) == 291
    assert [question.id for question in questions if not question.candidates] == ["Q2657"]


def test_semeval2016_multiline_file_is_read(benchmark_data: Path) -> None:
    folder = benchmark_data / "original" / "semeval2016"
    questions = list(read_semeval2016(folder / "SemEval2016-Task3-CQA-QL-dev-subtaskA-with-multiline.xml"))
    expected = normalised_rows(benchmark_data / "semeval2016" / "dev.tsv")
    assert [(row[2], row[4]) for row in rows(questions)] == [(row[2], row[4]) for row in expected]
    assert questions[0].text.startswith("Best Bank. Hi ti all QL's,\n\nWhat bank")


def test_wikiqa_is_written_byte_for_byte(benchmark_data: Path, tmp_path: Path) -> None:
    source = benchmark_data / "original" / "wikiqa" / "WikiQA-dev.tsv"
    write_wikiqa(read_wikiqa(source), tmp_path / "dev.tsv")
    assert (tmp_path / "dev.tsv").read_bytes() == source.read_bytes()


def test_toks_are_written_line_for_line(benchmark_data: Path, tmp_path: Path) -> None:
    source = benchmark_data / "original" / "trecqa" / "nce-toks" / "clean-dev"
    write_toks(read_toks(source), tmp_path)
    for name in ("a.toks", "b.toks", "id.txt", "sim.txt"):
        written, read = ((folder / name).read_text(encoding="utf-8").splitlines() for folder in (tmp_path, source))
        assert [" ".join(line.split()) for line in written] == [" ".join(line.split()) for line in read]


@pytest.mark.parametrize("detokenize", [False, True])
def test_trecqa_comes_back_from_its_own_format(benchmark_data: Path, tmp_path: Path, detokenize: bool) -> None:
    source = benchmark_data / "original" / "trecqa" / "DEV.xml"
    write_trecqa_xml(read_trecqa_xml(source, detokenize=detokenize), tmp_path / "dev.xml")
    assert list(read_trecqa_xml(tmp_path / "dev.xml")) == list(read_trecqa_xml(source))


def test_semeval_comes_back_from_its_own_format(benchmark_data: Path, tmp_path: Path) -> None:
    first = list(read_semeval2015(benchmark_data / "original" / SEMEVAL2015["semeval2015/dev.tsv"]))
    write_semeval2015(first, tmp_path / "2015.xml")
    assert list(read_semeval2015(tmp_path / "2015.xml")) == first
    second = list(read_semeval2016(benchmark_data / "original" / SEMEVAL2016["semeval2016/dev.tsv"]))
    write_semeval2016(second, tmp_path / "2016.xml")
    assert list(read_semeval2016(tmp_path / "2016.xml")) == second
