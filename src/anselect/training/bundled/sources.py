"""What the bundled model learns from and is chosen by: which splits, how many lists of each, and who judges them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from anselect.records import Question
from anselect.training.bundled.mixture import HARD_SHARES, ListPlan, Shares
from anselect.training.bundled.written_lists import GROUPS


@dataclass(frozen=True, slots=True)
class Source:
    """One split to learn from, and how lists are made of it."""

    data: str
    split: str
    plan: ListPlan
    kind: Literal["spans", "passages", "near", "lists"] = "lists"
    """Of the sentences of a passage, of whole passages, of sentences near to the question among all that the stage
    has, or of the candidates as they are."""
    shares: Shares | None = None
    """How often made-up sentences join lists made of spans."""
    turn: int = 0
    """Tells sources of the same split apart: each turn draws anew."""
    advice: bool = False
    """Whether the larger model is asked what it thinks of each candidate; else the labels alone teach."""
    cosine: float = 0.0
    """How much the untouched encoder's cosine counts beside that."""
    pool: Literal["sentences", "newswire"] = "sentences"
    """Where near candidates come from: all the stage's own sentences, or TrecQA's newswire."""
    levelled: bool = False
    """Whether lists are drawn so that neither shared words nor length gives the right candidate away."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Everything that the model learns from and is chosen by."""

    adviser: tuple[Source, ...]
    """What the larger model learns."""
    lesson: tuple[Source, ...]
    """What the model that ships learns, from the larger model's advice, the encoder's own cosine and the labels."""
    practice: tuple[Source, ...]
    """What it learns after that: other lists of the same, and many that only the larger model has judged."""
    refresher: tuple[Source, ...]
    """What the finished model learns from itself and the encoder's cosine: the kinds of text where their sum ranks
    better than the model alone, and a little of everything else, so that nothing is forgotten."""
    dev: tuple[Source, ...]
    """What an epoch is chosen on; whole lists, but for InsuranceQA's 200 wrong answers a question. Of passages only
    those of documents that nothing is learnt from."""
    evaluated: tuple[tuple[str, str], ...]
    """Splits of which no question and no candidate is learnt."""

    def stage(self, name: str) -> tuple[Source, ...]:
        """Return the sources of the stage `adviser`, `lesson`, `practice` or `refresher`."""
        stages = {
            "adviser": self.adviser,
            "lesson": self.lesson,
            "practice": self.practice,
            "refresher": self.refresher,
        }
        return stages[name]

    def source_of(self, stage: str, question: Question) -> Source:
        """Return the source that a list of a stage was made of: its id begins with the source's place."""
        return self.stage(stage)[int(question.id.split("-", 1)[0])]


TREC_QUESTIONS: Final = "trec-qc"
"""Li & Roth's questions, asked at TREC as TrecQA's were; nobody has gathered candidates for them."""
WRITTEN: Final = ("plain", "more", "encyclopedia", "news", "forum")
"""Lists written for this training, which come with the package: two files of any kind, three in a source's style."""
MIXTURE: Final = Mixture(
    adviser=(
        *(Source(name, "written", ListPlan(10_000, positives=2, negatives=4), levelled=True) for name in WRITTEN),
        Source("ordinary", "written", ListPlan(500, negatives=4)),
        Source(GROUPS, "written", ListPlan(2000, negatives=4)),
        Source("wikiqa", "train", ListPlan(873, positives=3, negatives=9, answerable=True)),
        Source("wikiqa", "train", ListPlan(400, positives=2, negatives=4), turn=1),
        Source("trecqa", "train-all", ListPlan(1229, positives=4, negatives=14)),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=3)),
        Source("insuranceqa", "train", ListPlan(400, negatives=3)),
        Source("squad11-train-part", "train", ListPlan(900), "spans"),
        Source("squad11-dev", "dev", ListPlan(700), "spans"),
        Source("squad20-dev", "dev", ListPlan(300), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(800), "spans"),
        Source("squadshifts-amazon", "test", ListPlan(300), "spans"),
        Source("quoref-dev", "dev", ListPlan(250), "spans"),
        Source("squad11-train-part", "train", ListPlan(400, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squadshifts-new-wiki", "test", ListPlan(400, negatives=5), "spans", HARD_SHARES, turn=1),
        Source("squad11-train-part", "train", ListPlan(200, negatives=3), "passages"),
        Source("squadshifts-new-wiki", "test", ListPlan(200, negatives=3), "passages"),
        Source("boolq", "all", ListPlan(250, negatives=3), "passages"),
    ),
    # Chosen set by set on dev: where the cosine helps, and how much of it (docs/LOG.md).
    lesson=(
        *(
            Source(name, "written", ListPlan(10_000, positives=2, negatives=4), advice=True, levelled=True)
            for name in WRITTEN
        ),
        Source("ordinary", "written", ListPlan(1332, negatives=4), advice=True),
        Source(GROUPS, "written", ListPlan(5000, negatives=4), advice=True),
        Source("wikiqa", "train", ListPlan(873, positives=3, negatives=9, answerable=True), advice=True, cosine=0.25),
        Source("wikiqa", "train", ListPlan(800, positives=2, negatives=6), turn=1, advice=True, cosine=0.25),
        Source("trecqa", "train-all", ListPlan(1229, positives=4, negatives=14), advice=True, cosine=0.5),
        Source("semeval2016", "train-part2", ListPlan(379, positives=5, negatives=5), advice=True, cosine=0.5),
        Source("insuranceqa", "train", ListPlan(800, negatives=4), advice=True, cosine=0.5),
        Source("squad11-train-part", "train", ListPlan(1500), "spans", advice=True),
        Source("squad11-dev", "dev", ListPlan(1000), "spans", advice=True),
        Source("squad20-dev", "dev", ListPlan(500), "spans", advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(1200), "spans", advice=True),
        Source("squadshifts-amazon", "test", ListPlan(400), "spans", advice=True),
        Source("quoref-dev", "dev", ListPlan(300), "spans", advice=True),
        Source("squad11-train-part", "train", ListPlan(700, negatives=5), "spans", HARD_SHARES, turn=1, advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(700, negatives=5), "spans", HARD_SHARES, turn=1, advice=True),
        Source("squad11-dev", "dev", ListPlan(3000), "spans", turn=2),
        Source("squad11-train-part", "train", ListPlan(3000), "spans", turn=2),
        Source("squadshifts-new-wiki", "test", ListPlan(2000), "spans", turn=2),
        Source("squad11-train-part", "train", ListPlan(500, negatives=3), "passages", cosine=0.5),
        Source("squadshifts-new-wiki", "test", ListPlan(500, negatives=3), "passages", cosine=0.5),
        Source("boolq", "all", ListPlan(800, negatives=3), "passages", cosine=0.5),
        Source("trecqa", "train-all", ListPlan(1229, positives=2, negatives=12), turn=1, advice=True, cosine=0.5),
    ),
    practice=(
        *(
            Source(name, "written", ListPlan(questions, negatives=5), "near", advice=True)
            for name, questions in {
                "plain": 1000,
                "more": 600,
                "encyclopedia": 500,
                "news": 300,
                "forum": 150,
                "ordinary": 700,
                GROUPS: 1500,
            }.items()
        ),
        Source("wikiqa", "train", ListPlan(1200, negatives=5), "near", advice=True),
        Source("boolq", "all", ListPlan(1500, negatives=5), "near", advice=True),
        Source("boolq", "all", ListPlan(1000, negatives=5), advice=True),
        *(
            Source(name, "written", ListPlan(10_000, positives=2, negatives=4), turn=2, advice=True, levelled=True)
            for name in WRITTEN
        ),
        Source(GROUPS, "written", ListPlan(2500, negatives=4), turn=2, advice=True),
        Source(
            "wikiqa",
            "train",
            ListPlan(873, positives=3, negatives=9, answerable=True),
            turn=2,
            advice=True,
            cosine=0.25,
        ),
        Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=12), turn=2, advice=True, cosine=0.5),
        Source("semeval2016", "train-part2", ListPlan(379, positives=4, negatives=4), turn=2, advice=True, cosine=0.5),
        Source("insuranceqa", "train", ListPlan(400, negatives=4), turn=2, advice=True, cosine=0.5),
        Source("squad11-train-part", "train", ListPlan(2500), "spans", turn=3, advice=True),
        Source("squad11-dev", "dev", ListPlan(2500), "spans", turn=3, advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(2000), "spans", turn=3, advice=True),
        Source("squad20-dev", "dev", ListPlan(600), "spans", turn=3, advice=True),
        Source("squadshifts-amazon", "test", ListPlan(600), "spans", turn=3, advice=True),
        Source("quoref-dev", "dev", ListPlan(300), "spans", turn=3, advice=True),
        Source("squad11-train-part", "train", ListPlan(800, negatives=5), "spans", HARD_SHARES, turn=4, advice=True),
        Source("squad11-dev", "dev", ListPlan(800, negatives=5), "spans", HARD_SHARES, turn=4, advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(800, negatives=5), "spans", HARD_SHARES, turn=4, advice=True),
        Source("squad11-train-part", "train", ListPlan(300, negatives=3), "passages", turn=3, cosine=0.5),
        Source("squadshifts-new-wiki", "test", ListPlan(300, negatives=3), "passages", turn=3, cosine=0.5),
        Source("boolq", "all", ListPlan(400, negatives=3), "passages", turn=3, cosine=0.5),
    ),
    # Where a sum with the cosine is better on dev: newswire, by three quarters, and customers' questions (docs/LOG.md).
    refresher=(
        Source(TREC_QUESTIONS, "train", ListPlan(1500, negatives=6), "near", pool="newswire", advice=True, cosine=0.75),
        Source("trecqa", "train-all", ListPlan(1229, positives=3, negatives=9), turn=3, advice=True, cosine=0.75),
        Source("insuranceqa", "train", ListPlan(400, negatives=4), turn=3, advice=True, cosine=0.5),
        Source("semeval2016", "train-part2", ListPlan(379, positives=3, negatives=3), turn=3, advice=True),
        Source(
            "wikiqa",
            "train",
            ListPlan(873, positives=2, negatives=5, answerable=True),
            turn=3,
            advice=True,
            cosine=0.25,
        ),
        *(
            Source(name, "written", ListPlan(questions, negatives=4), turn=3, advice=True, levelled=True)
            for name, questions in {"plain": 300, "more": 150, "encyclopedia": 120, "news": 100, "forum": 60}.items()
        ),
        Source(GROUPS, "written", ListPlan(600, negatives=4), turn=3, advice=True),
        Source("squadshifts-new-wiki", "test", ListPlan(500), "spans", turn=5, advice=True, cosine=0.25),
        Source("squad11-train-part", "train", ListPlan(300), "spans", turn=5, advice=True),
        Source("squad11-train-part", "train", ListPlan(100, negatives=3), "passages", turn=5, advice=True, cosine=0.5),
        Source("wikiqa", "train", ListPlan(600, negatives=5), "near", turn=3, advice=True),
    ),
    dev=(
        Source("wikiqa", "dev", ListPlan(126, negatives=60)),
        Source("trecqa", "dev", ListPlan(65, negatives=100)),
        Source("semeval2016", "dev", ListPlan(120, negatives=10)),
        Source("insuranceqa", "dev", ListPlan(120, negatives=14)),
        Source("squad11-train-part", "train", ListPlan(100, negatives=30), "spans"),
        Source("squadshifts-new-wiki", "test", ListPlan(100, negatives=30), "spans"),
    ),
    evaluated=(
        *((name, split) for name in ("wikiqa", "trecqa", "semeval2015", "semeval2016") for split in ("dev", "test")),
        ("semeval2017", "test"),
        ("insuranceqa", "dev"),
        ("insuranceqa", "test"),
    ),
)
