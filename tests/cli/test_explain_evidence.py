"""`explain --evidence` and `--heatmap`: signs without colour, a page without holes, one line for every mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from anselect.cli.explain import explain
from anselect.cli.explain_evidence import comparison_lines, evidence_lines
from anselect.cli.explain_html import render_html
from anselect.errors import UsageError
from anselect.modeling.checkpoint import save_checkpoint
from anselect.modeling.cross_encoder import AnswerSelectionModel
from anselect.text.explain import ExplainedCandidate, Explanation, add_evidence
from anselect.text.explain_evidence import CandidateEvidence, Method, WordEvidence
from anselect.text.steps import TextSteps
from tests.training.tiny import save_tiny_bert

QUESTION = "who made the lamp"
CANDIDATES = ["The lamp is rome", "Bell made the lamp"]

app = typer.Typer()
app.command()(explain)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained model, and a pipeline without weights."""
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    save_checkpoint(*AnswerSelectionModel.from_encoder(save_tiny_bert(folder / "bert"), max_tokens=16), folder / "m")
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Bell"}])
    nlp.to_disk(folder / "rules")
    model, tokenizer = AnswerSelectionModel.from_encoder(str(folder / "bert"), max_tokens=16)
    model.add_highlight_tokens(tokenizer, "mark")
    model.config.text_steps = asdict(TextSteps("mark", str(folder / "rules")))
    save_checkpoint(model, tokenizer, folder / "marked")
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def run(folder: Path, *arguments: str) -> Result:
    options = ["--model", str(folder / "m"), "--pipeline", str(folder / "rules"), *arguments]
    return CliRunner().invoke(app, [QUESTION, *CANDIDATES, *options])


@pytest.mark.parametrize("inside", [[], ["--evidence", "occlusion"]], ids=["scores", "evidence"])
@pytest.mark.parametrize(("model", "read"), [("m", None), ("marked", "[ENTITY] Bell [/ENTITY] made the lamp")])
def test_shown_is_what_the_model_itself_reads(folder: Path, model: str, read: str | None, inside: list[str]) -> None:
    check_read(read, str(folder / model), "--pipeline", str(folder / "rules"), *inside)


def test_shown_is_what_the_bundled_model_reads(folder: Path) -> None:
    check_read(None, "bundled", "--pipeline", str(folder / "rules"))


def check_read(read: str | None, model: str, *options: str) -> None:
    arguments = [QUESTION, *CANDIDATES, "--model", model, *options]
    lines = CliRunner().invoke(app, arguments).stdout.splitlines()
    assert [line for line in lines if "reads as" in line] == ([f"   reads as  {read}"] if read else [])
    assert not any("SPECIAL_TOKEN" in line or "highlighted" in line for line in lines)
    page = CliRunner().invoke(app, [*arguments, "--format", "html"]).stdout
    assert ("what the model reads</b>" in page) == (read is not None)


@pytest.mark.parametrize("method", list(Method))
def test_json_has_evidence_with_offsets_into_the_user_s_text(folder: Path, method: Method) -> None:
    found = json.loads(run(folder, "--evidence", method, "--format", "json").stdout)
    for text, candidate in zip(CANDIDATES, found["candidates"], strict=True):
        evidence = candidate["evidence"]
        assert evidence["method"] == method
        assert [text[word["start"] : word["end"]] for word in evidence["words"]] == text.split()
        assert (evidence["gap"] is None) == (method is Method.OCCLUSION)
        assert candidate["highlighted"] == text  # this model reads plain texts, whatever --way says
        assert torch.sigmoid(torch.tensor(evidence["logit"])).item() == pytest.approx(candidate["score"], abs=1e-6)
    best = max((0, 1), key=lambda place: float(found["candidates"][place]["score"]))
    assert (found["comparison"]["first"], found["comparison"]["second"]) == (best, 1 - best)
    assert found["comparison"]["logit_difference"] > 0


def test_heatmap_is_written_as_its_name_says(folder: Path, tmp_path: Path) -> None:
    result = run(folder, "--heatmap", str(tmp_path / "map.svg"), "--evidence", "occlusion")
    assert (result.exit_code, "note: wrote" in result.stderr) == (0, True)
    drawn = (tmp_path / "map.svg").read_text()
    assert all(f">{word}</text>" in drawn for word in ("who", "rome", "Bell", "lamp"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--evidence", "occlusion"], "expected --model with --evidence"),
        (["--heatmap", "map.png"], "expected --model with --evidence"),
        (["--heatmap", "map.pdf", "--model", "m"], "expected a figure's name to end in .png or .svg"),
        (["--evidence", "occlusion", "--model", "bundled"], "bundled: expected a run or a model with its weights"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_first(arguments: list[str], message: str) -> None:
    error = CliRunner().invoke(app, [QUESTION, *CANDIDATES, *arguments]).exception
    assert isinstance(error, UsageError)
    assert message in str(error)


def test_without_torch_one_line_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from anselect.cli.explain_model import Wishes, ask_model\n"
        "from anselect.errors import AnselectError\n"
        "from anselect.text.explain import Explanation\n"
        "try:\n"
        "    ask_model(Explanation('q', 'HUM', 'x', 0.5, ()), ['a'], Wishes('m', 'occlusion', None))\n"
        "except AnselectError as error:\n"
        "    print(error.exit_code, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3 torch is not installed: pip install 'anselect[train]'\n"


def evidence(text: str, *values: float, unread: int = 0) -> CandidateEvidence:
    words, done = [], 0
    for place, (word, value) in enumerate(zip(text.split(), values, strict=True)):
        start = text.index(word, done)
        done = start + len(word)
        words.append(WordEvidence(word, start, done, value, place < len(values) - unread))
    return CandidateEvidence(text, Method.OCCLUSION, 1.0, -1.0, tuple(words))


def explanation() -> Explanation:
    texts = ("Bell <b>did it", "it \x1brings")
    candidates = tuple(ExplainedCandidate(text, text, ()) for text in texts)
    found = [evidence(texts[0], 2.0, -0.8, 0.0, unread=1), evidence(texts[1], 0.3, -0.3)]
    return add_evidence(Explanation("Who?", "HUM", "HUM:ind", 0.9, candidates), found)


def test_terminal_shows_signs_beside_colours() -> None:
    (_, text), (_, strongest), (_, about) = evidence_lines(evidence("Bell did it\x1b", 2.0, -0.8, 0.1))
    assert text.plain == "Bell+++ did−− it\ufffd"
    assert {str(span.style) for span in text.spans} == {"bold blue", "bold yellow"}
    assert strongest.plain == "Bell +2.00, did −0.80, it\ufffd +0.10"
    assert about.plain == "occlusion: logit +1.00, −1.00 with all words masked"
    assert evidence_lines(evidence("a b", 1.0, 0.0, unread=1))[2][1].plain.endswith("; 1 words not read")


def test_terminal_says_why_one_is_above_another() -> None:
    comparison = explanation().comparison
    assert comparison is not None
    lines = [prefix + text.plain for prefix, text in comparison_lines(comparison)]
    assert lines[0] == "why 1 over 2  difference of logits +0.00: words +1.20, length alone +0.00, not told apart −1.20"
    assert lines[1] == "  +2.00 Bell  (+2.00 in 1, +0.00 in 2)"


def test_page_escapes_words_and_shows_numbers_beside_colours() -> None:
    page = render_html(explanation())
    assert "$" not in page
    assert "\x1b" not in page
    assert "<b>did" not in page
    assert '<span class="up" style="--strength:1.00"><bdi>Bell</bdi><sup dir="ltr">+2.0</sup></span>' in page
    assert '<bdi>&lt;b&gt;did</bdi><sup dir="ltr">−0.8</sup>' in page
    assert '<span class="unread">it</span>' in page
    assert "<h2>Why 1 over 2</h2>" in page
