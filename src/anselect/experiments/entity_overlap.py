"""How often a correct and how often a wrong candidate holds an entity of the expected type, before any training.

Run as `python -m anselect.experiments.entity_overlap`: Markdown on stdout, the same numbers as JSON with `--json FILE`.
With `--types question-word` the detector has no part in it: only questions whose words leave no doubt count.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from anselect.data.files import write_text
from anselect.data.locate import read_split
from anselect.data.statistics import clean_questions
from anselect.evaluation.judgements import FloatArray, Judgements
from anselect.evaluation.metrics import measure_questions
from anselect.experiments.markdown import markdown_row
from anselect.records import Entity, Question
from anselect.text.answer_type import detect_answer_types
from anselect.text.entities import EntityTagger, load_tagger
from anselect.text.entity_types import ENTITY_LABELS, labels_of

SPLITS: Final = (("wikiqa", "dev"), ("wikiqa", "test"), ("trecqa", "dev"), ("trecqa", "test"))
ALL_TYPES: Final = "all"
WITH_ENTITIES: Final = "HUM LOC NUM ENTY"
COLUMNS: Final = (
    "data",
    "answer type",
    "questions",
    "correct, with entity",
    "wrong, with entity",
    "correct, with new entity",
    "wrong, with new entity",
    "MAP by chance",
    "MAP by entity",
    "MAP by new entity",
)


@dataclass(frozen=True, slots=True)
class Held:
    """Whether each candidate of a question holds an entity of the expected type."""

    question: Question
    coarse_type: str
    any_entity: tuple[bool, ...]
    new_entity: tuple[bool, ...]
    """The same for entities that the question itself does not name: those cannot be its answer."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The counts of one answer type in one split."""

    data: str
    split: str
    form: str
    """`tokens` as TrecQA has them, or `text`."""
    answer_type: str
    questions: int
    correct: int
    correct_with: int
    """Correct candidates with an entity of the expected type."""
    correct_with_new: int
    wrong: int
    wrong_with: int
    wrong_with_new: int
    random_map: float
    """MAP when the order is left to chance."""
    entity_map: float
    """MAP when candidates with such an entity stand first, the rest left to chance."""
    new_entity_map: float


# Wordings that name the coarse type by themselves; the first that is found counts.
QUESTION_WORDS: Final = (
    ("NUM", r"^when\b|\bhow (many|much|long|old|tall|far|big|large|high|deep|often|fast|hot|cold|heavy)\b"),
    ("NUM", r"\b(what|which) (year|date|day|month|decade|century|percentage|number|age|population)\b"),
    ("LOC", r"^where\b|\b(what|which) (city|town|state|county|province|country|continent|island|river|ocean)\b"),
    ("HUM", r"^(who|whom|whose)\b"),
)
TypeFinder = Callable[[Iterable[str]], Iterable[str | None]]
"""Questions in, coarse types out; None leaves a question out of the count."""


def types_by_detector(questions: Iterable[str]) -> Iterator[str]:
    """Ask the bundled model."""
    return (found.coarse for found in detect_answer_types(questions))


def types_by_question_word(questions: Iterable[str]) -> Iterator[str | None]:
    """Read the type off the question's own words.

    >>> list(types_by_question_word(["Who ran?", "In what year?", "Where is it?", "What is it?"]))
    ['HUM', 'NUM', 'LOC', None]
    """
    for question in questions:
        found = (kind for kind, words in QUESTION_WORDS if re.search(words, question, re.IGNORECASE))
        yield next(found, None)


TYPE_FINDERS: Final[Mapping[str, TypeFinder]] = {
    "detector": types_by_detector,
    "question-word": types_by_question_word,
}


def find_held(typed: Sequence[tuple[Question, str]], tagger: EntityTagger) -> list[Held]:
    """Tag every candidate and compare its entities with the expected type."""
    tagged = tagger.tag(candidate.text for question, _ in typed for candidate in question.candidates)
    return [_held(question, kind, [next(tagged) for _ in question.candidates]) for question, kind in typed]


def count_overlap(held: Sequence[Held], data: str, split: str, form: str) -> Iterator[Overlap]:
    """Yield one row per answer type that occurs, then one for the types that have entities and one for all."""
    groups = {kind: {kind} for kind in ENTITY_LABELS}
    groups[WITH_ENTITIES] = set(WITH_ENTITIES.split())
    groups[ALL_TYPES] = set(ENTITY_LABELS)
    for name, kinds in groups.items():
        chosen = [item for item in held if item.coarse_type in kinds]
        if chosen:
            yield _count(chosen, (data, split, form, name))


def measure_overlap(
    tagger: EntityTagger,
    find_types: TypeFinder,
    *,
    splits: Sequence[tuple[str, str]] = SPLITS,
    data_dir: Path | None = None,
) -> Iterator[Overlap]:
    """Measure splits; only questions with a correct and a wrong candidate count, since only there can an order err."""
    for data, split in splits:
        for form in ("text", "tokens") if data == "trecqa" else ("text",):
            read = read_split(data, split, data_dir=data_dir, detokenize=form == "text")
            questions = clean_questions(read, keep_all_positive=False)
            types = find_types(question.text for question in questions)
            typed = [(question, kind) for question, kind in zip(questions, types, strict=True) if kind]
            yield from count_overlap(find_held(typed, tagger), data, split, form)


def to_markdown(rows: Iterable[Overlap]) -> str:
    """Return the rows as one Markdown table."""
    rule = ["---"] * 2 + ["---:"] * (len(COLUMNS) - 2)
    return "\n".join([markdown_row(COLUMNS), markdown_row(rule), *(markdown_row(_cells(row)) for row in rows)]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the splits and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the data sets")
    parser.add_argument("--pipeline", help="spaCy pipeline (default: the first installed)")
    parser.add_argument("--types", choices=list(TYPE_FINDERS), default="detector", help="who tells the answer types")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    options = parser.parse_args(arguments)
    tagger = load_tagger(options.pipeline)
    rows = list(measure_overlap(tagger, TYPE_FINDERS[options.types], data_dir=options.data_dir))
    about = f"Entities by {tagger.name} {tagger.version}, answer types by {options.types}."
    sys.stdout.write(f"{about}\n\n{to_markdown(rows)}")
    if options.json:
        with write_text(options.json) as file:
            json.dump([asdict(row) for row in rows], file, indent=2)


def _held(question: Question, coarse_type: str, tagged: Sequence[tuple[Entity, ...]]) -> Held:
    labels = labels_of(coarse_type)
    asked = question.text.casefold()
    wanted = [[entity for entity in entities if entity.label in labels] for entities in tagged]
    new = [[entity for entity in entities if entity.text.casefold() not in asked] for entities in wanted]
    return Held(question, coarse_type, tuple(map(bool, wanted)), tuple(map(bool, new)))


def _count(held: Sequence[Held], names: tuple[str, str, str, str]) -> Overlap:
    correct = np.array([candidate.is_correct for item in held for candidate in item.question.candidates])
    any_entity = np.array([value for item in held for value in item.any_entity])
    new_entity = np.array([value for item in held for value in item.new_entity])
    questions = [item.question for item in held]
    return Overlap(
        *names,
        questions=len(held),
        correct=int(correct.sum()),
        correct_with=int((correct & any_entity).sum()),
        correct_with_new=int((correct & new_entity).sum()),
        wrong=int((~correct).sum()),
        wrong_with=int((~correct & any_entity).sum()),
        wrong_with_new=int((~correct & new_entity).sum()),
        random_map=_mean_average_precision(questions, np.zeros(len(correct))),
        entity_map=_mean_average_precision(questions, any_entity.astype(float)),
        new_entity_map=_mean_average_precision(questions, new_entity.astype(float)),
    )


def _mean_average_precision(questions: Sequence[Question], scores: FloatArray) -> float:
    measured = measure_questions(Judgements.from_questions(questions), scores, measures=("MAP",))
    return float(measured.measures["MAP"].value.mean())


def _cells(row: Overlap) -> list[str]:
    return [
        f"{row.data} {row.split}" + (" tokens" if row.form == "tokens" else ""),
        row.answer_type,
        str(row.questions),
        _share(row.correct_with, row.correct),
        _share(row.wrong_with, row.wrong),
        _share(row.correct_with_new, row.correct),
        _share(row.wrong_with_new, row.wrong),
        f"{row.random_map:.3f}",
        f"{row.entity_map:.3f}",
        f"{row.new_entity_map:.3f}",
    ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % of {whole}" if whole else "-"


if __name__ == "__main__":
    main()
