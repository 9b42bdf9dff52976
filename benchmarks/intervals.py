"""How often the 95 % interval of the discordance holds the truth, by number of queries.

    python benchmarks/intervals.py --data MQ2008 OHSUMED    # folders of FoldN; a minute
    python benchmarks/intervals.py                          # simulated; seconds

The test queries of all folds, each decided by a ranker that did not learn from it, are
the population. Queries are drawn from it with replacement.
"""

import json
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from lightgbm import LGBMRanker
from tqdm import tqdm

from skrank_abstain import BALToR
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.datasets import load_letor
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

QUERIES = 10, 20, 40, 156


def population(folder: Path | None) -> tuple[np.ndarray, ...]:
    """Return wrong orders, decided pairs that differ, and pairs that differ."""
    if folder is None:  # sizes as spread as those of MQ2008
        rng = np.random.default_rng(0)
        differ = np.ceil(np.exp(3 + 1.2 * rng.normal(size=800)))
        return differ * rng.beta(1.5, 8, size=800), differ, differ
    parts = []
    for path in sorted(each for each in folder.glob("Fold*") if each.is_dir()):
        fold = load_letor(path)
        X, y, qid = fold.train.data, fold.train.target, fold.train.qid
        model = LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1)
        model = fit_ranker(model, X, y, group_queries(qid, qid.size))
        past, new = fold.validation, fold.test
        ranker = BALToR(model, coverage=0.7).fit(past.data, past.target, qid=past.qid)
        totals = ranker.evaluate(new.data, new.target, qid=new.qid)
        differ = totals.pairs - totals.tied
        parts.append(
            np.array([totals.discordant, totals.unlike, differ])[:, differ > 0]
        )
    return tuple(np.hstack(parts))


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[None])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args()
    rows = []
    for folder in args.data:
        wrong, decided, differ = population(folder)
        for weighting, each in ("pairs", np.ones(differ.size)), ("queries", differ):
            part, whole = wrong / each, decided / each
            truth, rng = part.sum() / whole.sum(), np.random.default_rng(0)
            for n_queries in QUERIES:
                draws = range(2 if args.smoke else args.draws)
                held = []
                for _ in tqdm(draws, disable=args.quiet):
                    drawn = rng.integers(part.size, size=n_queries)
                    low, high = ratio_interval(part[drawn], whole[drawn])
                    held.append(low <= truth <= high)
                name = "simulated" if folder is None else folder.name
                rows.append(
                    (name, weighting, n_queries, round(float(np.mean(held)), 3))
                )
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "intervals.json").write_text(json.dumps(rows) + "\n", encoding="utf-8")
    if not args.quiet:
        print("\n".join(f"{' '.join(map(str, row))}" for row in rows))


if __name__ == "__main__":
    main()
