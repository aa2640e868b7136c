"""A model's name comes in (a folder or a Hugging Face Hub id), the folder with its files goes out, offline too."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from huggingface_hub import constants, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from anselect.errors import DownloadError, MissingFileError
from anselect.modeling.encoders import locate_encoder, quiet

FILES: Final = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What a ranker is loaded from; a Hub repository may hold the same weights in five more formats."""

# The base of the HTTP library's errors, whichever library the installed client uses, and the client's own.
CLIENT_ERRORS: Final[tuple[type[BaseException], ...]] = (OSError, *HfHubHTTPError.__bases__)


def find_model(name: str) -> Path:
    """Return a model's folder: the folder of that name, or what the Hub has under it, from the Hub's cache if there.

    Raises MissingFileError, within seconds, if it cannot be had.
    """
    if Path(name).is_dir():
        return Path(name)
    _check_name(name)
    try:
        source = locate_encoder(name)
    except MissingFileError as error:
        raise _not_found(name) from error
    if Path(source.location).is_dir():
        return Path(source.location)  # an installed weights package
    return _snapshot(name, local_only=source.local_only)


def _snapshot(name: str, *, local_only: bool) -> Path:
    try:
        with quiet():
            folder = Path(snapshot_download(name, local_files_only=local_only, allow_patterns=list(FILES)))
    except RepositoryNotFoundError as error:
        message = f"{name}: no such folder, and {constants.ENDPOINT} has no such model or does not show it to you"
        raise MissingFileError(f"{message}: mend the name, or log in (hf auth login)") from error
    except CLIENT_ERRORS as error:
        if local_only:
            raise _incomplete(name) from error
        reason = str(error).strip().split("\n")[0]
        raise DownloadError(
            f"{name}: expected its files from {constants.ENDPOINT}, got: {reason}: try again"
        ) from error
    # Whoever asked for the config alone has a snapshot without weights.
    if not any(folder.rglob("*.safetensors")):
        raise _incomplete(name)
    return folder


def _check_name(name: str) -> None:
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        message = f"{name}: no such run or model folder; 'anselect train --list' shows what can be trained"
        raise MissingFileError(message) from error


def _not_found(name: str) -> MissingFileError:
    why = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else f"{constants.ENDPOINT} could not be reached"
    places = f"no such folder, not in the Hub's cache ({constants.HF_HUB_CACHE})"
    return MissingFileError(f"{name}: {places}, and {why}; 'anselect train --list' shows what can be trained")


def _incomplete(name: str) -> MissingFileError:
    message = f"{name}: expected safetensors weights, the Hub's cache ({constants.HF_HUB_CACHE}) has not all files"
    return MissingFileError(f"{message}: get them where there is a network (hf download {name})")
