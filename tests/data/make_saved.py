"""Save a fitted ranker of each kind: once for each minor version; keep the file.

python tests/data/make_saved.py
"""

import pickle
from pathlib import Path

import skrank_abstain
from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.scorers import ScoreColumn

RANKERS = [
    BALToR(ScoreColumn(), tie_model="bradley_terry", random_state=0),
    BALToR(ScoreColumn(), tie_model="isotonic_difference", random_state=0),
    BALToR(ScoreColumn(), coverage_guarantee="hierarchical", random_state=0),
    CostAbstainer(ScoreColumn(), cost=0.3, random_state=0),
    RiskControlledRanker(ScoreColumn(), max_risk=0.4, random_state=0),
]


def main() -> None:
    data = make_ranking(n_queries=60, n_items=4, random_state=0)
    X = (data.utility + 0.5 * data.data[:, 0]).round(2)[:, None]
    saved = []
    for ranker in RANKERS:
        ranker.fit(X, data.target, qid=data.qid)
        pairs = ranker.predict_pairs(X[:9])
        saved.append(
            {
                "ranker": ranker,
                "X": X[:9],
                "label": pairs.label,
                "accepted": pairs.accepted,
                "risk": pairs.risk,
                "intervals": ranker.rank_intervals(X[:9]),
            }
        )
    major, minor, *_ = skrank_abstain.__version__.split(".")
    path = Path(__file__).with_name(f"saved_{major}_{minor}.pickle")
    path.write_bytes(pickle.dumps(saved, protocol=4))


if __name__ == "__main__":
    main()
