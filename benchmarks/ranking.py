"""Pairs a second, latency, cold start and memory of ranking: ours against the same weights through others.

All sides run in processes of their own and take turns on the same pairs; each side's best round counts, and MAP stands
beside every speed. On a quiet machine, with $ANSELECT_DATA set, in under ten minutes:

    python benchmarks/ranking.py [--torch RUN] [--engine FOLDER] [--json FILE] [--picture FILE]

RUN holds the weights in 32 bits; without it they are read back from the engine. sentence-transformers has no way to
keep a candidate out of its question's sight, and runs weights that learnt it as a plain BERT: its MAP tells.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks.ranking_run import main

    main()
