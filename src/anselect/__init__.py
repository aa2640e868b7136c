"""Anselect ranks candidate answers to a question so that the right one stands first.

>>> import anselect
>>> ranking = anselect.load().rank("Who invented the telephone?", ["It rings.", "Bell invented the telephone."])
>>> ranking[0].index, ranking[0].text
(1, 'Bell invented the telephone.')
"""

from __future__ import annotations

from anselect.errors import AnselectError
from anselect.records import Candidate, Entity, Question, Ranking, ScoredCandidate
from anselect.selector import AnswerSelector, load

__all__ = [
    "AnselectError",
    "AnswerSelector",
    "Candidate",
    "Entity",
    "Question",
    "Ranking",
    "ScoredCandidate",
    "__version__",
    "load",
]

__version__ = "0.1.0.dev0"
