"""The fast precision: 16 bits only where the processor has products of them."""

from __future__ import annotations

import pytest
import torch

from anselect.modeling.precision import fast_precision, fast_products


def pretend(monkeypatch: pytest.MonkeyPatch, *, avx512: bool, amx: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)


@pytest.mark.parametrize(
    ("avx512", "amx", "expected"), [(False, False, "fp32"), (True, False, "bf16"), (False, True, "bf16")]
)
def test_bf16_is_fast_only_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, avx512: bool, amx: bool, expected: str
) -> None:
    pretend(monkeypatch, avx512=avx512, amx=amx)
    assert fast_precision() == expected


@pytest.mark.parametrize(("native", "kind"), [(True, torch.bfloat16), (False, torch.float32)])
def test_products_are_of_the_fast_precision_inside_only(
    monkeypatch: pytest.MonkeyPatch, native: bool, kind: torch.dtype
) -> None:
    pretend(monkeypatch, avx512=native, amx=False)
    layer, rows = torch.nn.Linear(4, 4), torch.ones(2, 4)
    with torch.inference_mode(), fast_products():
        assert layer(rows).dtype == kind
    assert layer(rows).dtype == torch.float32
