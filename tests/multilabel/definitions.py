"""The losses of multilabel rankings, by name and written from their definitions."""

from functools import cache, partial
from itertools import permutations

import numpy as np

from skrank_abstain.multilabel import multilabel_loss


def named(loss):
    """Return a loss with the name that messages and test ids show."""
    function = partial(multilabel_loss, loss=loss)
    function.__name__ = f"{loss}_loss"
    return function


sum_loss = named("sum")
precision_loss = named("precision")
dcg_loss = named("dcg")
pairwise_loss = named("pairwise")
auc_loss = named("auc")
average_precision_loss = named("average_precision")
reciprocal_rank_loss = named("reciprocal_rank")


def auc_score(y_true, y_score):
    """Return one minus the loss, which is in no family."""
    return 1 - auc_loss(y_true, y_score)


# One row at a time, from the definitions: ranks and relevance to a loss or gain.
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
    sum_loss: reference_sum,
    precision_loss: reference_precision,
    dcg_loss: reference_dcg_loss,
}
GRADED = {pairwise_loss: reference_pairwise}
BINARY = {
    average_precision_loss: lambda pi, y: 1 - reference_ap(pi, y),
    auc_loss: reference_auc_loss,
    reciprocal_rank_loss: lambda pi, y: 1 - reference_rr(pi, y),
}


def each_row(function, y, scores, **options):
    """The values of single rows, which a mean would hide."""
    pairs = zip(y, scores, strict=True)
    return np.array([function([row], [s], **options) for row, s in pairs])


def random_rows(n=40, n_labels=7, seed=0, largest=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, largest + 1, (n, n_labels))
    return y, rng.standard_normal((n, n_labels)), rng.random(n)
