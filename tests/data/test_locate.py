from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from anselect.data.catalogue import HashStatus, dataset_names, find_dataset
from anselect.data.files import file_sha256, read_lines
from anselect.data.locate import data_roots, find_sources, read_split, split_source
from anselect.data.user_cache import cache_folder
from anselect.errors import MissingFileError, UsageError
from anselect.records import Question

WIKIQA_HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
WIKIQA = (
    WIKIQA_HEADER + "Q1\twho called?\tD1\tBell\tD1-0\tBell called.\t1\nQ1\twho called?\tD1\tBell\tD1-1\tIt rings.\t0\n"
)
PAIRS = "question_id\tquestion\tanswer_id\tanswer\tlabel\n7\tWho did n't call ?\t7-0\tBell -LRB- 1876 -RRB-\t1\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no variable, no cache."""
    monkeypatch.delenv("ANSELECT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def semeval(thread: str, label: str) -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<xml><Thread THREAD_SEQUENCE="{thread}">
<RelQuestion RELQ_ID="{thread}" RELQ_CATEGORY="Jobs" RELQ_DATE="2012" RELQ_USERID="U1" RELQ_USERNAME="user">
<RelQSubject>Work</RelQSubject><RelQBody>Any?</RelQBody></RelQuestion>
<RelComment RELC_ID="{thread}_C1" RELC_DATE="2012" RELC_USERID="U2" RELC_USERNAME="user" RELC_RELEVANCE2RELQ="{label}">
<RelCText>Yes.</RelCText></RelComment></Thread></xml>
"""


def test_roots_are_searched_in_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("ANSELECT_DATA", str(home / "named"))
    assert data_roots(home / "given") == [home / "given", home / "named", home / "cache" / "anselect" / "data"]
    assert data_roots() == [home / "named", home / "cache" / "anselect" / "data"]


def test_empty_variable_is_no_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("ANSELECT_DATA", "")
    assert data_roots() == [home / "cache" / "anselect" / "data"]


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {}, "/home/me/.cache/anselect"),
        ("linux", {"XDG_CACHE_HOME": "/fast"}, "/fast/anselect"),
        ("darwin", {"XDG_CACHE_HOME": "/fast"}, "/home/me/Library/Caches/anselect"),
        ("win32", {"LOCALAPPDATA": "/users/me/local"}, "/users/me/local/anselect/Cache"),
        ("win32", {}, "/home/me/AppData/Local/anselect/Cache"),
    ],
)
def test_cache_folder_follows_the_platform(platform: str, environment: dict[str, str], folder: str) -> None:
    assert cache_folder(platform, environment, Path("/home/me")).as_posix() == folder


@pytest.mark.parametrize("layout", ["wikiqa", "original/wikiqa", "."])
def test_original_file_is_found_in_each_layout(home: Path, layout: str) -> None:
    path = put(home / "root" / layout / "WikiQA-dev.tsv", WIKIQA)
    (question,) = read_split("wikiqa", "dev", data_dir=home / "root")
    assert (question.id, question.text) == ("Q1", "who called?")
    assert [(candidate.id, candidate.label) for candidate in question.candidates] == [("D1-0", 1), ("D1-1", 0)]
    source = split_source("wikiqa", "dev", home / "root")
    assert (source.kind, source.status) == ("original", HashStatus.changed)
    assert [(file.path.resolve(), file.sha256) for file in source.files] == [(path, file_sha256(path))]


def test_variable_and_cache_are_searched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    put(home / "cache" / "anselect" / "data" / "wikiqa" / "WikiQA-dev.tsv", WIKIQA)
    assert len(read_split("wikiqa", "dev")) == 1
    put(home / "named" / "wikiqa" / "WikiQA-dev.tsv", WIKIQA.replace("Q1", "Q2"))
    monkeypatch.setenv("ANSELECT_DATA", str(home / "named"))
    assert [question.id for question in read_split("wikiqa", "dev")] == ["Q2"]


def test_publishers_file_goes_before_pair_file(home: Path) -> None:
    put(home / "wikiqa" / "dev.tsv", PAIRS)
    assert split_source("wikiqa", "dev", home).kind == "normalised"
    put(home / "original" / "wikiqa" / "WikiQA-dev.tsv", WIKIQA)
    assert split_source("wikiqa", "dev", home).kind == "original"


def test_named_folder_goes_before_better_source_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home / "given" / "wikiqa" / "dev.tsv", PAIRS)
    put(home / "named" / "wikiqa" / "WikiQA-dev.tsv", WIKIQA)
    monkeypatch.setenv("ANSELECT_DATA", str(home / "named"))
    assert [question.id for question in read_split("wikiqa", "dev", data_dir=home / "given")] == ["7"]


def test_pair_file_counts_only_in_a_folder_of_the_data_set(home: Path) -> None:
    put(home / "mine" / "dev.tsv", PAIRS)
    with pytest.raises(MissingFileError):
        find_sources("wikiqa", "dev", home / "mine")
    put(home / "wikiqa" / "dev.tsv", PAIRS)
    assert len(read_split("wikiqa", "dev", data_dir=home / "wikiqa")) == 1


def test_missing_data_set_says_where_it_was_looked_for_and_what_to_do(home: Path) -> None:
    with pytest.raises(MissingFileError) as caught:
        read_split("wikiqa", "test", data_dir=home)
    message = str(caught.value)
    assert f"looked for WikiQA-test.tsv or test.tsv in {home}, " in message
    assert "'anselect data fetch wikiqa'" in message
    assert "\n" not in message


def test_missing_part_is_named(home: Path) -> None:
    put(home / "semeval2016" / "train-part2.tsv", PAIRS)
    with pytest.raises(MissingFileError, match="semeval2016 train-part1 is not on this machine"):
        read_split("semeval2016", "train", data_dir=home)


def test_source_of_several_files_needs_all_of_them(home: Path) -> None:
    put(home / "trecqa" / "nce-toks" / "train-all" / "id.txt", "1\n")
    with pytest.raises(MissingFileError, match=r"Train1-2393\.Question\.POSInput\.gz \+ "):
        find_sources("trecqa", "train-all", home)


def test_absent_data_dir_is_an_error_even_where_the_cache_has_the_data(home: Path) -> None:
    put(home / "cache" / "anselect" / "data" / "wikiqa" / "WikiQA-dev.tsv", WIKIQA)
    with pytest.raises(
        MissingFileError, match="nowhere: expected a folder with data sets, there is none: check --data-dir"
    ):
        read_split("wikiqa", "dev", data_dir=home / "nowhere")


def test_unknown_name_is_a_usage_error(home: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'wikiqa'"):
        read_split("wikipqa", "dev", data_dir=home)


def test_parts_are_read_one_after_the_other(home: Path) -> None:
    folder = home / "semeval2016"
    put(folder / "SemEval2016-Task3-CQA-QL-train-part1-subtaskA.xml", semeval("Q1_R1", "Good"))
    put(folder / "SemEval2016-Task3-CQA-QL-train-part2-subtaskA.xml", semeval("Q2_R1", "Bad"))
    # The publisher's names of these two are the wrong way round.
    extra = "SemEval2015-Task3-CQA-QL-{}-reformatted-excluding-2016-questions-cleansed.xml"
    put(folder / extra.format("test"), semeval("Q3", "Good"))
    put(folder / extra.format("dev"), semeval("Q4", "Good"))
    put(folder / "train-extra-2015test.tsv", PAIRS)
    for name in ("semeval2016", "semeval2017"):
        questions = read_split(name, "train", data_dir=home)
        assert [question.id for question in questions] == ["Q1_R1", "Q2_R1", "Q3", "Q4", "7"]
    assert [question.positives for question in questions] == [1, 0, 1, 1, 1]
    assert split_source("semeval2016", "train", home).kind == "mixed"
    assert find_sources("semeval2016", "train-extra-2015train", home)[0].paths == (folder / extra.format("test"),)


def test_yahoocqa_pickle_holds_every_split(home: Path) -> None:
    (home / "yahoocqa").mkdir()
    splits = {split: {f"{split} question": [["an answer", 1], ["another", 0]]} for split in ("train", "dev", "test")}
    (home / "yahoocqa" / "env.pkl").write_bytes(pickle.dumps(splits, protocol=2))
    for split in splits:
        assert [question.text for question in read_split("yahoocqa", split, data_dir=home)] == [f"{split} question"]


def test_semeval2015_xml_is_read(home: Path) -> None:
    xml = """<root>
<Question QID="Q1" QCATEGORY="Pets" QDATE="2009" QUSERID="U1" QTYPE="GENERAL" QGOLD_YN="Not Applicable">
<QSubject>Dogs</QSubject><QBody>Allowed?</QBody>
<Comment CID="Q1_C1" CUSERID="U2" CGOLD="Good" CGOLD_YN="Not Applicable">
<CSubject>RE</CSubject><CBody>Yes.</CBody></Comment>
</Question></root>"""
    put(home / "semeval2015" / "CQA-QL-devel.xml", xml)
    (question,) = read_split("semeval2015", "dev", data_dir=home)
    assert (question.id, question.positives) == ("Q1", 1)


def test_detokenize_turns_treebank_tokens_into_text_for_trecqa_only(home: Path) -> None:
    put(home / "trecqa" / "dev-raw.tsv", PAIRS)
    put(home / "wikiqa" / "dev.tsv", PAIRS)
    (plain,) = read_split("trecqa", "dev", data_dir=home)
    assert (plain.text, plain.candidates[0].text) == ("Who did n't call ?", "Bell -LRB- 1876 -RRB-")
    (text,) = read_split("trecqa", "dev", data_dir=home, detokenize=True)
    assert (text.text, text.candidates[0].text) == ("Who didn't call?", "Bell (1876)")
    assert read_split("wikiqa", "dev", data_dir=home, detokenize=True) == [plain]


# Split by split what the pair files in the benchmark data are called.
PAIR_FILES = [
    (name, split.name, source.files[0])
    for name in dataset_names()
    for split in find_dataset(name).splits.values()
    for source in split.sources
    if not source.is_original
]


def rows(questions: list[Question]) -> list[tuple[str, str, str, str, str]]:
    """As in a pair file: white space collapsed, no line for a question without candidates."""
    return [
        (
            question.id,
            " ".join(question.text.split()),
            candidate.id,
            " ".join(candidate.text.split()),
            str(candidate.label),
        )
        for question in questions
        for candidate in question.candidates
    ]


@pytest.mark.parametrize(("name", "split", "file"), PAIR_FILES, ids=lambda value: str(value))
def test_split_equals_the_pair_file_row_by_row(benchmark_data: Path, name: str, split: str, file: str) -> None:
    path = benchmark_data / name / file
    if not path.is_file():
        pytest.skip(f"{path} is not at hand")
    expected = [tuple(line.split("\t")[:5]) for _, line in read_lines(path)][1:]
    assert rows(read_split(name, split, data_dir=benchmark_data)) == expected


@pytest.mark.parametrize(("split", "empty"), [("train", 1), ("dev", 1), ("test", 5)])
def test_trecqa_questions_without_candidates_are_kept(benchmark_data: Path, split: str, empty: int) -> None:
    questions = read_split("trecqa", split, data_dir=benchmark_data)
    assert sum(not question.candidates for question in questions) == empty


@pytest.mark.parametrize("split", ["train-all", "dev"])
def test_detokenize_reaches_the_readers_of_trecqa(benchmark_data: Path, split: str) -> None:
    questions = read_split("trecqa", split, data_dir=benchmark_data, detokenize=True)
    assert not any("-LRB-" in candidate.text for question in questions for candidate in question.candidates)
    assert any("(" in candidate.text for question in questions for candidate in question.candidates)
