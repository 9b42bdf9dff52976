"""Who is among the best? Sets that hold a best item, beside a fixed number of items.

A ranker is calibrated to name, for each query, a set that holds one of its most
relevant items with probability 1 - alpha. The sets are small where scores are far
apart. The picture shows their mean size against the share of them that keeps the
promise, at every threshold, and that of the first k items of each list.

    python examples/plot_top_sets.py                         # simulated queries
    python examples/plot_top_sets.py --data MQ2008 OHSUMED   # folders of FoldN
"""

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
from skrank_abstain.queries import TopSetDisplay, TopSetRanker
from skrank_abstain.scorers import fit_ranker

ALPHAS = (0.3, 0.2, 0.1)


def parts_of(folder: Path | None, smoke: bool) -> Any:
    """Return training, validation and test queries: of the first fold, or simulated."""
    if folder is not None:
        return load_letor(folder / "Fold1")
    names = ("train", "validation", "test")
    n_queries = 100 if smoke else 500
    parts = {
        name: make_ranking(n_queries, n_items=(5, 30), random_state=k)
        for k, name in enumerate(names)
    }
    return SimpleNamespace(**parts)


def run(title: str, parts: Any, ax: Any, *, quiet: bool) -> list[dict[str, float]]:
    """Draw one collection; return what sets of each alpha are worth."""
    train, past, new = parts.train, parts.validation, parts.test
    model = make_pipeline(StandardScaler(), Ridge())
    y = np.asarray(train.target, dtype=float)
    model = fit_ranker(model, train.data, y, group_queries(train.qid, y.size))
    rows = []
    for alpha in ALPHAS:
        ranker = TopSetRanker(model, alpha=alpha, random_state=0)
        ranker.fit(past.data, past.target, qid=past.qid)
        rows.append(
            {
                "alpha": alpha,
                "coverage": ranker.score(new.data, new.target, qid=new.qid),
                "size": float(ranker.set_sizes(new.data, qid=new.qid).mean()),
            }
        )
    display = TopSetDisplay.from_estimator(
        ranker, new.data, new.target, new.qid, name="sets", ax=ax
    )
    ax.set_title(f"{title}: the point is alpha={alpha:g}")
    if not quiet:
        print(f"\n{title}: {ranker.n_queries_} queries set the threshold")
        print(f"{'alpha':>6}{'coverage':>10}{'mean size':>11}")
        for row in rows:
            print(f"{row['alpha']:>6}{row['coverage']:>10.3f}{row['size']:>11.2f}")
        wanted = rows[-1]["coverage"]
        k = np.interp(wanted, display.fixed_coverage, display.fixed_size)
        print(f"a fixed number of items covers {wanted:.3f} with {k:.2f} of them")
    return rows


def main(argv: list[str] | None = None) -> dict[str, list[dict[str, float]]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    parser.add_argument("--smoke", action="store_true", help="fewer queries")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    figure, axes = plt.subplots(
        1,
        len(args.data),
        figsize=(5 * len(args.data), 4.6),
        layout="constrained",
        squeeze=False,
    )
    found = {}
    for folder, ax in zip(args.data, axes[0], strict=True):
        title = "simulated" if folder is None else folder.name
        found[title] = run(title, parts_of(folder, args.smoke), ax, quiet=args.quiet)
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / "top_sets.png", dpi=120)
    plt.close(figure)
    return found


if __name__ == "__main__":
    main()
