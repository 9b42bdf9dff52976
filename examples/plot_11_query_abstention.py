"""Which lists should a person look at? Abstention on whole queries.

A ranker expects an NDCG@10 of each list before anything about it is known, and leaves
the lists of which it expects least to a person. The picture shows the mean loss, one
minus the metric, of the queries accepted, as fewer are. A bound on it is certified.

    python examples/plot_query_abstention.py                         # simulated queries
    python examples/plot_query_abstention.py --data MQ2008 OHSUMED   # folders of FoldN
"""

import warnings
from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.queries import QueryRiskDisplay, QueryRiskRanker
from skrank_abstain.scorers import fit_ranker

METRICS = ("ndcg@10", "mrr", "precision@3")


def parts_of(folder: Path | None, smoke: bool) -> Any:
    """Return training, validation and test queries: of the first fold, or simulated."""
    if folder is not None:
        return load_letor(folder / "Fold1")
    names = ("train", "validation", "test")
    n_queries = 100 if smoke else 400
    parts = {
        name: make_ranking(n_queries, n_items=(5, 30), random_state=k)
        for k, name in enumerate(names)
    }
    return SimpleNamespace(**parts)


def run(title: str, parts: Any, ax: Any, *, quiet: bool) -> dict[str, Any]:
    """Draw one collection; return the metric of the queries kept."""
    train, past, new = parts.train, parts.validation, parts.test
    model = make_pipeline(StandardScaler(), Ridge())
    y = np.asarray(train.target, dtype=float)
    model = fit_ranker(model, train.data, y, group_queries(train.qid, y.size))
    found: dict[str, Any] = {}
    for metric in METRICS:
        kept = []
        for coverage in (1.0, 0.7, 0.5):
            ranker = QueryRiskRanker(
                model, metric=metric, coverage=coverage, random_state=0
            )
            ranker.fit(past.data, past.target, qid=past.qid)
            kept.append(ranker.score(new.data, new.target, qid=new.qid))
        found[metric] = kept
        QueryRiskDisplay.from_estimator(
            ranker, new.data, new.target, new.qid, name=metric, ax=ax
        )
    # A bound a little below what all queries lose.
    bound = round(0.9 * (1 - found["ndcg@10"][0]), 3)
    certified = QueryRiskRanker(model, max_risk=bound, random_state=0)
    with warnings.catch_warnings():
        # Few queries certify nothing; that is said below.
        warnings.filterwarnings("ignore", "No threshold could be certified")
        certified.fit(past.data, past.target, qid=past.qid)
    found["certified"] = certified.certified_
    ax.set(title=title, ylabel="1 - metric of the accepted queries, lower is better")
    if not quiet:
        print(f"\n{title}: mean metric of the queries kept")
        print(f"{'metric':14}{'all':>8}{'70 %':>8}{'50 %':>8}")
        for metric in METRICS:
            print(f"{metric:14}" + "".join(f"{value:>8.3f}" for value in found[metric]))
        done = f"{certified.coverage_:.0%} of the queries are accepted"
        print(
            f"1 - ndcg@10 at most {bound:g} with probability 0.9: "
            + (done if certified.certified_ else "not certified")
        )
    return found


def main(argv: list[str] | None = None) -> dict[str, dict[str, Any]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--smoke", action="store_true", help="fewer queries")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    figure, axes = plt.subplots(
        1,
        len(args.data),
        figsize=(5 * len(args.data), 5),
        layout="constrained",
        squeeze=False,
    )
    found = {}
    for folder, ax in zip(args.data, axes[0], strict=True):
        title = "simulated" if folder is None else folder.name
        found[title] = run(title, parts_of(folder, args.smoke), ax, quiet=args.quiet)
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / "query_abstention.png", dpi=120)
    plt.close(figure)
    return found


if __name__ == "__main__":
    main()
