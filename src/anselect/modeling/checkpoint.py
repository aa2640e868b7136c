"""A trained model with its tokenizer goes to one folder and comes back from it; the folder is whole or it is not there.

The folder is an ordinary Hugging Face one (config.json, model.safetensors, tokenizer.json) with a manifest that
names every file and its sha256. A folder without a matching manifest is never taken for a checkpoint.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from anselect.data.files import file_sha256, present_folder, read_json_object, replace_folder
from anselect.errors import AnselectError, DataError, MissingFileError, UsageError
from anselect.modeling.cross_encoder import NO_HIGHLIGHT, AnswerSelectionModel
from anselect.modeling.encoders import quiet
from anselect.modeling.siamese import SiameseModel

MANIFEST: Final = "checkpoint.json"
MODEL_FOLDER: Final = "model"
CONFIG: Final = "config.json"
REPAIR: Final = "copy the checkpoint anew, or train again"
FORMAT_VERSION: Final = 1
"""Grows when a folder of this version can no longer be read as one of the version before."""

WRITE_ERRORS: Final = (OSError, RuntimeError, SafetensorError)
"""How a full disk is reported: by Python, by torch and by safetensors."""

MODELS: Final[Mapping[str, type[AnswerSelectionModel | SiameseModel]]] = {
    "anselect-cross-encoder": AnswerSelectionModel,
    "anselect-siamese": SiameseModel,
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint folder holds."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    """None for models that read features instead of tokens."""
    config: PreTrainedConfig

    @property
    def highlight(self) -> str | None:
        """Name of the highlighting that the model was trained with, None for plain text."""
        return getattr(self.config, "highlight", None)

    def require_highlight(self, provided: str | None) -> None:
        """Raise UsageError unless texts are prepared in the way that the model was trained on.

        A model that never saw an entity marked (or only ever saw them marked) gives scores on other texts that
        look right and are not.
        """
        provided = None if provided == NO_HIGHLIGHT else provided
        if provided != self.highlight:
            wanted = f"highlighting '{self.highlight}'" if self.highlight else "plain text"
            came = f"highlighting '{provided}'" if provided else "plain text"
            raise UsageError(f"the model was trained on {wanted}, got {came}: prepare texts as in training")


def save_checkpoint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, folder: Path) -> None:
    """Write a model and its tokenizer to a folder, which appears, or replaces its predecessor, only when complete.

    A failure on the way (a full disk, a kill) leaves the folder as it was.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with quiet(), _explained_write(folder):
            model.save_pretrained(part)
            if tokenizer is not None:
                _save_tokenizer(tokenizer, part)
            write_manifest(part)
        replace_folder(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint folder back, on the CPU and ready to score.

    Raises MissingFileError if there is none, DataError (one line) if it is half-written, damaged or of another version.
    """
    present = present_folder(folder)
    if present is None:
        raise MissingFileError(f"{folder}: no such checkpoint folder: name a run's folder, or train one")
    folder = present
    check_checkpoint(folder)
    kind = str(read_json_object(folder / CONFIG, REPAIR).get("model_type"))
    if kind not in MODELS:
        raise DataError(f"expected model_type {' or '.join(MODELS)}, got '{kind}'", path=folder / "config.json")
    model_class: Any = MODELS[kind]
    with quiet(), _explained_read(folder):
        model, report = model_class.from_pretrained(folder, output_loading_info=True, local_files_only=True)
        has_tokenizer = (folder / "tokenizer.json").is_file()
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True) if has_tokenizer else None
    wrong = sorted(report["missing_keys"]) + sorted(report["unexpected_keys"])
    if wrong:
        raise DataError(f"expected the weights that config.json asks for, {wrong[0]} does not fit", path=folder)
    model.eval()
    return Checkpoint(model=model, tokenizer=tokenizer, config=model.config)


def model_folder(folder: Path) -> Path:
    """Return where the model lies: a run's folder has it in `model`, a model's own folder is it."""
    is_model = any((folder / file).is_file() for file in (CONFIG, MANIFEST))
    return folder if is_model else folder / MODEL_FOLDER


def check_checkpoint(folder: Path) -> None:
    """Raise DataError unless every file of the folder is the one that was written."""
    if not (folder / MANIFEST).is_file():
        raise DataError(f"expected {MANIFEST}, it is not there: not a checkpoint, or half-written", path=folder)
    manifest = read_json_object(folder / MANIFEST, REPAIR)
    found, files = manifest.get("format_version"), manifest.get("files")
    if found != FORMAT_VERSION:
        message = f"expected checkpoint version {FORMAT_VERSION}, got {found} (anselect {manifest.get('anselect')})"
        raise DataError(f"{message}: use that version of anselect, or train again", path=folder)
    if not isinstance(files, dict) or "config.json" not in files:
        raise DataError("expected a list of files, it is damaged: train again or copy it anew", path=folder / MANIFEST)
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"expected {name}, it is not there: copy the checkpoint anew", path=folder)
        if file_sha256(path) != expected:
            raise DataError("expected the content of the manifest, got another: copy the checkpoint anew", path=path)


def write_failure(error: Exception, folder: Path) -> str:
    """Say in one line why a write failed, with the room that is left: torch does not tell that a disk is full."""
    reason = str(error).strip().split("\n")[0]
    return f"{reason}; {shutil.disk_usage(folder).free // 1000:,} kB free on that disk"


def write_manifest(folder: Path) -> None:
    """Name every file of a folder with its sha256, once all of them are on the disk for good."""
    files = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        files[path.name] = file_sha256(path)
    manifest = {"format_version": FORMAT_VERSION, "anselect": version("anselect"), "files": files}
    with (folder / MANIFEST).open("w", encoding="utf-8") as text:
        json.dump(manifest, text, indent=2)
        text.flush()
        os.fsync(text.fileno())


def _save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    # The library reports a full disk as a bare Exception. Python, writing the same bytes first, gives an OSError.
    (folder / "tokenizer.json").write_text(tokenizer.backend_tokenizer.to_str(pretty=True), encoding="utf-8")
    tokenizer.save_pretrained(folder)


@contextmanager
def _explained_write(folder: Path) -> Iterator[None]:
    try:
        yield
    except WRITE_ERRORS as error:
        reason = write_failure(error, folder.parent)
        raise AnselectError(
            f"{folder}: the checkpoint could not be written ({reason}); what was there is kept"
        ) from error


@contextmanager
def _explained_read(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, SafetensorError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"expected a model that can be loaded: {reason}", path=folder) from error
