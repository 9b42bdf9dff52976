"""Slow oracles: the definitions, with plain loops and without the package.

Labels are -1, 0, +1 and so are the columns of every probability triple. A model is
named by its kind and tie parameter: ``rao_kupper`` theta, ``davidson`` nu,
``thurstone_mosteller`` epsilon.
"""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np

LABELS = (-1, 0, 1)


def pairs(qid):
    """All (i, j), i before j, query by query in order of first appearance."""
    queries = []
    for value in qid:
        if not any(_same(value, known) for known in queries):
            queries.append(value)
    found = []
    for query in queries:
        rows = [row for row, value in enumerate(qid) if _same(value, query)]
        found += [(i, j) for a, i in enumerate(rows) for j in rows[a + 1 :]]
    return found


def paired(scores):
    """Scores of the left and of the right items of all pairs."""
    left, right = np.triu_indices(scores.size, 1)
    return scores[left], scores[right]


def concordance(label, accepted, truth, weight=1.0):
    """Share in the right order of pairs that differ; open ones and ties count half."""
    points = np.where(accepted & (label != 0), label == truth, 0.5)
    mass = weight * (truth != 0)
    return (points * mass).sum() / mass.sum() if mass.any() else math.nan


def _same(a, b):
    return a == b


def label(difference):
    """Sign of a difference of relevance or score."""
    return int(difference > 0) - int(difference < 0)


def probabilities(kind, param, d):
    """P(-1), P(0), P(+1) by the printed formulas, d = s_left - s_right."""
    if kind == "rao_kupper":
        win = 1 / (1 + param * math.exp(-d))
        lose = 1 / (1 + param * math.exp(d))
        tie = (param**2 - 1) / (param**2 + 1 + 2 * param * math.cosh(d))
    elif kind == "davidson":
        total = math.exp(d / 2) + param + math.exp(-d / 2)
        lose, tie, win = (
            math.exp(-d / 2) / total,
            param / total,
            math.exp(d / 2) / total,
        )
    else:
        win, lose = normal_cdf(d - param), normal_cdf(-d - param)
        # Written on the side where both terms are small, so that nothing cancels.
        tie = normal_cdf(param - abs(d)) - normal_cdf(-param - abs(d))
    return lose, tie, win


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def expected_losses(proba, loss):
    """Expected loss of predicting -1, 0, +1; the zero diagonal is never added."""
    return [
        sum(loss[row][column] * proba[column] for column in range(3) if column != row)
        for row in range(3)
    ]


def risk(kind, param, d, loss):
    return bayes_decision(probabilities(kind, param, d), loss, d == 0)[1]


def bayes_decision(proba, loss, equal=False):
    """Label of least expected loss of one pair, and that loss.

    A tie is predicted only where it is strictly better, and of the two orders the more
    probable one; where both are equally probable the label is open and called 0. Equal
    scores carry no order: the label is a tie, and the loss that of this answer.
    """
    right, tie, left = expected_losses(proba, loss)
    if equal:
        return 0, tie
    order = int(proba[2] > proba[0]) - int(proba[2] < proba[0])
    if tie < min(right, left):
        order = 0
    return order, min(right, tie, left)


def entropy(proba):
    return -sum(p * math.log(p) for p in proba if p > 0)


def rank_of_quantile(coverage, n):
    """Smallest rank r with r / n >= coverage, in exact arithmetic.

    ``coverage`` is read as the decimal that it prints as.
    """
    target = Fraction(str(coverage)) * n
    rank = 1
    while rank < target:
        rank += 1
    return rank


def order_statistic(values, coverage):
    """The coverage quantile: smallest value at or below which the share lies."""
    return sorted(values)[rank_of_quantile(coverage, len(values)) - 1]


def log_likelihood(kind, scale, param, differences, labels):
    """Sum over pairs of the log-probability of the label seen."""
    total = 0.0
    for d, y in zip(differences, labels, strict=True):
        total += math.log(probabilities(kind, param, scale * d)[LABELS.index(y)])
    return total


def linear_extensions(n, above):
    """All orders of n items, best first, in which i precedes j for (i, j) in above."""
    return [
        order
        for order in permutations(range(n))
        if all(order.index(i) < order.index(j) for i, j in above)
    ]


def open_for_top(n, above, k):
    """Items that are in the top k of some linear extension and not of another."""
    orders = linear_extensions(n, above)
    return [item for item in range(n) if len({o.index(item) < k for o in orders}) == 2]


def closure(n, above):
    """What follows from orders (i, j), i above j, by transitivity: Warshall."""
    reach = np.zeros((n, n), dtype=bool)
    for i, j in above:
        reach[i, j] = True
    for k in range(n):
        reach |= reach[:, [k]] & reach[[k], :]
    return reach


def rank_bounds(above, groups):
    """Best and worst rank of each item of each group, through the closure."""
    groups = np.asarray(groups)
    reach = closure(groups.size, above)
    size = (groups[:, None] == groups).sum(axis=1)
    return np.stack([1 + reach.sum(axis=0), size - reach.sum(axis=1)], axis=1)


def reduction(n, above):
    """Orders that do not follow from others."""
    reach = closure(n, above).astype(int)
    edges = (reach > 0) & ~(reach @ reach > 0)
    return set(map(tuple, np.argwhere(edges).tolist()))


def ratio_by_query(part, whole, qid):
    """Mean over queries of sum(part) / sum(whole), where the latter is positive."""
    ratios = []
    for query in dict.fromkeys(qid):
        rows = [row for row, value in enumerate(qid) if value == query]
        total = sum(whole[row] for row in rows)
        if total > 0:
            ratios.append(sum(part[row] for row in rows) / total)
    return sum(ratios) / len(ratios)


def outcomes_of(difference, label):
    """Return labels as if the higher-scored item of each pair came first.

    An untied pair of equal scores counts as +1.
    """
    sign = np.sign(difference).astype(int)
    return np.where(difference == 0, np.abs(label), sign * label)
