"""The losses of multilabel rankings, written from their definitions."""

from functools import cache
from itertools import permutations

import numpy as np

from skrank_abstain.multilabel import (
    multilabel_auc_loss,
    multilabel_auc_score,
    multilabel_average_precision_loss,
    multilabel_average_precision_score,
    multilabel_dcg_loss,
    multilabel_dcg_score,
    multilabel_pairwise_loss,
    multilabel_precision_loss,
    multilabel_precision_score,
    multilabel_reciprocal_rank_loss,
    multilabel_reciprocal_rank_score,
    multilabel_sum_loss,
)


# One row at a time, from the definitions: ranks and relevance to a loss or score.
def sum_cost(pi, y, p):
    return sum(min(r, p + 1) * g for r, g in zip(pi, y, strict=True))


@cache
def over_rankings(choose, function, y, p):
    """Smallest or largest value over all rankings of the labels."""
    return choose(function(pi, y, p) for pi in permutations(range(1, len(y) + 1)))


def reference_sum(pi, y, p):
    return sum_cost(pi, y, p) - over_rankings(min, sum_cost, tuple(y), p)


def reference_precision(pi, y, p):
    top = sum(g for r, g in zip(pi, y, strict=True) if r <= p)
    return sum(sorted(y)[::-1][:p]) - top


def reference_pairwise(pi, y):
    labels = range(len(y))
    return sum(pi[i] < pi[j] and y[i] < y[j] for i in labels for j in labels)


def reference_dcg(pi, y, p):
    gains = [(2**g - 1) / np.log2(1 + r) for r, g in zip(pi, y, strict=True) if r <= p]
    return sum(gains)


def reference_dcg_loss(pi, y, p):
    best = over_rankings(max, reference_dcg, tuple(y), p)
    return best - reference_dcg(pi, y, p)


def reference_ap(pi, y):
    ranks = [r for r, g in zip(pi, y, strict=True) if g]
    return np.mean([sum(s <= r for s in ranks) / r for r in ranks]) if ranks else 1


def reference_auc_loss(pi, y):
    pairs = sum(y) * (len(y) - sum(y))
    return reference_pairwise(pi, y) / pairs if pairs else 0


def reference_rr(pi, y):
    return 1 / min(r for r, g in zip(pi, y, strict=True) if g) if any(y) else 1


TOP = {
    multilabel_sum_loss: reference_sum,
    multilabel_precision_loss: reference_precision,
    multilabel_dcg_loss: reference_dcg_loss,
    multilabel_dcg_score: reference_dcg,
    multilabel_precision_score: lambda pi, y, p: (
        sum(g for r, g in zip(pi, y, strict=True) if r <= p) / p
    ),
}
GRADED = {multilabel_pairwise_loss: reference_pairwise}
BINARY = {
    multilabel_average_precision_loss: lambda pi, y: 1 - reference_ap(pi, y),
    multilabel_average_precision_score: reference_ap,
    multilabel_auc_loss: reference_auc_loss,
    multilabel_auc_score: lambda pi, y: 1 - reference_auc_loss(pi, y),
    multilabel_reciprocal_rank_loss: lambda pi, y: 1 - reference_rr(pi, y),
    multilabel_reciprocal_rank_score: reference_rr,
}


def each_row(function, y, scores, **options):
    """The values of single rows, which a mean would hide."""
    pairs = zip(y, scores, strict=True)
    return np.array([function([row], [s], **options) for row, s in pairs])


def random_rows(n=40, n_labels=7, seed=0, largest=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, largest + 1, (n, n_labels))
    return y, rng.standard_normal((n, n_labels)), rng.random(n)
