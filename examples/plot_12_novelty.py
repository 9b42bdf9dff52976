"""What a ranker has never seen: pairs with a novel item are left to a person.

A tenth of the new items is made strange: each of their features is drawn from another
item, so that no feature is unusual by itself, and all of them together are. An outlier
detector gives each item a p-value, against the calibration queries. The picture shows
which detector sees what, and what is decided with and without one as more items are
strange.

    python examples/plot_novelty.py                  # simulated queries
    python examples/plot_novelty.py --data MQ2008    # a folder of FoldN
"""

from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR
from skrank_abstain.datasets import load_letor, make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker

LEVEL = 0.05
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)
DETECTORS = {
    "EllipticEnvelope": EllipticEnvelope(support_fraction=1.0),
    "IsolationForest": IsolationForest(random_state=0),
}


def parts_of(folder: Path | None, smoke: bool) -> Any:
    """Return training, validation and test queries: of the first fold, or simulated."""
    if folder is not None:
        return load_letor(folder / "Fold1")
    # Features that go together, as those of real items do.
    mix = np.random.default_rng(0).normal(size=(10, 20))
    parts = {}
    for k, name in enumerate(("train", "validation", "test")):
        part = make_ranking(60 if smoke else 300, random_state=k)
        noise = np.random.default_rng(k).normal(size=(part.qid.size, 20))
        part.data = part.data @ mix + 0.1 * noise
        parts[name] = part
    return SimpleNamespace(**parts)


def with_strange_rows(X: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return X with some rows drawn column by column, and which they are."""
    rng = np.random.default_rng(0)
    X, strange = np.array(X, dtype=float), rng.random(X.shape[0]) < share
    rows = rng.integers(0, X.shape[0], (int(strange.sum()), X.shape[1]))
    X[strange] = X[rows, np.arange(X.shape[1])]
    return X, strange


def main(argv: list[str] | None = None) -> dict[str, dict[str, float]]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--smoke", action="store_true", help="fewer queries")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(argv)
    parts = parts_of(args.data, args.smoke)
    train, past, new = parts.train, parts.validation, parts.test
    model = make_pipeline(StandardScaler(), Ridge())
    y = np.asarray(train.target, dtype=float)
    model = fit_ranker(model, train.data, y, group_queries(train.qid, y.size))

    plain = BALToR(model, coverage=0.6, random_state=0)
    rankers = {"no detector": plain.fit(past.data, past.target, qid=past.qid)}
    for name, detector in DETECTORS.items():
        ranker = BALToR(
            model,
            coverage=0.6,
            # Fitted on other items than those that calibrate: it is used as it is.
            novelty=detector.fit(train.data),
            novelty_level=LEVEL,
            random_state=0,
        )
        rankers[name] = ranker.fit(past.data, past.target, qid=past.qid)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
    X, strange = with_strange_rows(new.data, 0.1)
    found: dict[str, dict[str, float]] = {}
    for k, name in enumerate(DETECTORS):
        pvalues = rankers[name].novelty_pvalues(X)
        for some, style, what in ((strange, "-", "strange"), (~strange, ":", "usual")):
            values = np.sort(pvalues[some])
            share = np.arange(1, values.size + 1) / values.size
            left.step(
                values, share, style, color=f"C{k}", label=f"{name}: {what} items"
            )
        found[name] = {
            "power": float((pvalues[strange] <= LEVEL).mean()),
            "false alarms": float((pvalues[~strange] <= LEVEL).mean()),
        }
    left.axvline(LEVEL, color="0.6", linewidth=1)
    left.set(xlabel="p-value", ylabel="share of items with at most this", xscale="log")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "frameon": False}
    left.legend(ncols=2, fontsize="small", **below)
    for name, ranker in rankers.items():
        accuracy = [
            ranker.score(with_strange_rows(new.data, share)[0], new.target, new.qid)
            for share in SHARES
        ]
        colour = f"C{[*DETECTORS].index(name)}" if name in DETECTORS else "0.5"
        right.plot(SHARES, accuracy, "o-", color=colour, markersize=4, label=name)
        found.setdefault(name, {})["accuracy"] = accuracy[2]
    right.set(
        xlabel="share of strange items", ylabel="share of decided pairs that are right"
    )
    right.legend(ncols=3, fontsize="small", **below)
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / "novelty.png", dpi=120)
    plt.close(figure)
    if not args.quiet:
        print(f"a tenth of the items is strange; level {LEVEL:g}")
        print(f"{'detector':18}{'found':>7}{'false alarms':>14}{'decided right':>15}")
        for name, row in found.items():
            cells = [row.get(key) for key in ("power", "false alarms", "accuracy")]
            text = ["" if value is None else f"{value:.3f}" for value in cells]
            print(f"{name:18}{text[0]:>7}{text[1]:>14}{text[2]:>15}")
    return found


if __name__ == "__main__":
    main()
