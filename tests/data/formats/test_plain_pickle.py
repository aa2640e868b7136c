"""Only plain values come out of a pickle; everything that could run code or eat memory is refused unloaded."""

from __future__ import annotations

import datetime
import io
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anselect.data.formats.plain_pickle import PlainUnpickler, load_plain_pickle
from anselect.errors import DataError

PATH = Path("p.pkl")
PLAIN = st.recursive(
    st.integers() | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text() | st.integers(), values),
    max_leaves=20,
)


class RunsCommand:
    """Unpickled by an ordinary loader, this makes a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@settings(deadline=None, max_examples=25)
@given(value=PLAIN)
def test_load_plain_pickle_reads_plain_values_of_every_protocol(value: object, protocol: int) -> None:
    assert load_plain_pickle(pickle.dumps(value, protocol), PATH) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_load_plain_pickle_runs_no_code(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps({"train": RunsCommand(tmp_path / "made")}, protocol)
    with pytest.raises(
        DataError, match=r"^p.pkl: expected a pickle of dict, list, str and int, got .* it may run code"
    ):
        load_plain_pickle(data, PATH)
    assert not (tmp_path / "made").exists()


OTHER_VALUES: dict[str, object] = {
    "tuple": (1, 2),
    "none": None,
    "float": 0.5,
    "bytes": b"x",
    "set": {1},
    "class": OrderedDict(),
    "function": len,
    "date": datetime.date(2017, 8, 7),
    "bool": True,
}


@pytest.mark.parametrize("value", OTHER_VALUES.values(), ids=OTHER_VALUES)
def test_load_plain_pickle_refuses_other_types(value: object) -> None:
    with pytest.raises(DataError, match="expected a pickle of dict, list, str and int, got ") as caught:
        load_plain_pickle(pickle.dumps([value], 2), PATH)
    assert "\n" not in str(caught.value)


ATTACKS = {
    "global": b"cos\nsystem\n(S'true'\ntR.",
    "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "instance": b"(S'true'\nios\nsystem\n.",
    "persistent_id": b"Pname\n.",
    "binary_persistent_id": b"\x80\x02K\x01Q.",
    "extension": b"\x80\x02\x82\x01.",
    "build": b"\x80\x02}}b.",
    "huge_memo": b"\x80\x02]r" + struct.pack("<I", 2**31) + b".",
    "huge_text_memo": b"]p2147483647\n.",
    "huge_string": b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.",
}


@pytest.mark.parametrize("data", ATTACKS.values(), ids=ATTACKS)
def test_load_plain_pickle_refuses_attacks(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^p.pkl: expected ") as caught:
        load_plain_pickle(data, PATH)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["global", "stack_global", "instance", "persistent_id", "binary_persistent_id"])
def test_plain_unpickler_finds_nothing_even_without_the_check_before(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match="not admitted"):
        PlainUnpickler(io.BytesIO(ATTACKS[name])).load()


DAMAGED = {
    "text": b"question\tanswer\n",
    "empty": b"",
    "cut": pickle.dumps({"a": ["b", 1]})[:-4],
    "stack_underflow": b"\x80\x02s.",
    "unknown_memo": b"\x80\x02h\x05.",
    "unhashable_key": b"\x80\x02}]K\x01s.",
    "append_to_int": b"\x80\x02K\x01K\x02a.",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_load_plain_pickle_refuses_damage(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^p.pkl: expected a ") as caught:
        load_plain_pickle(data, PATH)
    assert "\n" not in str(caught.value)


def test_load_plain_pickle_decodes_python_2_strings() -> None:
    # pickle.dumps({'Zo\xc3\xa9': ['ok', 1]}, 2) under Python 2.7.
    data = b"\x80\x02}q\x00U\x04Zo\xc3\xa9q\x01]q\x02(U\x02okq\x03K\x01es."
    assert load_plain_pickle(data, PATH) == {"Zoé": ["ok", 1]}
    latin = data.replace(b"\x04Zo\xc3\xa9", b"\x03Zo\xe9")
    with pytest.raises(DataError, match=r"expected utf-8 strings in the pickle, got .*: name the encoding they are in"):
        load_plain_pickle(latin, PATH)
    assert load_plain_pickle(latin, PATH, encoding="latin-1") == {"Zoé": ["ok", 1]}


def test_frame_longer_than_memory_is_a_damaged_pickle() -> None:
    with pytest.raises(DataError, match="expected a whole pickle"):
        load_plain_pickle(b"\x80\x04\x95~\0\0\0\0\0\0\x90}\x94.", PATH)
