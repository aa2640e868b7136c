from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from anselect.cli.explain import explain
from anselect.cli.explain_html import render_html
from anselect.cli.explain_terminal import print_explanation
from anselect.errors import MissingFileError, UsageError
from anselect.records import Entity
from anselect.text.explain import ExplainedCandidate, ExplainedEntity, Explanation

QUESTION = "Who is the telephone inventor?"
SENTENCE = "The first telephone was invented by Bell."

app = typer.Typer()
app.command()(explain)


@dataclass(frozen=True)
class Type:
    coarse: str = "HUM"
    fine: str = "HUM:ind"
    confidence: float = 0.973


class BellTagger:
    name, version = "bell", "1"

    def tag(self, texts: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        for text in texts:
            found = [(text.index(word), word, label) for word, label in LABELS.items() if word in text]
            yield tuple(Entity(word, label, start, start + len(word)) for start, word, label in sorted(found))


LABELS = {"first": "ORDINAL", "Bell": "PERSON", "<b>": "ORG"}


@pytest.fixture(autouse=True)
def known_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, with a detector and a tagger whose answers are known."""
    monkeypatch.setattr("anselect.text.answer_type.detect_answer_type", lambda _: Type())
    monkeypatch.setattr("anselect.cli.explain.load_tagger", lambda _: BellTagger())


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def test_table_shows_type_entities_and_what_is_highlighted() -> None:
    result = run(QUESTION, SENTENCE, "It rings.")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "question Who is the telephone inventor?",
        "expects  HUM a person or a group  (probability 0.973, more exactly HUM:ind)",
        "",
        "1  The first telephone was invented by Bell.",
        "   entities     first [ORDINAL → NUM], Bell [PERSON → HUM ✓]",
        "   highlighted  The first telephone was invented by SPECIAL_TOKEN.",
        "",
        "2  It rings.",
        "   entities     none",
        "",
    ]


def test_question_alone_shows_its_type() -> None:
    assert run(QUESTION).stdout.splitlines()[1].startswith("expects  HUM")


def test_json_has_the_public_names() -> None:
    found = json.loads(run(QUESTION, SENTENCE, "--format", "json", "--way", "mark").stdout)
    assert list(found) == ["question", "answer_type", "answer_type_fine", "confidence", "candidates"]
    (candidate,) = found["candidates"]
    assert list(candidate) == ["text", "highlighted", "entities"]
    assert candidate["highlighted"] == "The first telephone was invented by [ENTITY] Bell [/ENTITY]."
    assert candidate["entities"][1] == {
        "text": "Bell", "label": "PERSON", "answer_type": "HUM", "start": 36, "end": 40, "matches": True
    }  # fmt: skip


def test_candidates_come_from_arguments_file_and_stdin(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("two\n\nthree Bell\n")
    found = json.loads(run(QUESTION, "one", "--candidates", str(tmp_path / "some.txt"), "--format", "json").stdout)
    assert [candidate["text"] for candidate in found["candidates"]] == ["one", "two", "three Bell"]
    found = json.loads(run(QUESTION, "--candidates", "-", "--format", "json", stdin="four\n").stdout)
    assert [candidate["text"] for candidate in found["candidates"]] == ["four"]


def test_output_goes_to_a_file_with_a_note(tmp_path: Path) -> None:
    result = run(QUESTION, SENTENCE, "--format", "html", "--output", str(tmp_path / "page.html"))
    assert (result.stdout, result.exit_code) == ("", 0)
    assert "note: wrote" in result.stderr
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    run(QUESTION, SENTENCE, "--output", str(tmp_path / "plain.txt"))
    assert "Bell [PERSON → HUM ✓]" in (tmp_path / "plain.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["", SENTENCE], UsageError),
        ([QUESTION, "--candidates", "nowhere.txt"], MissingFileError),
        ([QUESTION, "\udcff"], UsageError),
    ],
)
def test_bad_input_is_an_error_of_ours(arguments: list[str], error: type[Exception]) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, error)
    assert result.stdout == ""


def test_help_says_that_without_a_model_nobody_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("--help").stdout
    assert "without it nothing is scored" in shown
    assert "by default the bundled model" not in shown


def test_unknown_way_is_a_mistake_in_arguments() -> None:
    result = run(QUESTION, "--way", "blink")
    assert result.exit_code == 2
    assert "replace-typed" in result.stderr


def explanation(text: str, *entities: ExplainedEntity, question: str = QUESTION, coarse: str = "HUM") -> Explanation:
    return Explanation(question, coarse, f"{coarse}:x", 0.5, (ExplainedCandidate(text, text, entities),))


def test_terminal_gets_colours_and_bold_for_matches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    bell = ExplainedEntity("Bell", "PERSON", "HUM", 0, 4, matches=True)
    date = ExplainedEntity("1876", "DATE", "NUM", 5, 9, matches=False)
    print_explanation(explanation("Bell 1876", bell, date))
    printed = capsys.readouterr().out
    assert "\x1b[1;34mBell\x1b[0m \x1b[33m1876\x1b[0m" in printed
    monkeypatch.setenv("NO_COLOR", "1")
    print_explanation(explanation("Bell 1876", bell, date))
    printed = capsys.readouterr().out
    assert "\x1b[1mBell\x1b[0m 1876" in printed


def test_control_characters_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation(explanation("a\x1b[31mb\tc\x07\u202e"))
    assert "1  a\ufffd[31mb c\ufffd\ufffd\n" in capsys.readouterr().out


class Page(HTMLParser):
    """Collects tags and visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shown = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_page_is_self_contained_and_shows_labels() -> None:
    page = Page(run(QUESTION, SENTENCE, "--format", "html").stdout)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert not [attributes for _, attributes in page.tags if "src" in attributes or "href" in attributes]
    assert "url(" not in page.shown
    assert "BellPERSON ✓" in page.shown
    assert "firstORDINAL" in page.shown
    assert "highlightedThe first telephone was invented by SPECIAL_TOKEN." in page.shown
    assert "model reads" not in page.shown
    classes = [attributes.get("class") for tag, attributes in page.tags if tag == "mark"]
    assert classes[:2] == ["NUM", "HUM match"]


def test_page_escapes_every_word_of_the_user_s() -> None:
    result = run("Who <script>alert(1)</script> $title?", '"&<b>\x1b</li>', "--format", "html")
    page = Page(result.stdout)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "\x1b" not in result.stdout
    assert "Who <script>alert(1)</script> $title?" in page.shown
    assert '"&<b>ORG ✓\ufffd</li>' in page.shown


def test_page_of_a_description_question_says_that_nothing_is_highlighted() -> None:
    page = Page(render_html(explanation("It rings.", coarse="DESC")))
    assert "nothing is highlighted" in page.shown
    assert "no DESC entity" not in page.shown


def test_page_without_candidates_says_so() -> None:
    assert "No candidates were given" in run(QUESTION, "--format", "html").stdout


def test_every_placeholder_of_the_page_is_filled() -> None:
    assert "$" not in render_html(explanation("It rings."))


def test_right_to_left_text_gets_its_own_direction() -> None:
    page = render_html(explanation("هاتف", question="من؟"))
    assert '<h1 dir="auto">من؟</h1>' in page
    assert '<p class="text" dir="auto">هاتف</p>' in page
