"""TrecQA's pseudo-XML: `<QApairs>` blocks of tab-separated token lines, `&` and `<` unescaped; in and out as questions.

Read line by line, because no XML parser accepts it: only whole lines that are tags count as tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from anselect.data.files import read_lines
from anselect.data.formats.checks import UniqueIds, at_least_one, needed_label, plain_id, shown
from anselect.data.text_target import open_text_target
from anselect.data.treebank import tokens_to_text
from anselect.errors import DataError
from anselect.records import Candidate, Question

LAYERS: Final = ("pos", "dep", "head", "ner")
ANSWER_LAYERS: Final = ("answer", "answer_positions")
UNKNOWN: Final = "_"
"""Written where a layer is not known; a layer of nothing else is left out on reading."""
LABELS: Final = {"<positive>": 1, "<negative>": 0}
END: Final = "</QApairs>"
_BLOCK: Final = re.compile(r"<QApairs id=(['\"])(.+)\1>")
_TAG: Final = re.compile(r"</?(?:QApairs|question|positive|negative)\b[^>]*>")


class _Lines:
    """The numbered lines of the file, with the number of the last one read."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 1
        self._lines = read_lines(path)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, line in self._lines:
            self.number = number
            yield number, line

    def cut_short(self, expected: str) -> DataError:
        message = f"expected {expected}, got the end of the file: is it whole? fetch it again"
        return DataError(message, path=self.path, line=self.number)


def read_trecqa_xml(path: Path, *, detokenize: bool = False) -> Iterator[Question]:
    """Yield every block of a TrecQA file, also those without candidates; candidate ids are `<question id>-<k>`.

    Texts are the words joined with one blank, or with `detokenize` readable text (the words are then in `tokens`).
    Metadata, one value a word: `pos`, `dep`, `head`, `ner`; on positives `answer` and `answer_positions` (words
    counted from 1), several answers separated by `#`. A candidate block without lines gives an empty text.
    """
    return at_least_one(_blocks(path, detokenize=detokenize), path)


def write_trecqa_xml(questions: Iterable[Question], path: Path) -> None:
    """Write a TrecQA file; white space becomes one tab, candidate ids become positions, unknown layers `_`.

    Raises DataError for a missing label, a text that looks like a tag, or layers that do not fit the words.
    """
    with open_text_target(path) as file:
        for question in questions:
            question_id = plain_id(question.id, forbidden="'\"", path=path)
            file.write(f"<QApairs id='{question_id}'>\n")
            file.writelines(_written_sentence(question, "question", path))
            for candidate in question.candidates:
                tag = "positive" if needed_label(question, candidate, path) else "negative"
                file.writelines(_written_sentence(candidate, tag, path))
            file.write(f"{END}\n")


def _blocks(path: Path, *, detokenize: bool) -> Iterator[Question]:
    lines = _Lines(path)
    ids = UniqueIds("question id", path)
    for number, line in lines:
        if not line.strip():
            continue
        start = _BLOCK.fullmatch(line.strip())
        if start is None:
            raise DataError(f"expected <QApairs id='…'>, got {shown(line)}: is this TrecQA?", path=path, line=number)
        yield _block(ids.add(start[2], number), lines, detokenize=detokenize)


def _block(question_id: str, lines: _Lines, *, detokenize: bool) -> Question:
    number, tag = _next_tag(lines, expected="<question>")
    if tag != "<question>":
        raise DataError(f"expected <question>, got {shown(tag)}: correct this block", path=lines.path, line=number)
    words, question_metadata = _sentence(lines, tag)
    candidates: list[Candidate] = []
    while (place_and_tag := _next_tag(lines, expected=END))[1] != END:
        number, tag = place_and_tag
        if tag not in LABELS:
            message = f"expected <positive>, <negative> or {END}, got {shown(tag)}: correct this block"
            raise DataError(message, path=lines.path, line=number)
        tokens, metadata = _sentence(lines, tag)
        candidate_id = f"{question_id}-{len(candidates)}"
        text, metadata = _as_text(tokens, metadata, detokenize=detokenize)
        candidates.append(Candidate(candidate_id, text, LABELS[tag], metadata))
    text, question_metadata = _as_text(words, question_metadata, detokenize=detokenize)
    return Question(question_id, text, tuple(candidates), question_metadata)


def _next_tag(lines: _Lines, *, expected: str) -> tuple[int, str]:
    for number, line in lines:
        if tag := line.strip():
            return number, tag
    raise lines.cut_short(expected)


def _sentence(lines: _Lines, tag: str) -> tuple[list[str], dict[str, str]]:
    """Read the token lines up to the closing tag: words and four layers, then perhaps the answer and its positions."""
    end = tag.replace("<", "</")
    layers: list[list[str]] = []
    for number, line in lines:
        if line.strip() == end:
            _check_layers(layers, tag, lines.path, number)
            return _named(layers)
        if _TAG.fullmatch(line.strip()):
            raise DataError(f"expected {end}, got {shown(line)}: correct this block", path=lines.path, line=number)
        layers.append(line.split("\t"))
    raise lines.cut_short(end)


def _check_layers(layers: list[list[str]], tag: str, path: Path, line: int) -> None:
    allowed = (5,) if tag == "<question>" else (0, 5, 7)
    if len(layers) not in allowed:
        message = f"expected {' or '.join(map(str, allowed[-2:]))} lines in {tag}, got {len(layers)}"
        raise DataError(f"{message}: words, pos, dep, head, ner, then answer and positions", path=path, line=line)
    for above, layer in enumerate(layers[:5]):
        if len(layer) != len(layers[0]):
            message = f"expected {len(layers[0])} tab-separated values, one a word, got {len(layer)}: correct this line"
            raise DataError(message, path=path, line=line - len(layers) + above)


def _named(layers: list[list[str]]) -> tuple[list[str], dict[str, str]]:
    words = layers[0] if layers else []
    named = zip((*LAYERS, *ANSWER_LAYERS), layers[1:], strict=False)
    # Answer lines often end in a tab, which is no further word.
    texts = ((key, " ".join(layer).rstrip()) for key, layer in named if set(layer) != {UNKNOWN})
    return words, {key: text for key, text in texts if text}


def _as_text(tokens: list[str], metadata: dict[str, str], *, detokenize: bool) -> tuple[str, dict[str, str]]:
    if detokenize:
        answers = metadata.get("answer", "").split(" # ")
        metadata["tokens"] = " ".join(tokens)
        if answers != [""]:
            metadata["answer"] = " # ".join(tokens_to_text(answer.split(), detokenize=True) for answer in answers)
    return tokens_to_text(tokens, detokenize=detokenize), metadata


def _written_sentence(record: Question | Candidate, tag: str, path: Path) -> list[str]:
    tokens = _tokens(record)
    words = "\t".join(tokens)
    if _TAG.fullmatch(words):
        raise DataError(f"{record.id}: expected a text, got the tag {words}: reword it", path=path)
    layers = [_written_layer(record, key, len(tokens), path) for key in LAYERS]
    answers = _written_answer(record, tokens) if isinstance(record, Candidate) else []
    return [f"{line}\n" for line in (f"<{tag}>", words, *layers, *answers, f"</{tag}>")]


def _tokens(record: Question | Candidate) -> list[str]:
    """Return the source's words where the text is still what they give, and the text's own words otherwise."""
    words = record.metadata.get("tokens", "").split()
    is_source = words and tokens_to_text(words, detokenize=True) == record.text
    return words if is_source else record.text.split()


def _written_layer(record: Question | Candidate, key: str, words: int, path: Path) -> str:
    values = record.metadata[key].split() if key in record.metadata else [UNKNOWN] * words
    if len(values) != words:
        message = f"{record.id}: expected {words} values in `{key}`, one a word, got {len(values)}: drop this metadata"
        raise DataError(message, path=path)
    return "\t".join(values)


def _written_answer(candidate: Candidate, tokens: list[str]) -> list[str]:
    if "answer" not in candidate.metadata:
        return []
    positions = candidate.metadata.get("answer_positions", UNKNOWN).split()
    known = all(value == "#" or (value.isdecimal() and 0 < int(value) <= len(tokens)) for value in positions)
    # The words at the positions, not `answer`: that may have been turned into readable text.
    answer = [value if value == "#" else tokens[int(value) - 1] for value in positions] if known else []
    return ["\t".join(answer or candidate.metadata["answer"].split()), "\t".join(positions)]
