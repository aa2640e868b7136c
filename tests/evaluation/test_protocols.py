from __future__ import annotations

import pytest

from anselect.data.catalogue import dataset_names
from anselect.data.protocols import (
    PROTOCOLS,
    Counting,
    Protocol,
    Ties,
    default_protocol,
    find_protocol,
    protocols_for,
)
from anselect.errors import UsageError


def test_every_convention_of_the_field_has_a_protocol() -> None:
    assert {"clean", "raw-89", "raw-95", "243", "237", "633", "semeval", "trec_eval", "cete", "tanda"} <= set(PROTOCOLS)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_protocol_explains_itself(protocol: Protocol) -> None:
    assert protocol.summary.endswith(".")
    assert set(protocol.data_sets) <= set(dataset_names())
    assert protocol.no_positive == ("0" if protocol.counting is Counting.every else "left out")
    assert bool(protocol.warning) == (protocol.ties in {Ties.file_order, Ties.label_first})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("trecqa", "clean"),
        ("wikiqa", "243"),
        ("semeval2015", "semeval"),
        ("semeval2016", "semeval"),
        ("semeval2017", "semeval"),
        ("yahoocqa", "answerable"),
        (None, "answerable"),
    ],
)
def test_default_protocol_of_each_data_set_applies_to_it(data: str | None, expected: str) -> None:
    assert default_protocol(data).name == expected
    assert default_protocol(data) is protocols_for(data)[0]


@pytest.mark.parametrize("data", [*dataset_names(), None])
def test_every_data_set_is_shown_the_worthless_protocols_too(data: str | None) -> None:
    assert {"trec_eval", "cete", "tanda"} <= {protocol.name for protocol in protocols_for(data)}


def test_unknown_protocol_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown protocol 'raw': known are clean, raw-89, .*, all"):
        find_protocol("raw")


def test_protocol_of_another_data_set_is_refused() -> None:
    with pytest.raises(UsageError, match="protocol 'clean' is for trecqa, not for wikiqa: use 243, 237, 633"):
        find_protocol("clean", data="wikiqa")


def test_own_file_may_be_evaluated_under_any_protocol() -> None:
    assert find_protocol("clean").counting is Counting.mixed
