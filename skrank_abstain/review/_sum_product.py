"""Grades of the items of one query after answers: trees of answers, and sum-product.

Conventions, in addition to those of `_kernels`: ``n`` items have grades 0 to K - 1,
independent given each of H nodes of a shift that they share. ``left`` and ``right``
(m,) int64 are the answered pairs, each once, ``left < right``, sorted; ``likelihood``
(m, 3) is positive: P(answers) if the right item is better, both are tied, the left item
is better. ``tied`` (K,) is the share of the pairs of one grade that are truly tied; the
others go either way. Position 2e holds what pair e tells its left item, 2e + 1 what it
tells the right one. Products are kept as logarithms, so that hundreds of contradictory
answers stay finite.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit

#: Most sweeps over a graph with loops, and the change that ends them.
_SWEEPS = 200
_STILL = 1e-6
#: Weight of the old message, and the first sweep that uses it: most loops settle sooner
#: without.
_DAMPING = 0.5
_DAMPED_FROM = 12


class Answered(NamedTuple):
    """Answered pairs, and trees that span them.

    Attributes
    ----------
    left, right : ndarray of shape (m,), int64
        Items of each answered pair.
    likelihood : ndarray of shape (m, 3), float64
    start : ndarray of shape (n + 1,), int64
        Where the answered pairs of each item start in ``pairs`` (2m,).
    pairs : ndarray of shape (2m,), int64
    order : ndarray of shape (n_answered,), int64
        The items with an answer, tree by tree, from the roots down.
    parent : ndarray of shape (n,), int64
        The pair that leads to the parent of each item; -1 for roots.
    tree : ndarray of shape (n,), int64
        The first item of the tree that each item is in.
    cut : ndarray of shape (m,), bool
        Answered pairs with an item that cuts a loop: no tree has them.
    """

    left: IntArray
    right: IntArray
    likelihood: FloatArray
    start: IntArray
    pairs: IntArray
    order: IntArray
    parent: IntArray
    tree: IntArray
    cut: BoolArray

    @property
    def has_loops(self) -> bool:
        """Whether the pairs that are not cut have a loop."""
        return bool((~self.cut).sum() > (self.parent >= 0).sum())


def link_items(
    n: int, left: IntArray, right: IntArray, likelihood: FloatArray, most_cut: int
) -> tuple[Answered, IntArray]:
    """Return the answered pairs (m,) of ``n`` items, and the items that cut loops.

    At most ``most_cut`` items are cut; the other loops stay.
    """
    # Contiguous, as without answers: for strides all would be compiled once more.
    left, right = np.stack([left, right])
    ends = np.stack([left, right], axis=1).ravel()
    start = np.append(0, np.cumsum(np.bincount(ends, minlength=n)))
    pairs = np.argsort(ends, kind="stable") // 2
    items = _cut_loops(n, left, right, most_cut)
    is_cut = np.zeros(n, dtype=np.bool_)
    is_cut[items] = True
    cut = is_cut[left] | is_cut[right]
    order, parent, tree = _span(n, left, right, cut)
    order = order[start[order] < start[order + 1]]
    answered = Answered(left, right, likelihood, start, pairs, order, parent, tree, cut)
    return answered, items


def _cut_loops(n: int, left: IntArray, right: IntArray, most: int) -> IntArray:
    """Return at most ``most`` items without which the pairs have fewer loops.

    Greedily: of the items in a loop or between loops, the one with the most pairs.
    """
    items: list[int] = []
    while left.size:
        degree = np.bincount(np.append(left, right), minlength=n)
        # Pairs that lead to one item alone are in no loop.
        kept = (degree[left] > 1) & (degree[right] > 1)
        if kept.all():
            if len(items) == most:
                break
            items.append(int(degree.argmax()))
            kept = (left != items[-1]) & (right != items[-1])
        left, right = left[kept], right[kept]
    return np.array(items, dtype=np.int64)


def _span(
    n: int, left: IntArray, right: IntArray, cut: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Span pairs by trees, breadth first from the first item of each: see Answered."""
    one, other = left[~cut], right[~cut]
    start, stop = np.append(one, other), np.append(other, one)
    links = csr_array((np.ones(start.size), (start, stop)), (n, n))
    group = connected_components(links, directed=False)[1]
    roots = np.unique(group, return_index=True)[1]
    tree: IntArray = roots[group]
    # From an item n that leads to all roots.
    start, stop = np.append(start, np.full(roots.size, n)), np.append(stop, roots)
    links = csr_array((np.ones(start.size), (start, stop)), (n + 1, n + 1))
    order, before = breadth_first_order(links, n)
    order = order[1:].astype(np.int64)
    order = order[np.argsort(tree[order], kind="stable")]
    parent = np.full(n, -1)
    child = np.flatnonzero(np.arange(n) != tree)
    over = before[child].astype(np.int64)
    number = np.minimum(child, over) * n + np.maximum(child, over)
    parent[child] = np.searchsorted(left * n + right, number)
    return order, parent, tree


class Beliefs(NamedTuple):
    """Probabilities of the grades of the items of a query.

    Attributes
    ----------
    tied : ndarray of shape (K,), float64
    weight : ndarray of shape (H,), float64
        Probability of each node.
    belief : ndarray of shape (n, H, K), float64
        P(grade | node).
    mass : ndarray of shape (n, H, K), float64
        The same times the weight.
    under, tie : ndarray of shape (H, K, n), float64
        P(item is worse), P(tied), given the grade of an item of another tree.
    given : ndarray of shape (2m, H, K, K), float64
        P(grade of one item | grade of the other) for each pair that is not cut, the
        given grade first: 2e given the left item's, 2e + 1 given the right item's.
    """

    tied: FloatArray
    weight: FloatArray
    belief: FloatArray
    mass: FloatArray
    under: FloatArray
    tie: FloatArray
    given: FloatArray


@jit
def _cavity(log_belief: FloatArray, message: FloatArray, out: FloatArray) -> float:
    """Write a belief (K,) without one message; return the logarithm of its scale."""
    highest = -np.inf
    for a in range(out.shape[0]):
        out[a] = log_belief[a] - message[a]
        highest = max(highest, out[a])
    for a in range(out.shape[0]):
        out[a] = np.exp(out[a] - highest)
    return highest


@jit
def _seen_from(i: int, e: int, answered: Answered) -> tuple[float, float, float]:
    """Return P(answers) about pair ``e`` if item ``i`` is worse, tied, better."""
    value = answered.likelihood[e]
    if answered.left[e] == i:
        return value[0], value[1], value[2]
    return value[2], value[1], value[0]


@jit
def _same(tied: float, worse: float, tie: float, better: float) -> float:
    """Return P(answers) if both items have one grade."""
    return tied * tie + (1 - tied) * (worse + better) / 2


@jit
def _versus(proba: FloatArray, a: int, tied: float) -> tuple[float, float]:
    """Return P(worse), P(tied) of an item with P(grade) (K,) against one of grade a."""
    return proba[:a].sum() + (1 - tied) / 2 * proba[a], tied * proba[a]


@jit
def _carry(
    cavity: FloatArray,
    tied: FloatArray,
    worse: float,
    tie: float,
    better: float,
    out: FloatArray,
) -> None:
    """Write the sum over the sender's grades (K,), by the receiver's grade (K,).

    ``better`` is P(answers) if the sender is the better one.
    """
    above = 0.0
    for b in range(cavity.shape[0] - 1, -1, -1):
        out[b] = better * above + cavity[b] * _same(tied[b], worse, tie, better)
        above += cavity[b]
    below = 0.0
    for b in range(cavity.shape[0]):
        out[b] += worse * below
        below += cavity[b]


@jit
def _send(
    e: int,
    i: int,
    keep: float,
    tied: FloatArray,
    answered: Answered,
    log_belief: FloatArray,
    messages: FloatArray,
) -> float:
    """Send the messages of item ``i`` along pair ``e``; return the largest change."""
    cavity, sent = np.empty(tied.shape[0]), np.empty(tied.shape[0])
    worse, tie, better = _seen_from(i, e, answered)
    j = answered.left[e] + answered.right[e] - i
    back, to = 2 * e + (answered.left[e] != i), 2 * e + (answered.left[e] != j)
    change = 0.0
    for u in range(log_belief.shape[1]):
        _cavity(log_belief[i, u], messages[back, u], cavity)
        _carry(cavity, tied, worse, tie, better, sent)
        total = sent.sum()
        for b in range(tied.shape[0]):
            old = messages[to, u, b]
            new = keep * old + (1 - keep) * np.log(sent[b] / total)
            change = max(change, abs(new - old))
            messages[to, u, b] = new
            log_belief[j, u, b] += new - old
    return change


@jit
def _pass_messages(
    tied: FloatArray,
    answered: Answered,
    loops: bool,
    log_belief: FloatArray,
    messages: FloatArray,
) -> None:
    """Sweep from the leaves to the roots and back until messages stand still.

    ``log_belief`` (n, H, K) starts as the logarithm of P(grade | node) before the
    answers, ``messages`` (2m, H, K) as 0. Without loops one sweep is exact.
    """
    order = answered.order
    place = np.empty(answered.tree.shape[0], dtype=np.int64)
    place[order] = np.arange(order.shape[0])
    for sweep in range(_SWEEPS if loops else 1):
        keep = _DAMPING if sweep >= _DAMPED_FROM else 0.0
        change = 0.0
        for way in range(2):
            for step in range(order.shape[0]):
                i = order[step] if way else order[order.shape[0] - 1 - step]
                for p in range(answered.start[i], answered.start[i + 1]):
                    e = answered.pairs[p]
                    j = answered.left[e] + answered.right[e] - i
                    if not answered.cut[e] and (place[j] > place[i]) == (way == 1):
                        moved = _send(e, i, keep, tied, answered, log_belief, messages)
                        change = max(change, moved)
        if change < _STILL:
            break


@jit
def _evidence(
    tied: FloatArray, answered: Answered, log_belief: FloatArray, messages: FloatArray
) -> FloatArray:
    """Return the logarithm of P(all answers | node) (H,).

    By the formula of Bethe, sum_e log Z_e + sum_i (1 - degree_i) log Z_i.
    """
    n_grades = tied.shape[0]
    here, there, sent = np.empty(n_grades), np.empty(n_grades), np.empty(n_grades)
    evidence, nothing = np.zeros(log_belief.shape[1]), np.zeros(n_grades)
    for u in range(evidence.shape[0]):
        for i in answered.order:
            highest = _cavity(log_belief[i, u], nothing, here)
            degree = 0
            for p in range(answered.start[i], answered.start[i + 1]):
                degree += not answered.cut[answered.pairs[p]]
            evidence[u] += (1 - degree) * (np.log(here.sum()) + highest)
        for e in range(answered.left.shape[0]):
            if answered.cut[e]:
                continue
            i, j = answered.left[e], answered.right[e]
            evidence[u] += _cavity(log_belief[i, u], messages[2 * e, u], here)
            evidence[u] += _cavity(log_belief[j, u], messages[2 * e + 1, u], there)
            _carry(here, tied, *_seen_from(i, e, answered), sent)
            evidence[u] += np.log((sent * there).sum())
    return evidence


@jit
def _given(
    tied: FloatArray, answered: Answered, log_belief: FloatArray, messages: FloatArray
) -> FloatArray:
    """Return P(grade of one item of a pair | grade of the other): see Beliefs."""
    n_nodes, n_grades = log_belief.shape[1], tied.shape[0]
    given = np.zeros((messages.shape[0], n_nodes, n_grades, n_grades))
    cavity = np.empty(n_grades)
    for at in range(given.shape[0]):
        e = at // 2
        if answered.cut[e]:
            continue
        i = answered.right[e] if at % 2 else answered.left[e]
        j = answered.left[e] + answered.right[e] - i
        worse, tie, better = _seen_from(i, e, answered)
        for u in range(n_nodes):
            _cavity(log_belief[j, u], messages[4 * e + 1 - at, u], cavity)
            for a in range(n_grades):
                for b in range(n_grades):
                    value = better if a > b else worse
                    if a == b:
                        value = _same(tied[a], worse, tie, better)
                    given[at, u, a, b] = value * cavity[b]
                given[at, u, a] /= given[at, u, a].sum()
    return given


@jit
def believe(
    prior: FloatArray,
    log_weight: FloatArray,
    tied: FloatArray,
    answered: Answered,
    loops: bool,
) -> Beliefs:
    """Return the probabilities after the answers.

    ``prior`` (n, H, K) and ``log_weight`` (H,) are logarithms, of P(grade | node) and
    of P(node). O((n + m) H K) a sweep: one sweep, exact, if the answered pairs have no
    ``loops``; otherwise at most 200, until the messages stand still.
    """
    n, n_nodes, n_grades = prior.shape
    log_belief = prior.copy()
    messages = np.zeros((answered.pairs.shape[0], n_nodes, n_grades))
    _pass_messages(tied, answered, loops, log_belief, messages)
    log_weight = log_weight + _evidence(tied, answered, log_belief, messages)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    belief, nothing = np.empty_like(prior), np.zeros(n_grades)
    under, tie = np.empty((n_nodes, n_grades, n)), np.empty((n_nodes, n_grades, n))
    for i in range(n):
        for u in range(n_nodes):
            _cavity(log_belief[i, u], nothing, belief[i, u])
            belief[i, u] /= belief[i, u].sum()
            for a in range(n_grades):
                under[u, a, i], tie[u, a, i] = _versus(belief[i, u], a, tied[a])
    mass = belief * weight.reshape(1, -1, 1)
    given = _given(tied, answered, log_belief, messages)
    return Beliefs(tied, weight, belief, mass, under, tie, given)


@jit
def _chain(i: int, answered: Answered, beliefs: Beliefs, chain: FloatArray) -> None:
    """Write P(grade of k | grade of i) (n, H, K, K) for all k in the tree of i."""
    left, right, parent = answered.left, answered.right, answered.parent
    known = np.zeros(parent.shape[0], dtype=np.bool_)
    known[i] = True
    chain[i] = 0.0
    for a in range(chain.shape[2]):
        chain[i, :, a, a] = 1.0
    for p in range(answered.start[i], answered.start[i + 1]):
        e = answered.pairs[p]
        if not answered.cut[e]:
            k = left[e] + right[e] - i
            known[k] = True
            chain[k] = beliefs.given[2 * e + (left[e] != i)]
    here = i
    while parent[here] >= 0:
        e = parent[here]
        over = left[e] + right[e] - here
        if not known[over]:
            known[over] = True
            _extend(chain[here], beliefs.given[2 * e + (left[e] != here)], chain[over])
        here = over
    for k in answered.order:
        if answered.tree[k] == answered.tree[i] and not known[k]:
            known[k] = True
            e = parent[k]
            over = left[e] + right[e] - k
            _extend(chain[over], beliefs.given[2 * e + (left[e] != over)], chain[k])


@jit
def _extend(first: FloatArray, step: FloatArray, out: FloatArray) -> None:
    """Write the product of two conditionals (H, K, K)."""
    for u in range(out.shape[0]):
        for a in range(out.shape[1]):
            for b in range(out.shape[1]):
                total = 0.0
                for c in range(out.shape[1]):
                    total += first[u, a, c] * step[u, c, b]
                out[u, a, b] = total


@jit
def _row(
    i: int,
    answered: Answered,
    beliefs: Beliefs,
    chain: FloatArray,
    under: FloatArray,
    tie: FloatArray,
) -> None:
    """Write P(item k is worse), P(tied) (H, K, n), given the grade of item ``i``."""
    tied, n_grades = beliefs.tied, beliefs.tied.shape[0]
    under[:] = beliefs.under
    tie[:] = beliefs.tie
    _chain(i, answered, beliefs, chain)
    for k in answered.order:
        if answered.tree[k] == answered.tree[i]:
            for u in range(chain.shape[1]):
                for a in range(n_grades):
                    row = chain[k, u, a]
                    under[u, a, k], tie[u, a, k] = _versus(row, a, tied[a])
    # Answers also say which of two items of one grade is better.
    for p in range(answered.start[i], answered.start[i + 1]):
        e = answered.pairs[p]
        k = answered.left[e] + answered.right[e] - i
        worse, even, better = _seen_from(i, e, answered)
        for a in range(n_grades):
            half = (1 - tied[a]) / 2
            total = _same(tied[a], worse, even, better)
            for u in range(chain.shape[1]):
                same = beliefs.belief[k, u, a] if answered.cut[e] else chain[k, u, a, a]
                under[u, a, k] += half * (better / total - 1) * same
                tie[u, a, k] += tied[a] * (even / total - 1) * same


@jit
def pair_probabilities(answered: Answered, beliefs: Beliefs) -> FloatArray:
    """Return the probabilities of the labels -1, 0, +1 of all pairs (n_pairs, 3).

    In canonical order. The grades of two items of one tree of answered pairs depend on
    each other, those of other items on the node alone. O(n^2 H K + n_answered^2 H K^3).
    """
    n, n_nodes, n_grades = beliefs.mass.shape
    out = np.empty((n * (n - 1) // 2, 3))
    chain = np.empty((n, n_nodes, n_grades, n_grades))
    under, tie = np.empty_like(beliefs.under), np.empty_like(beliefs.tie)
    over, same = np.empty(n), np.empty(n)
    at = 0
    for i in range(n):
        _row(i, answered, beliefs, chain, under, tie)
        over[:] = 0.0
        same[:] = 0.0
        for u in range(n_nodes):
            for a in range(n_grades):
                mass = beliefs.mass[i, u, a]
                # Items run fastest, so that the compiler vectorises the sums.
                for k in range(i + 1, n):
                    over[k] += mass * under[u, a, k]
                    same[k] += mass * tie[u, a, k]
        for k in range(i + 1, n):
            out[at, 0] = max(1 - over[k] - same[k], 0.0)
            out[at, 1] = same[k]
            out[at, 2] = over[k]
            at += 1
    return out


@jit
def answered_signs(answered: Answered, beliefs: Beliefs) -> FloatArray:
    """Return the probabilities of the labels -1, 0, +1 of the answered pairs (m, 3)."""
    n_nodes, n_grades = beliefs.mass.shape[1], beliefs.mass.shape[2]
    out = np.zeros((answered.left.shape[0], 3))
    for e in range(out.shape[0]):
        i, k = answered.left[e], answered.right[e]
        worse, even, better = _seen_from(i, e, answered)
        for a in range(n_grades):
            tied = beliefs.tied[a]
            total = _same(tied, worse, even, better)
            for u in range(n_nodes):
                for b in range(n_grades):
                    after = beliefs.given[2 * e, u, a, b]
                    if answered.cut[e]:
                        after = beliefs.belief[k, u, b]
                    joint = beliefs.mass[i, u, a] * after
                    if a != b:
                        out[e, 2 if a > b else 0] += joint
                    else:
                        out[e, 0] += (1 - tied) / 2 * worse / total * joint
                        out[e, 1] += tied * even / total * joint
                        out[e, 2] += (1 - tied) / 2 * better / total * joint
    return out


@jit
def rows_of_items(
    asked: IntArray,
    first: IntArray,
    second: IntArray,
    answered: Answered,
    beliefs: Beliefs,
    gain: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Condition on the grades of some items (s,), and on both of a question (c,).

    Returns P(item is worse), P(tied) and the expected gain of all items, (s, H, K, n)
    each, given the grade of each of the some, and P(node, both grades) (c, H, K, K).
    """
    n, n_nodes, n_grades = beliefs.mass.shape
    chain = np.empty((n, n_nodes, n_grades, n_grades))
    under = np.empty((asked.shape[0], n_nodes, n_grades, n))
    tie, gains = np.empty_like(under), np.zeros_like(under)
    joint = np.empty((first.shape[0], n_nodes, n_grades, n_grades))
    for s in range(asked.shape[0]):
        i = asked[s]
        _row(i, answered, beliefs, chain, under[s], tie[s])
        for k in range(n):
            linked = k == i or answered.tree[k] == answered.tree[i]
            for u in range(n_nodes):
                for a in range(n_grades):
                    if not linked:
                        chain[k, u, a] = beliefs.belief[k, u]
                    for b in range(n_grades):
                        gains[s, u, a, k] += chain[k, u, a, b] * gain[b]
        for c in np.flatnonzero(first == i):
            for u in range(n_nodes):
                for a in range(n_grades):
                    mass = beliefs.mass[i, u, a]
                    joint[c, u, a] = mass * chain[second[c], u, a]
    return under, tie, gains, joint
