"""Problems: a few choices by name and a seed, from which all of the data follow.

A *recipe* is a dict of choices. Hypothesis draws one and makes it simpler, since the
simplest choice of each kind comes first; a long run draws them from a random number.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

#: Units of scores lie between 1e-280 and 1e280.
LARGEST_EXPONENT = 280

CHOICES = {
    "n_items": (6, 2, 3, 5, 8, 12, 17, 24),
    "scores": ("normal", "grid", "few", "equal", "skewed", "close", "right"),
    "relevance": ("graded", "binary", "distinct", "real", "tied"),
    "layout": (
        "blocks", "one", "scalar", "turns", "names", "mixed", "with_singles",
    ),
    "unit": (
        1.0, 2.0**-7, 1e9, 1e-9, 2.0**900, 2.0**-900,
        10.0**LARGEST_EXPONENT, 10.0**-LARGEST_EXPONENT,
    ),
    "weights": ("whole", "real", "some_zero"),
    "seed": range(2**16),
    "laws": (0, 1, 2, 3, 0, 1, 2, 3, 0, 1),  # the last two cost more
}  # fmt: skip

#: Layouts of several queries, for what cannot be learned from one.
SEVERAL = ("blocks", "turns", "names", "mixed")


@dataclass(frozen=True)
class Data:
    """Labelled rows: items with queries, rows of two items, or samples with labels.

    ``truth`` is the pair label of rows of two items.
    """

    X: np.ndarray
    y: np.ndarray
    qid: Any
    weight: np.ndarray
    truth: np.ndarray | None = None

    def take(self, rows):
        """Return some rows, in their order."""
        columns = self.X, self.y, self.weight, self.truth
        X, y, weight, truth = (None if c is None else c[rows] for c in columns)
        return Data(X, y, take_qid(self.qid, rows), weight, truth)

    @property
    def codes(self):
        """Number of the query of each row, in order of first appearance."""
        if self.qid is None or np.isscalar(self.qid):
            return np.zeros(len(self.y), dtype=int)
        names = {}
        return np.array([names.setdefault(q, len(names)) for q in self.qid])


def take_qid(qid, rows):
    if qid is None or np.isscalar(qid):
        return qid
    return qid[rows] if isinstance(qid, np.ndarray) else [qid[row] for row in rows]


def items(recipe, *, new=False):
    """Items whose first column is their score; the others are a grid and noise."""
    rng = np.random.default_rng([recipe["seed"], new])
    n = recipe["n_items"]
    y = relevance(recipe["relevance"], n, rng)
    s = scores(recipe["scores"], y, rng)
    X = np.column_stack([s, rng.integers(0, 3, n), rng.normal(size=n)])
    X = X * recipe["unit"]
    return Data(X, y, layout(recipe["layout"], n, rng), weights(recipe, n, rng))


def pair_rows(recipe, *, new=False):
    """Rows of two items each, and which one is preferred: -1, 0 or 1."""
    every = items({**recipe, "n_items": 2 * recipe["n_items"]}, new=new)
    left, right = (
        every.take(rows) for rows in np.arange(every.y.size).reshape(-1, 2).T
    )
    truth = np.sign(left.y - right.y).astype(int)
    if recipe["names"] == "no_tie":
        truth = np.where(truth == 0, (-1) ** np.arange(truth.size), truth)
    y = np.array(["B", "tie", "A"])[truth + 1] if recipe["names"] == "words" else truth
    X = np.hstack([left.X[:, :2], right.X[:, :2]])
    return replace(left, X=X, y=y, truth=truth)


def labels(recipe, *, new=False):
    """Samples whose features are the scores of their labels."""
    rng = np.random.default_rng([recipe["seed"], new])
    shape = recipe["n_items"], recipe["n_labels"]
    n = shape[0] * shape[1]
    y = relevance(recipe["relevance"], n, rng)
    X = scores(recipe["scores"], y, rng) * recipe["unit"]
    columns = X, y, weights(recipe, n, rng)
    X, y, weight = (column.reshape(shape) for column in columns)
    return Data(X, y, None, weight)


def relevance(kind, n, rng):
    if kind == "tied":
        return np.ones(n, dtype=int)
    if kind == "distinct":
        return rng.permutation(n)
    if kind == "real":
        return rng.normal(size=n).round(1)
    return rng.integers(0, 2 if kind == "binary" else 4, n)


def scores(kind, y, rng):
    n = y.size
    if kind == "equal":
        return np.ones(n)
    if kind == "grid":
        return rng.integers(-8, 9, n) / 4
    if kind == "few":
        return rng.integers(0, 3, n) / 10
    if kind == "skewed":
        return np.clip(rng.standard_cauchy(n) ** 3, -1e6, 1e6)
    if kind == "close":  # some differ by less than the tolerance, some by more
        return 1 + rng.integers(0, 40, n) * np.finfo(float).eps
    if kind == "right":  # they order all items as relevance does
        return np.argsort(np.argsort(y, kind="stable")) / n
    return rng.normal(size=n)


def layout(kind, n, rng):
    """Return the query of each item; in each there are about four, but for singles."""
    number = np.arange(n) // 4
    if kind == "one":
        return None
    if kind == "scalar":
        return 0
    if kind == "turns":
        return np.arange(n) % max(1, n // 4)
    if kind == "names":
        return np.array([f"query {k}" for k in rng.permutation(number)])
    if kind == "mixed":
        return [(k, "a") if k % 2 else f"{k}" for k in rng.permutation(number).tolist()]
    if kind == "with_singles":
        return np.where(np.arange(n) % 3 == 2, np.arange(n) + n, number)
    return number


def weights(recipe, n, rng):
    if recipe["weights"] == "whole":
        return rng.integers(1, 4, n).astype(float)
    w = rng.uniform(0.1, 3, n)
    return np.where(rng.random(n) < 0.3, 0.0, w) if recipe["weights"] != "real" else w
