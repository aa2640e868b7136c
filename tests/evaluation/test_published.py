from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from anselect.data.protocols import PROTOCOLS
from anselect.evaluation.published import PublishedFigure, published_figures


@pytest.mark.parametrize(
    ("data", "protocol", "figure"),
    [
        ("wikiqa", "243", PublishedFigure("CETE", "fine-tuned: roberta-large", 0.900, 0.915, "243")),
        ("trecqa", "clean", PublishedFigure("BAS", "base+rnn+uncased", 0.915, 0.959, "clean")),
        ("trecqa", "raw-95", PublishedFigure("BAS", "base+rnn+uncased", 0.872, 0.899, "raw-95")),
        ("trecqa", "raw-95", PublishedFigure("CETE", "fine-tuned: roberta-large", 0.950, 0.980, "raw-89")),
        ("semeval2015", "semeval", PublishedFigure("CETE", "features: elmo", 0.875, 0.909, "answerable")),
        ("semeval2017", "semeval", PublishedFigure("BERTSel", "base, 3 epochs", 0.909, 0.951, None)),
    ],
)
def test_published_figure_is_found(data: str, protocol: str, figure: PublishedFigure) -> None:
    assert figure in published_figures(data, "test", PROTOCOLS[protocol])


def test_published_figures_are_sorted_best_first() -> None:
    means = [figure.map for figure in published_figures("wikiqa", "test", PROTOCOLS["243"])]
    assert means == sorted(means, reverse=True)
    assert len(means) == 29


@pytest.mark.parametrize(("data", "split"), [("wikiqa", "dev"), (None, "test")])
def test_nothing_is_published_for_other_splits_and_own_files(data: str | None, split: str) -> None:
    assert published_figures(data, split, PROTOCOLS["answerable"]) == []


def test_believed_protocols_exist_and_apply() -> None:
    for data in ("trecqa", "wikiqa", "yahoocqa", "semeval2015", "semeval2016", "semeval2017"):
        for protocol in ("mixed", "answerable"):
            for figure in published_figures(data, "test", PROTOCOLS[protocol]):
                assert figure.protocol is None or PROTOCOLS[figure.protocol].applies_to(data)


def test_figures_equal_those_read_from_the_papers(benchmark_data: Path) -> None:
    source = benchmark_data.parent / "papers" / "published.toml"
    if not source.is_file():
        pytest.skip("the figures read from the papers are not on this machine")
    printed = {
        (paper, system, tuple(figures[data]))
        for paper, systems in tomllib.loads(source.read_text(encoding="utf-8")).items()
        for system, figures in systems.items()
        for data in figures
    }
    ours = {
        (figure.paper.lower(), figure.system, (figure.map, figure.mrr))
        for data in ("trecqa", "wikiqa", "yahoocqa", "semeval2015", "semeval2016", "semeval2017")
        for protocol in ("mixed", "answerable")
        for figure in published_figures(data, "test", PROTOCOLS[protocol])
    }
    assert ours == printed
