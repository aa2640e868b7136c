"""A published ELMo model's two files, `options.json` and `weights.hdf5`, come in; settings and layers go out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from anselect.data.files import require_file
from anselect.errors import DataError, MissingExtraError
from anselect.modeling.elmo_characters import MAX_CHARACTERS


@dataclass(frozen=True, slots=True)
class ElmoOptions:
    """What `options.json` says of a model."""

    character_width: int
    filters: tuple[tuple[int, int], ...]
    """(window, number of filters) of each convolution."""
    highways: int
    activation: str
    max_characters: int
    projection: int
    cell: int
    layers: int
    cell_clip: float
    projection_clip: float
    has_skips: bool

    @property
    def width(self) -> int:
        """D, the width of a layer's word vectors: both directions."""
        return 2 * self.projection


def read_options(path: Path) -> ElmoOptions:
    """Read `options.json`; raises DataError for a file that is not one."""
    try:
        options = json.loads(require_file(path).read_text(encoding="utf-8"))
        characters, recurrent = options["char_cnn"], options["lstm"]
        return ElmoOptions(
            character_width=characters["embedding"]["dim"],
            filters=tuple((window, number) for window, number in characters["filters"]),
            highways=characters["n_highway"],
            activation=characters["activation"],
            max_characters=characters.get("max_characters_per_token", MAX_CHARACTERS),
            projection=recurrent["projection_dim"],
            cell=recurrent["dim"],
            layers=recurrent["n_layers"],
            cell_clip=recurrent["cell_clip"],
            projection_clip=recurrent["proj_clip"],
            has_skips=recurrent["use_skip_connections"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected the options of an ELMo model, {error!r} does not fit", path=path) from error


class ElmoWeights:
    """An open `weights.hdf5`; a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = require_file(path)
        try:
            import h5py
        except ImportError as error:
            raise MissingExtraError("train", "h5py") from error
        try:
            self._file: Mapping[str, Any] = h5py.File(path, "r")
        except OSError as error:
            raise DataError(
                f"expected an HDF5 file of ELMo weights, got another or a damaged one ({error})", path=path
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()  # type: ignore[attr-defined]

    def read(self, name: str) -> Tensor:
        """Return one array by its path in the file."""
        if name not in self._file:
            raise DataError(
                f"expected the array {name}, it is not there: do options and weights belong together?", path=self.path
            )
        return torch.from_numpy(self._file[name][...]).float()

    def linear(self, place: str, weight: str, bias: str) -> nn.Linear:
        """Return a linear layer from a published (input, output) matrix and its bias."""
        matrix, offset = self.read(f"{place}/{weight}"), self.read(f"{place}/{bias}")
        layer = nn.Linear(*matrix.shape)
        fill(layer.weight, matrix.T)
        fill(layer.bias, offset)
        return layer


def fill(parameter: Tensor | None, values: Tensor) -> None:
    """Give a parameter its published values."""
    if parameter is None or parameter.shape != values.shape:
        expected = None if parameter is None else tuple(parameter.shape)
        raise DataError(
            f"expected an array of {expected}, got {tuple(values.shape)}: do options and weights belong together?"
        )
    with torch.no_grad():
        parameter.copy_(values)
