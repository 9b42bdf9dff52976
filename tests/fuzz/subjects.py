"""Every public estimator, one line each, with the options that are drawn for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from doubles import FirstColumn
from fuzz.problems import CHOICES, SEVERAL, items, labels, pair_rows
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
    SelectiveRanker,
)
from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
    DistanceAbstainer,
)
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.selection import CertifiedRisk, Coverage, GuaranteedCoverage, Price
from skrank_abstain.tie_models import (
    BradleyTerry,
    FeatureAwareRelevance,
    GradedRelevance,
    IsotonicDifference,
    ThurstoneMosteller,
)


class Halves(ClassifierMixin, BaseEstimator):
    """A classifier that knows of a row whether its last column is above the median."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, code = np.unique(y, return_inverse=True)
        self.median_ = np.median(X[:, -1])
        self.counts_ = np.ones((2, self.classes_.size))
        np.add.at(self.counts_, (self._half(X), code), 1)
        return self

    def predict_proba(self, X):
        return (self.counts_ / self.counts_.sum(axis=1, keepdims=True))[self._half(X)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _half(self, X):
        return (X[:, -1] > self.median_).astype(int)


class HalfMeans(RegressorMixin, BaseEstimator):
    """A regressor that knows the mean target of either half, as `Halves` divides."""

    def fit(self, X, y):
        self.median_ = np.median(X[:, -1])
        half = self._half(X)
        weights = np.bincount(half, minlength=2) + 1
        self.means_ = (np.bincount(half, y, 2) + np.mean(y)) / weights
        return self

    def predict(self, X):
        return self.means_[self._half(X)]

    _half = Halves._half


class Columns(BaseEstimator):
    """A ranker of labels whose scores are the features."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return X


#: What labels of rows of two items mean.
LABELS = {
    "numbers": {-1: "right", 0: "tie", 1: "left"},
    "words": {"B": "right", "tie": "tie", "A": "left"},
    "no_tie": {-1: "right", 1: "left"},
}
#: Where rows are no items there are more choices, or fewer.
SHAPES = {
    items: {},
    pair_rows: {
        "names": tuple(LABELS),
        "relevance": tuple(kind for kind in CHOICES["relevance"] if kind != "tied"),
    },
    labels: {"n_labels": (3, 2, 5), "n_items": (5, 2, 3, 8, 12)},
}


@dataclass(frozen=True)
class Subject:
    """An estimator under test.

    Attributes
    ----------
    make : callable
        From a recipe to the estimator.
    data : callable
        From a recipe to its rows; ``new=True`` for those that ``fit`` has not seen.
    choices : dict
        Options of its own, and choices of the problem that are narrower than all.
    refused : str
        The documented errors of ``fit`` that a recipe may meet, a regular expression.
    """

    make: Callable[[dict], Any]
    data: Callable[..., Any]
    choices: dict[str, Any] = field(default_factory=dict)
    refused: str = "(?!)"

    @property
    def every_choice(self):
        return {**CHOICES, **SHAPES[self.data], **self.choices}


#: A swap of the order that is dear, and a tie.
DEAR_SWAP = ((0, 1, 5), (0.5, 0, 0.5), (5, 1, 0))
DEAR_TIE = ((0, 0.3, 1), (4, 0, 4), (1, 0.3, 0))
LOSSES = ("zero_one", "misranking", "clear_order", DEAR_SWAP, DEAR_TIE)
DIFFERENCES = (
    "isotonic_difference", "bradley_terry", "davidson", "thurstone_mosteller",
)  # fmt: skip
OF_BINS = ("graded_relevance", "feature_aware_relevance")
#: The quickest more often than the others.
TIE_MODELS = (*DIFFERENCES, "graded_relevance", *DIFFERENCES[:1] * 3)
MODELS = ("fitted", "unfitted")
SHARED = {"tie_model": TIE_MODELS, "loss": LOSSES, "model": MODELS}
COVERAGES = (
    {"coverage": 0.5},
    {"coverage": 1.0},
    {"coverage": 0.05},
    {"coverage": 0.9},
)
#: The boundary and the quantile are parameters of BALToR alone.
BOUNDARIES = (
    {"coverage": 0.7, "boundary": "randomize"},
    {"coverage": 0.2, "boundary": "randomize"},
    {"coverage": 0.3, "quantile": "linear"},
    {"coverage": 0.8, "quantile": "linear"},
)
#: Slow to find: drawn less often than the others.
GUARANTEED = ({"coverage": 0.6, "coverage_guarantee": "hierarchical"},)
RULES = (
    *2 * (Coverage(0.6), Coverage(0.4, boundary="randomize"), Price(0.3), Price(0.05)),
    *2 * (CertifiedRisk(0.8, delta=0.45), CertifiedRisk(0.3, delta=0.45)),
    GuaranteedCoverage(0.5),
)
#: Too few items to learn from and to calibrate on.
FEW = (
    "must leave at least (2 rows|two queries)"
    "|must give at least (one|two) calibration quer"
)
#: Labels that do not show what is right and what is left.
ONE_SIDE = "y must have (two or three kinds of labels|one label for right)"
#: Learning from rows of two items takes one that is no tie.
ONLY_TIES = "y must hold pairs that are not ties to train on"
#: A loss that descends on features needs them small, and pairs to descend on.
STEEP = "different relevance for two items|must have features so small"


def model(recipe, kind=FirstColumn):
    return kind().fit(None, None) if recipe["model"] == "fitted" else kind()


def tie_model(recipe):
    name = recipe["tie_model"]
    if name == "feature_aware_relevance":
        return FeatureAwareRelevance(HalfMeans())
    return name


def shared(recipe):
    """Return the parameters that the selective rankers have in common."""
    return {
        "estimator": model(recipe),
        "tie_model": tie_model(recipe),
        "loss": recipe["loss"],
        "random_state": recipe["seed"],
    }


def pairwise(recipe):
    return PairwiseRankerClassifier(
        **shared(recipe), labels=LABELS[recipe["names"]], **recipe["rule"]
    )


def online(recipe):
    ranks = np.arange(1, recipe["n_labels"] + 1)
    experts = [("as they stand", ranks), ("turned", ranks[::-1])]
    experts.append(("columns", FrozenEstimator(Columns().fit(None, None))))
    return OnlineMultilabelRanker(
        experts, batch_size=recipe["batch_size"], random_state=recipe["seed"]
    )


def constrained(kind, recipe, **params):
    chosen = {name: recipe[name] for name in ("surrogate", "norm", "batch_size")}
    return kind(**chosen, **params, max_iter=5, random_state=recipe["seed"])


SURROGATES = {
    "surrogate": ("hinge", "logistic", "exponential", "sigmoid"),
    "norm": (np.inf, 1, 2),
    "batch_size": ("auto", 4),
    "relevance": CHOICES["relevance"][:-1],
    "unit": (1.0, 1e-9, 1e-280, 2.0**-900),
}

#: Queries that train, fit the tie model and set the threshold.
DIVIDED = {
    "model": MODELS,
    "tie_model": OF_BINS,
    "layout": SEVERAL,
    "n_items": (24, 17, 28, 12),
}
#: Queries without an item that could be wrong, or that says what is right.
NOTHING_TO_LEARN = f"{FEW}|items that differ in relevance|a relevant item, got none"

SUBJECTS = {
    "BALToR": Subject(
        lambda r: BALToR(**shared(r), **r["rule"]),
        items,
        {
            **SHARED,
            "rule": (*2 * (*COVERAGES, *BOUNDARIES), *GUARANTEED),
            "tie_model": (*TIE_MODELS, OF_BINS[1]),
        },
        FEW,
    ),
    "CostAbstainer": Subject(
        lambda r: CostAbstainer(**shared(r), cost=r["cost"]),
        items,
        {**SHARED, "cost": (0.3, 0.0, 0.1, 0.5)},
        FEW,
    ),
    "RiskControlledRanker": Subject(
        lambda r: RiskControlledRanker(**shared(r), max_risk=r["max_risk"], delta=0.45),
        items,
        {
            **SHARED,
            "max_risk": (0.5, 0.1, 0.9),
            "layout": SEVERAL,
            "n_items": (12, 8, 17, 24),
        },
        FEW,
    ),
    "SelectiveRanker": Subject(
        lambda r: SelectiveRanker(**shared(r), rule=r["rule"]),
        items,
        {**SHARED, "rule": RULES},
        FEW,
    ),
    "PairwiseRankerClassifier": Subject(
        pairwise,
        pair_rows,
        {
            "tie_model": (*DIFFERENCES, *DIFFERENCES[:1] * 3),
            "loss": LOSSES,
            "model": MODELS,
            "rule": ({"coverage": 0.5}, {}, *({"rule": rule} for rule in RULES)),
        },
        f"{FEW}|{ONE_SIDE}|{ONLY_TIES}",
    ),
    "DistanceAbstainer": Subject(
        lambda r: DistanceAbstainer(
            model(r),
            gamma=r["gamma"],
            norm=r["norm"],
            scale=r["scale"],
            cost=r["cost"],
            random_state=r["seed"],
        ),
        items,
        {
            "model": MODELS,
            "gamma": ("auto", 0.0, 0.5),
            "norm": (np.inf, 1, 2, 3),
            "scale": ("unit_ball", None),
            "cost": (0.1, 0.0, 0.5),
        },
        FEW,
    ),
    "TopSetRanker": Subject(
        lambda r: TopSetRanker(
            model(r), alpha=r["alpha"], tie_model=tie_model(r), random_state=r["seed"]
        ),
        items,
        {**DIVIDED, "alpha": (0.5, 0.9, 0.7)},
        NOTHING_TO_LEARN,
    ),
    "QueryRiskRanker": Subject(
        lambda r: QueryRiskRanker(
            model(r),
            metric=r["metric"],
            tie_model=tie_model(r),
            random_state=r["seed"],
            **r["target"],
        ),
        items,
        {
            **DIVIDED,
            "metric": ("ndcg@10", "ndcg@2", "precision@3", "mrr"),
            "target": (
                *({"coverage": share} for share in (0.5, 1.0, 0.1)),
                {"max_risk": 0.9, "delta": 0.45},
            ),
            # Gains are those of whole grades.
            "relevance": ("graded", "binary", "distinct", "tied"),
        },
        NOTHING_TO_LEARN,
    ),
    "ConstrainedLinearRanker": Subject(
        lambda r: constrained(ConstrainedLinearRanker, r), items, SURROGATES, STEEP
    ),
    "ConstrainedMLPRanker": Subject(
        lambda r: constrained(ConstrainedMLPRanker, r, n_hidden=4),
        items,
        SURROGATES,
        STEEP,
    ),
    "SelectiveMultilabelRanker": Subject(
        lambda r: SelectiveMultilabelRanker(
            model(r, Columns),
            tie_model=r["tie_model"],
            loss=r["loss"],
            **r["rule"],
            random_state=r["seed"],
        ),
        labels,
        {
            "tie_model": TIE_MODELS,
            "loss": LOSSES,
            "model": MODELS,
            "rule": (*3 * COVERAGES, *GUARANTEED),
        },
        FEW,
    ),
    "LinearMultilabelRanker": Subject(
        lambda r: LinearMultilabelRanker(alpha=r["alpha"], max_iter=5),
        labels,
        {"alpha": (1e-3, 0.0)},
    ),
    "ThresholdDecompositionRanker": Subject(
        lambda r: ThresholdDecompositionRanker(
            Halves(), thresholds=r["thresholds"], ties=r["ties"], p=r["p"]
        ),
        labels,
        {
            "thresholds": ("grade", "rank"),
            "ties": ("share", "index"),
            "p": (None, 1),
            "relevance": ("graded", "binary", "tied"),
        },
    ),
    "OnlineMultilabelRanker": Subject(online, labels, {"batch_size": (32, 1, 3)}),
    "BradleyTerry": Subject(
        lambda r: BradleyTerry(ties=r["ties"], calibration=r["calibration"]),
        items,
        {"ties": ("rao_kupper", "davidson"), "calibration": ("ml", "counts")},
        FEW,
    ),
    "ThurstoneMosteller": Subject(
        lambda r: ThurstoneMosteller(calibration=r["calibration"], margin=r["margin"]),
        items,
        {"calibration": ("ml", "counts"), "margin": ("log_theta", "tie_rate")},
        FEW,
    ),
    "IsotonicDifference": Subject(lambda r: IsotonicDifference(), items, {}, FEW),
    "GradedRelevance": Subject(
        lambda r: GradedRelevance(max_grades=r["max_grades"]),
        items,
        {"max_grades": (10, 2, 4)},
        FEW,
    ),
    "FeatureAwareRelevance": Subject(
        lambda r: FeatureAwareRelevance(HalfMeans()), items, {}, FEW
    ),
}
