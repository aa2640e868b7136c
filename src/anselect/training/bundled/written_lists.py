"""The lists that were written for this training, read from the package's own files.

Most files hold one list a line. `groups.jsonl` holds groups: some sentences on one subject, and for each of them a
question that it alone answers. Each sentence is right once and wrong for all the other questions, so that nothing but
its meaning can tell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from anselect.data.reading import read_questions
from anselect.records import Candidate, Question

FOLDER: Final = Path(__file__).parent / "written"
GROUPS: Final = "groups"


def read_written(name: str) -> list[Question]:
    """Read one of the files by its name without the ending."""
    path = FOLDER / f"{name}.jsonl"
    return read_groups(path) if name == GROUPS else list(read_questions(path))


def read_groups(path: Path) -> list[Question]:
    """Make one list of each question of each group."""
    lists = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        group = json.loads(line)
        for place, asked in enumerate(group["questions"]):
            candidates = (
                Candidate(str(position), text, int(position == asked["right"]))
                for position, text in enumerate(group["sentences"])
            )
            lists.append(Question(f"g{number:04}.{place}", asked["text"], tuple(candidates)))
    return lists
