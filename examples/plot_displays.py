"""Draw what a selective ranker does: risk, coverage, reliability, outcomes, ranks.

Simulated queries, a LightGBM ranker with default options, and three tie models. Each
figure is one call of a display in ``skrank_abstain.displays``.

Run it with ``python examples/plot_displays.py``; it takes some twenty seconds.
"""

# %%
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    RankIntervalDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance

TIE_MODELS = {
    "Bradley-Terry, counts": BradleyTerry(calibration="counts"),
    "Bradley-Terry": BradleyTerry(),
    "graded relevance": GradedRelevance(),
}
BOTH = ("Bradley-Terry", "graded relevance")


# %%
# One trained model, and a calibration with each tie model. Training queries, then
# queries to calibrate on, then new ones to draw.
def calibrated(n_queries: int) -> dict[str, BALToR]:
    train = make_ranking(n_queries=n_queries, random_state=0)
    calibration = make_ranking(n_queries=n_queries // 2, random_state=1)
    model = LGBMRanker(n_jobs=1, verbose=-1)
    trainer = BALToR(model, calibration_size=0.1, random_state=0)
    trained = trainer.fit(train.data, train.target, qid=train.qid).estimator_
    return {
        name: BALToR(trained, coverage=0.6, tie_model=tie_model, random_state=0).fit(
            calibration.data, calibration.target, qid=calibration.qid
        )
        for name, tie_model in TIE_MODELS.items()
    }


# %%
# Several models on the same axes: a lower curve is better. The band resamples whole
# queries, since the pairs of one query share its items.
def risk_coverage(rankers: dict[str, BALToR], new, n_resamples: int) -> None:
    _, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
    for name in BOTH:
        RiskCoverageDisplay.from_estimator(
            rankers[name],
            new.data,
            new.target,
            new.qid,
            n_resamples=n_resamples,
            random_state=0,
            reference=name == "graded relevance",
            name=name,
            ax=ax,
        )


# %%
# Is the budget kept on new queries? No labels are needed to see it.
def coverage(rankers: dict[str, BALToR], new) -> None:
    CoverageDisplay.from_estimator(
        rankers["graded relevance"], new.data, qid=new.qid, name="graded relevance"
    )


# %%
# Can the probabilities be taken at their word? Those of the paper's counts take the
# scores of a booster as they are, and are far too sure.
def reliability(rankers: dict[str, BALToR], new) -> None:
    _, axes = plt.subplots(1, 2, figsize=(9, 5.4), sharey=True, layout="constrained")
    for ax, name in zip(axes, ("Bradley-Terry, counts", BOTH[0]), strict=True):
        PairReliabilityDisplay.from_estimator(
            rankers[name], new.data, new.target, new.qid, ax=ax
        )
        ax.set_title(name)
        ax.label_outer()


# %%
# Which pairs are decided first: ties, or pairs with a better item?
def class_fractions(rankers: dict[str, BALToR], new) -> None:
    _, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
    for name in BOTH:
        ClassFractionDisplay.from_estimator(
            rankers[name], new.data, new.target, new.qid, name=name, ax=ax
        )


# %%
# One query: which ranks do the decided pairs leave open, who is in the top 5?
def rank_intervals(rankers: dict[str, BALToR], new) -> None:
    RankIntervalDisplay.from_estimator(
        rankers["graded relevance"],
        new.data,
        new.target,
        new.qid,
        query=1,
        top_k=5,
        name="One query, 60 % of pairs decided",
    )


# %%
def main(argv: Sequence[str] | None = None) -> list[Path]:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="for the figures")
    parser.add_argument("--smoke", action="store_true", help="small data, in seconds")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    options = parser.parse_args(argv)
    rankers = calibrated(60 if options.smoke else 400)
    new = make_ranking(n_queries=30 if options.smoke else 200, random_state=2)
    figures: dict[str, Callable[[], None]] = {
        "risk_coverage": lambda: risk_coverage(
            rankers, new, n_resamples=20 if options.smoke else 500
        ),
        "coverage": lambda: coverage(rankers, new),
        "reliability": lambda: reliability(rankers, new),
        "class_fraction": lambda: class_fractions(rankers, new),
        "rank_interval": lambda: rank_intervals(rankers, new),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in figures.items():
        draw()
        paths.append(options.out / f"display_{name}.png")
        plt.savefig(paths[-1], dpi=150)
        plt.close()
        if not options.quiet:
            print(f"Figure: {paths[-1]}")
    return paths


if __name__ == "__main__":
    main()
